#include "laws.hpp"

namespace mmaudit::laws {

std::span<const Law> lawbook() {
  static const Law kBook[] = {kProductsAreExact,
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
                              kFollowsTheDocumentedModel};
  return kBook;
}

}  // namespace mmaudit::laws
