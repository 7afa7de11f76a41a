#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) { return subject.aligned() ? "" : fused_only(subject); }

Verdict judge(const Case& at) {
  if (!is_nan(at.d(), at.subject.d())) return silent();
  const std::uint64_t quiet = (at.subject.d().infinity_bits() >> 1) & ~at.subject.d().infinity_bits();
  return verdict((at.d() & quiet) != 0);
}

}  // namespace

const Law kANanResultIsQuiet = {.order = 400,
                                .name = "a_nan_result_is_quiet",
                                .statement = "A NaN in D is a quiet one.",
                                .source = "IEEE 754-2019, 6.2",
                                .why_not = why_not,
                                .judge = judge};

}  // namespace mmaudit::laws
