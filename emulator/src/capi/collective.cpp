// The C interface: sums over the ranks of a group.
#include "mmaudit/collective.hpp"

#include "guard.hpp"

namespace mmaudit::capi {
namespace {

std::string_view word(const char* text) { return text == nullptr ? std::string_view() : text; }

void run_ranks(const mmaudit_collective_work& work, char** plan_text) {
  const FormatSpec type = capi::format_of("type", work.type);
  CollectiveProblem problem;
  problem.type = type.id, problem.ranks = work.ranks, problem.count = work.count;
  CollectiveChoice choice;
  choice.channels = work.channels == 0 ? 1 : work.channels;
  choice.threads = work.threads, choice.buffer = work.buffer;
  const std::string why =
      take_words({word(work.kind), word(work.operation), word(work.library), word(work.algorithm),
                  word(work.protocol), word(work.rings), word(work.log)},
                 problem, choice);
  if (!why.empty()) throw InputError(why);
  require("x", work.x, {{"ranks", work.ranks}, {"count", work.count}}, type);
  require("y", work.y, {{"count", work.count}}, type);
  require_apart("x", work.y, work.x);
  const CollectivePlan plan = collective_plan(problem, choice);
  run_collective(problem, plan, work.x.data, work.y.data);
  if (plan_text != nullptr) give_text(plan_text, [&] { return text_of(plan); });
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_collective(const mmaudit_collective_work* work, char** plan_text) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::run_ranks(mmaudit::capi::taken(work), plan_text); });
}
