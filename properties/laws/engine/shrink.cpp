// A dot product that breaks a law, made simple.
#include "mmaudit/shrink.hpp"

#include <algorithm>

#include "mmaudit/laws/check.hpp"

namespace mmaudit::laws {

Failure shrink(const Law& law, const Subject& subject, const Backend& backend, const Dot& dot) {
  Failure failure{std::string(law.name), subject.instruction, dot, 0, 0, nonzero_products(subject, dot)};
  const auto breaks = [&](const Dot& one) {
    const auto verdict = judge_alone(law, subject, backend, one);
    return verdict && verdict->kind == LawVerdict::Kind::broken;
  };
  // A dot product that breaks a law only among its neighbours is reported as it is.
  if (breaks(dot)) {
    const auto simplest = shrink_dot(subject.instruction, dot, [&](std::span<const DotCase> all) {
      const auto simpler = std::find_if(all.begin(), all.end(), [&](const DotCase& one) {
        return breaks({one, dot.salt});
      });
      return static_cast<std::size_t>(simpler - all.begin());
    });
    failure.dot = {simplest, dot.salt};
  }
  if (const auto verdict = judge_alone(law, subject, backend, failure.dot, &failure.found))
    failure.expected = verdict->expected;
  return failure;
}

}  // namespace mmaudit::laws
