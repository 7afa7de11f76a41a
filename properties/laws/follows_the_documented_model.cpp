#include "mmaudit/oracles/reference.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

LawVerdict judge(const Case& at) {
  const Dot dot = dot_of(at.tile, at.row, at.col);
  return equal_bits(at.d(), oracle::reference_dot(at.subject.instruction, at.subject.datapath, dot));
}

}  // namespace

const Law kFollowsTheDocumentedModel = {
    .order = 310,
    .statement = "Every bit is what the rules of numerics.md give, in rational arithmetic.",
    .source = "numerics.md",
    .judge = judge,
    .slow = true,
    .scales = Scales::any};

}  // namespace mmaudit::laws
