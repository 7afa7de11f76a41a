#include "laws.hpp"

namespace mmaudit::laws {

std::span<const Law> lawbook() {
  static const Law book[] = {kProductsAreExact,
                             kAlignmentTruncates,
                             kZerosHaveNoExponent,
                             kTheFloor,
                             kCTakesPart,
                             kCComesLast,
                             kOneRounding,
                             kOrderInsideAStep,
                             kOrderOfSteps,
                             kScalingByPowersOfTwo,
                             kFactorsMayBeExchanged,
                             kSignsAreSymmetric,
                             kZeroIsPlusZero,
                             kNanAndInfinity,
                             kCAloneComesBack,
                             kSumsAreNotMonotonic,
                             kErrorStaysInItsBound,
                             kPlaceDoesNotMatter,
                             kAFromRegistersOrMemory,
                             kEqualRowsEqualBits,
                             kSparseIsDenseOverTheStored,
                             kWhatIsNotSelectedIsNotRead,
                             kIntegersAreExact,
                             kModifiersAreWhatTheySay,
                             kIgnoredBitsAreIgnored,
                             kChainsAreFused,
                             kScaledAddendsAreCutAtF,
                             kAScaleTwiceIsItsPartTwice,
                             kScalesOfOneAreNoScales,
                             kANanScaleGivesNan,
                             kFollowsTheDocumentedModel};
  return book;
}

}  // namespace mmaudit::laws
