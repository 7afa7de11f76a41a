#include "laws.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

Verdict judge(const Case& at) {
  const Dot dot = dot_of(at.tile, at.row, at.col);
  return equal_bits(at.d(),
                    oracle::reference_dot(at.subject.instruction, at.subject.datapath, dot.a, dot.b, dot.c,
                                          dot.modifiers, {dot.scale_a, dot.scale_b}, dot.metadata));
}

}  // namespace

const Law kFollowsTheDocumentedModel = {
    .name = "follows_the_documented_model",
    .statement = "Every bit is what the rules of numerics.md give, in rational arithmetic.",
    .source = "numerics.md",
    .why_not = everywhere,
    .judge = judge,
    .slow = true,
    .scales = Scales::any};

}  // namespace mmaudit::laws
