// The first bytes are a call of a group of ranks, the rest is NCCL's log. A plan by it has every element once
// and gives each the sum of all ranks; the log read from the plan's own words gives the same plan.
#include <algorithm>
#include <cstring>
#include <vector>

#include "mmaudit/collective.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  CollectiveProblem problem;
  const unsigned how = bytes.byte();
  problem.kind = (how & 1U) != 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  problem.operation = (how & 2U) != 0 ? CollectiveOperation::average : CollectiveOperation::sum;
  problem.type = (how & 4U) != 0 ? Format::f32 : (how & 8U) != 0 ? Format::bf16 : Format::f16;
  problem.ranks = bytes.byte() % 10;
  problem.count = bytes.word(2);
  CollectiveChoice choice;
  choice.threads = bytes.byte() * std::uint64_t{4};
  choice.buffer = bytes.word(2) * 16;
  const std::string_view text = bytes.text();
  const CollectiveWords by_log{{}, {}, {}, {}, {}, {}, text}, by_rings{{}, {}, {}, {}, {}, text, {}};
  const std::string why = take_words((how & 16U) != 0 ? by_rings : by_log, problem, choice);
  check_one_line(why);
  if (!why.empty() || problem.ranks * problem.count > 1U << 14U) return;
  const CollectivePlan plan = collective_plan(problem, choice);
  check_one_line(text_of(plan));
  std::uint64_t next = 0;
  for (const CollectivePiece& piece : plan.pieces) {
    if (piece.first != next || piece.count == 0) fail("pieces with a gap");
    next += piece.count;
  }
  if (next != problem.count) fail("pieces that are not all elements");
  // Ones: whatever the order, the sum is the number of ranks, and the mean 1 within its roundings.
  const std::size_t width = spec_of(problem.type).storage_bytes();
  const std::uint64_t one = problem.type == Format::f32    ? 0x3F800000U
                            : problem.type == Format::bf16 ? 0x3F80U
                                                           : 0x3C00U;
  std::vector<std::byte> x(problem.ranks * problem.count * width), y(problem.count * width);
  for (std::size_t i = 0; i < x.size() / width; ++i) std::memcpy(&x[i * width], &one, width);
  run_collective(problem, plan, x.data(), y.data());
  for (std::size_t i = 1; i < problem.count; ++i)
    if (std::memcmp(y.data(), &y[i * width], width) != 0) fail("equal sums with other bits");
}
