#pragma once
#include "mmaudit/laws/law.hpp"

namespace mmaudit::laws {

extern const Law kProductsAreExact;
extern const Law kAlignmentTruncates;
extern const Law kZerosHaveNoExponent;
extern const Law kTheFloor;
extern const Law kCTakesPart;
extern const Law kCComesLast;
extern const Law kOneRounding;
extern const Law kOrderInsideAStep;
extern const Law kOrderOfSteps;
extern const Law kScalingByPowersOfTwo;
extern const Law kFactorsMayBeExchanged;
extern const Law kSignsAreSymmetric;
extern const Law kZeroIsPlusZero;
extern const Law kNanAndInfinity;
extern const Law kCAloneComesBack;
extern const Law kSumsAreNotMonotonic;
extern const Law kErrorStaysInItsBound;
extern const Law kPlaceDoesNotMatter;
extern const Law kAFromRegistersOrMemory;
extern const Law kEqualRowsEqualBits;
extern const Law kSparseIsDenseOverTheStored;
extern const Law kWhatIsNotSelectedIsNotRead;
extern const Law kIntegersAreExact;
extern const Law kModifiersAreWhatTheySay;
extern const Law kIgnoredBitsAreIgnored;
extern const Law kChainsAreFused;
extern const Law kScaledAddendsAreCutAtF;
extern const Law kAScaleTwiceIsItsPartTwice;
extern const Law kScalesOfOneAreNoScales;
extern const Law kANanScaleGivesNan;
extern const Law kFollowsTheDocumentedModel;

}  // namespace mmaudit::laws
