#include "second_level.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>

namespace mmaudit::timing {
namespace {

constexpr int kPieces = 32;      ///< of a tile along k
constexpr int kWaves = 4;        ///< that are simulated; the first ones warm the cache up
constexpr double kSpread = 0.1;  ///< of the time that a block takes, either way

/// Pieces in the order of their last use.
class Recent {
 public:
  Recent(std::size_t pieces, double capacity) : links_(pieces + 1), capacity_(capacity) {
    links_[0] = {0, 0, 0};
  }
  /// True when the piece (from 1 on) was there.
  bool use(std::size_t piece, double bytes) {
    Link& one = links_[piece];
    const bool there = one.bytes > 0;
    if (there) {
      used_ -= one.bytes;
      take_out(piece);
    }
    one.bytes = bytes;
    used_ += bytes;
    one.before = 0;
    one.after = links_[0].after;
    links_[one.after].before = piece;
    links_[0].after = piece;
    while (used_ > capacity_ && links_[0].before != 0) {
      const std::size_t last = links_[0].before;
      used_ -= links_[last].bytes;
      take_out(last);
      links_[last].bytes = 0;
    }
    return there;
  }

 private:
  struct Link {
    std::size_t before = 0, after = 0;
    double bytes = 0;
  };
  void take_out(std::size_t piece) {
    links_[links_[piece].before].after = links_[piece].after;
    links_[links_[piece].after].before = links_[piece].before;
  }
  std::vector<Link> links_;  ///< [0]: the ends
  double capacity_, used_ = 0;
};

struct Step {
  double at = 0;
  int block = 0, piece = 0;
  double pace = 0;  ///< from piece to piece
};
constexpr auto kLater = [](const Step& x, const Step& y) {
  return x.at != y.at ? x.at > y.at : x.block > y.block;
};

}  // namespace

CacheMisses cache_misses(const CacheProblem& problem) {
  if (problem.all_bytes() <= problem.capacity) return {};
  const int blocks = problem.columns * problem.rows,
            runs = std::max(1, static_cast<int>(problem.durations.size()));
  const int slots = std::min(problem.slots, blocks), per_round = std::max(1, (slots + runs - 1) / runs);
  // Products of few waves are done twice; of others the waves after the first.
  const bool is_short = blocks <= kWaves * slots;
  const int all = is_short ? 2 * blocks : kWaves * slots, counted = is_short ? blocks : slots;
  const auto pieces_a = static_cast<std::size_t>(problem.rows) * kPieces,
             pieces_b = static_cast<std::size_t>(problem.columns) * kPieces;
  Recent recent(pieces_a + pieces_b + static_cast<std::size_t>(blocks) + 1, problem.capacity);
  std::priority_queue<Step, std::vector<Step>, decltype(kLater)> running(kLater);
  int next = 0;
  const auto start = [&](double at, double duration) {
    const std::uint32_t drawn = static_cast<std::uint32_t>(next) * 2654435769U;
    const double spread = 1 + kSpread * (static_cast<double>(drawn) / 0x80000000U - 1);
    running.push({at, next++, 0, duration * spread / kPieces});
  };
  const auto start_all = [&](double at) {
    for (int i = 0; i < slots; ++i) {
      const auto place = static_cast<std::size_t>(std::min(i / per_round, runs - 1));
      start(at, problem.durations.empty() ? problem.later : problem.durations[place]);
    }
  };
  start_all(0);
  double asked = 0, missed_a = 0, missed_b = 0;
  while (!running.empty()) {
    Step step = running.top();
    running.pop();
    const int block = step.block % blocks;
    const auto row = static_cast<std::size_t>(block / problem.columns),
               column = static_cast<std::size_t>(block % problem.columns),
               piece = static_cast<std::size_t>(step.piece);
    const bool a = recent.use(1 + row * kPieces + piece, problem.tile_bytes / kPieces),
               b = recent.use(1 + pieces_a + column * kPieces + piece, problem.tile_bytes / kPieces);
    if (step.block >= counted) {
      asked += 1;
      missed_a += a ? 0 : 1;
      missed_b += b ? 0 : 1;
    }
    step.at += step.pace;
    if (++step.piece < kPieces) {
      running.push(step);
      continue;
    }
    recent.use(1 + pieces_a + pieces_b + static_cast<std::size_t>(block), problem.result_bytes);
    if (is_short && next == blocks) {  // the next product starts when this one is done
      if (running.empty()) start_all(step.at);
    } else if (next < all) {
      start(step.at, problem.later);
    }
  }
  if (asked == 0) return {};
  return {missed_a / asked, missed_b / asked};
}

}  // namespace mmaudit::timing
