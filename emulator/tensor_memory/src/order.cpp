// Which instructions the PTX ISA orders, and who issues them. Source: PTX ISA 9.0, 9.7.16.5 and 9.7.16.6.
#include <algorithm>
#include <iterator>

#include "mmaudit/tensor_memory/rules.hpp"
#include "state.hpp"

namespace mmaudit::tmem {
namespace {

/// Pairs of asynchronous instructions that keep their order without a wait. Source: 9.7.16.6.2.
struct Pipelined {
  char first, then;
};
constexpr Pipelined kPipelined[] = {{'m', 'm'}, {'c', 'm'}, {'s', 'm'}, {'m', 's'}};

bool pipelined(char first, char then) {
  return std::any_of(std::begin(kPipelined), std::end(kPipelined),
                     [&](const Pipelined& x) { return x.first == first && x.then == then; });
}

using Async = ColumnState::Async;

bool under_way(Async state) { return state == Async::issued || state == Async::committed; }

std::string at(int column) { return "none, for column " + std::to_string(column); }

}  // namespace

int Interpreter::State::single_thread() {
  if (active.size() == 1) return active.front();
  fail("single_thread", std::to_string(active.size()));
  return -1;
}

std::vector<std::pair<int, int>> Interpreter::State::warps() {
  std::vector<std::pair<int, int>> whole;
  for (int cta = 0; cta < count; ++cta) {
    for (int warp = 0; warp < kQuarters; ++warp) {
      const int first = cta * kThreads + warp * kWarpLanes;
      const auto running = std::count_if(active.begin(), active.end(),
                                         [&](int t) { return t >= first && t < first + kWarpLanes; });
      if (running == 0) continue;
      if (running != kWarpLanes) fail("whole_warp", std::to_string(running));
      whole.emplace_back(cta, warp);
    }
  }
  return whole;
}

// Warps reach lanes of their own: what another warp stores or loads is no concern of this one.
void Interpreter::State::check_synchronous(int cta, Region region, bool writes, unsigned warps_mask) {
  auto& states = columns[static_cast<std::size_t>(cta)];
  for (int column = region.first_column; column < region.first_column + region.columns; ++column) {
    const ColumnState& state = states[static_cast<std::size_t>(column)];
    if (under_way(state.write) || (writes && under_way(state.read))) return fail("order_async", at(column));
    if (state.write == Async::waited || (writes && state.read == Async::waited))
      return fail("order_fence", at(column));
    if ((state.stores & warps_mask) != 0) return fail("order_st", at(column));
    if (writes && (state.loads & warps_mask) != 0) return fail("order_ld", at(column));
  }
}

void Interpreter::State::check_asynchronous(int cta, Region region, char issuer, bool writes,
                                            std::uint64_t accumulator) {
  auto& states = columns[static_cast<std::size_t>(cta)];
  for (int column = region.first_column; column < region.first_column + region.columns; ++column) {
    const ColumnState& state = states[static_cast<std::size_t>(column)];
    if (state.stores != 0) return fail("order_st", at(column));
    if (writes && state.loads != 0) return fail("order_ld", at(column));
    // Two MMAs keep their order when they have the same accumulator and shape.
    const bool same = state.issuer != 'm' || issuer != 'm' || (writes && state.accumulator == accumulator);
    if (under_way(state.write) && (!pipelined(state.issuer, issuer) || !same))
      return fail("order_async", at(column));
    if (writes && under_way(state.read) && (issuer == 'm' || !pipelined('m', issuer)))
      return fail("order_async", at(column));
  }
}

void Interpreter::State::mark_written(int cta, Region region, char issuer, std::uint64_t accumulator) {
  for (int column = region.first_column; column < region.first_column + region.columns; ++column) {
    ColumnState& state = columns[static_cast<std::size_t>(cta)][static_cast<std::size_t>(column)];
    state.write = Async::issued;
    state.issuer = issuer;
    state.thread = active.front();
    state.accumulator = accumulator;
  }
}

void Interpreter::State::mark_read(int cta, Region region) {
  for (int column = region.first_column; column < region.first_column + region.columns; ++column) {
    ColumnState& state = columns[static_cast<std::size_t>(cta)][static_cast<std::size_t>(column)];
    state.read = Async::issued;
    state.read_thread = active.front();
  }
}

void Interpreter::State::complete(int commit) {
  for (auto& states : columns) {
    for (ColumnState& state : states) {
      if (state.write == Async::committed && state.commit <= commit) state.write = Async::waited;
      if (state.read == Async::committed && state.read_commit <= commit) state.read = Async::waited;
    }
  }
}

void Interpreter::State::commit() {
  if (single_thread() < 0) return;
  const int thread = active.front();
  const bool multicast = instruction->has("multicast::cluster");
  if (!instruction->has("mbarrier::arrive::one")) return fail("qualifier", "no .mbarrier::arrive::one");
  const auto where = static_cast<std::uint32_t>(address(thread, operand_of(0, Operand::Kind::address)));
  const std::uint64_t mask = multicast ? value(thread, operand(1)) : std::uint64_t{1} << thread / kThreads;
  if (failed()) return;
  ++commits;
  for (int cta = 0; cta < count; ++cta) {
    if ((mask >> cta & 1U) == 0) continue;
    const auto found = barriers.find({cta, where});
    if (found == barriers.end()) return fail("mbarrier_init", "address " + std::to_string(where));
    found->second.commits.push_back(commits);
  }
  for (auto& states : columns) {
    for (ColumnState& state : states) {
      if (state.write == Async::issued && state.thread == thread) {
        state.write = Async::committed;
        state.commit = commits;
      }
      if (state.read == Async::issued && state.read_thread == thread) {
        state.read = Async::committed;
        state.read_commit = commits;
      }
    }
  }
  step.what = "mbarrier at " + std::to_string(where) + " tracks everything that this thread issued before";
}

void Interpreter::State::wait() {
  const bool load = instruction->has("wait::ld");
  if (!load && !instruction->has("wait::st")) return fail("qualifier", "no .wait::ld and no .wait::st");
  for (const auto& [cta, warp] : warps()) {
    const auto bit = static_cast<std::uint8_t>(~(1U << warp));
    for (ColumnState& state : columns[static_cast<std::size_t>(cta)])
      (load ? state.loads : state.stores) &= bit;
    if (!load) continue;
    const std::size_t all = static_cast<std::size_t>(count) * kThreads;
    for (std::size_t name = 0; name < slots; ++name) {
      const std::size_t first = name * all + static_cast<std::size_t>(cta * kThreads + warp * kWarpLanes);
      for (std::size_t i = first; i < first + kWarpLanes; ++i)
        if (register_states[i] == RegisterState::loading) register_states[i] = RegisterState::known;
    }
  }
}

void Interpreter::State::fence() {
  if (!instruction->has("fence::after_thread_sync")) return;
  for (auto& states : columns) {
    for (ColumnState& state : states) {
      if (state.write == Async::waited) state.write = Async::none;
      if (state.read == Async::waited) state.read = Async::none;
    }
  }
}

}  // namespace mmaudit::tmem
