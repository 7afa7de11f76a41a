#include "mmaudit/oracles/reference.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

Verdict judge(const Case& at) {
  const Dot dot = dot_of(at.tile, at.row, at.col);
  return equal_bits(at.d(), oracle::reference_dot(at.subject.instruction, at.subject.datapath, dot));
}

}  // namespace

const Law kFollowsTheDocumentedModel = {
    .order = 310,
    .name = "follows_the_documented_model",
    .statement = "Every bit is what the rules of numerics.md give, in rational arithmetic.",
    .source = "numerics.md",
    .why_not = everywhere,
    .judge = judge,
    .slow = true,
    .scales = Scales::any};

}  // namespace mmaudit::laws
