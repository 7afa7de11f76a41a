#include "second_level.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>

namespace mmaudit::timing {
namespace {

constexpr int kMostTrips = 100000;  ///< of all blocks; the first blocks of a larger product stand for it
constexpr std::size_t kSample = 4096;
constexpr double kSpread = 0.03;      ///< of the time that a block takes, either way
constexpr double kLeastShare = 0.02;  ///< a piece of which less is missing hits
constexpr double kFar = 32768, kNear = 512;
constexpr double kAllMissing = 8.0 / 3;  ///< times the capacity
constexpr double kLongAgo = -std::numeric_limits<double>::infinity();
constexpr std::size_t kMostAhead = 4;  ///< a power of two

std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}

/// Share of the lines that the cache no longer has when so many times its capacity was used since. Source:
/// docs/results/h100-loaded, curve: of 4/3, 5/3 and 2 times 24 MiB 25%, 75% and 93% of the loads of four
/// lines wait for memory, 1 - (1 - share)^4. The last point is a guess.
double missing(double capacities) {
  struct Point {
    double at, share;
  };
  constexpr std::array<Point, 5> kPoints = {
      {{1, 0}, {4.0 / 3, 0.07}, {5.0 / 3, 0.29}, {2, 0.49}, {kAllMissing, 1}}};
  if (capacities <= kPoints.front().at) return 0;
  for (std::size_t i = 1; i < kPoints.size(); ++i) {
    const Point &low = kPoints[i - 1], &high = kPoints[i];
    if (capacities < high.at)
      return low.share + (high.share - low.share) * (capacities - low.at) / (high.at - low.at);
  }
  return 1;
}

/// Bytes by the order of their latest use: a Fenwick tree.
class Uses {
 public:
  explicit Uses(std::size_t most) : sums_(most + 1) {}
  /// Bytes that were used since use `before` (none: -1), which this use takes the place of.
  double use(std::int64_t& before, double bytes) {
    double since = std::numeric_limits<double>::infinity();
    if (before >= 0) {
      since = until(next_) - until(before) + bytes;
      add(before, -bytes);
    }
    add(next_, bytes);
    before = next_++;
    return since;
  }

 private:
  void add(std::int64_t at, double bytes) {
    for (auto i = static_cast<std::size_t>(at) + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += bytes;
  }
  [[nodiscard]] double until(std::int64_t at) const {
    double sum = 0;
    for (auto i = static_cast<std::size_t>(at) + 1; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }
  std::vector<double> sums_;
  std::int64_t next_ = 0;
};

struct Piece {
  std::int64_t used = -1;
  double last = kLongAgo;                     ///< that it was asked for
  double asked = kLongAgo, ready = kLongAgo;  ///< of memory
  float share = 0;                            ///< of it that memory was asked for
};

struct Block {
  int number = -1, trip = 0;
  double pace = 1, left = 0;  ///< of its work in this trip
  bool at_work = false;
  std::array<double, kMostAhead> ready{};  ///< of the trips to come
};

/// What all blocks of a multiprocessor share: the one that began first has it.
struct Server {
  int serving = -1;
  double since = 0;
  unsigned version = 0;
};

enum class What : std::uint8_t { data_there, work_done, begin };
struct Happening {
  double at = 0;
  int place = 0;
  What what = What::begin;
  unsigned version = 0;
};
constexpr auto kLater = [](const Happening& x, const Happening& y) {
  return x.at != y.at ? x.at > y.at : x.place != y.place ? x.place > y.place : x.what > y.what;
};

class Gpu {
 public:
  explicit Gpu(const CacheProblem& problem)
      : problem_(problem),
        blocks_(std::min(problem.columns * problem.rows,
                         std::max({1, 3 * problem.multiprocessors * problem.resident,
                                   kMostTrips / std::max(1, problem.steps)}))),
        work_(std::min(problem.together / problem.resident, problem.alone)),
        hit_(problem.ahead > 0 ? 0 : std::min(problem.hit_latency, problem.alone - work_)),
        rest_(problem.alone - work_ - hit_),
        first_b_(static_cast<std::size_t>(problem.rows) * steps()),
        pieces_(first_b_ + static_cast<std::size_t>(problem.columns) * steps()),
        written_(static_cast<std::size_t>(blocks_), -1),
        uses_(2 * static_cast<std::size_t>(blocks_) * (2 * steps() + 1)),
        places_(static_cast<std::size_t>(problem.multiprocessors) *
                static_cast<std::size_t>(problem.resident)),
        servers_(static_cast<std::size_t>(problem.multiprocessors)),
        apart_(static_cast<std::uint32_t>(
            std::max<std::size_t>(1, static_cast<std::size_t>(blocks_) * steps() / kSample))) {}

  CacheTrips run() {
    if (problem_.all_bytes() < kAllMissing * problem_.capacity)
      run_product();  // leaves something to the next
    counts_ = true;
    run_product();
    for (CacheTrips::Shares* shares : {&result_.a, &result_.b})
      for (double* share : {&shares->missed, &shares->far, &shares->near}) *share /= std::max(1.0, trips_);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t steps() const { return static_cast<std::size_t>(problem_.steps); }
  Block& block_at(int place) { return places_[static_cast<std::size_t>(place)]; }
  Server& server_of(int place) { return servers_[static_cast<std::size_t>(place / problem_.resident)]; }

  void run_product() {
    next_ = 0;
    began_ = ended_;
    for (int i = 0; i < problem_.resident; ++i)
      for (int sm = 0; sm < problem_.multiprocessors && next_ < blocks_; ++sm)
        start(sm * problem_.resident + i, began_);
    while (!coming_.empty()) {
      const Happening now = coming_.top();
      coming_.pop();
      switch (now.what) {
        case What::begin:
          begin(now);
          break;
        case What::data_there:
          data_there(now);
          break;
        case What::work_done:
          if (now.version == server_of(now.place).version) work_done(now);
          break;
      }
    }
  }

  void start(int place, double at) {
    Block& block = block_at(place);
    block = Block{};
    block.number = next_++;
    const double drawn = mixed(static_cast<std::uint32_t>(block.number) * 7919U + (counts_ ? 1 : 0)) / 0x1p31;
    block.pace = 1 + kSpread * (drawn - 1);
    coming_.push({at, place, What::begin, 0});
  }

  void begin(const Happening& now) {
    Block& block = block_at(now.place);
    if (problem_.ahead == 0) {
      coming_.push({ask(block, block.trip, now.at), now.place, What::data_there, 0});
      return;
    }
    if (block.trip == 0)
      for (int trip = 0; trip < std::min(problem_.ahead, problem_.steps); ++trip)
        ready_of(block, trip) = ask(block, trip, now.at);
    coming_.push({std::max(now.at, ready_of(block, block.trip)), now.place, What::data_there, 0});
  }
  static double& ready_of(Block& block, int trip) {
    return block.ready[static_cast<std::size_t>(trip) % kMostAhead];
  }

  void data_there(const Happening& now) {
    Block& block = block_at(now.place);
    if (const int trip = block.trip + problem_.ahead; problem_.ahead > 0 && trip < problem_.steps)
      ready_of(block, trip) = ask(block, trip, now.at);
    block.left = work_ * block.pace;
    block.at_work = true;
    const Server& server = server_of(now.place);
    const int sm = now.place / problem_.resident;
    if (server.serving < 0 || block.number < block_at(sm * problem_.resident + server.serving).number)
      serve_oldest(sm, now.at);
  }

  void serve_oldest(int sm, double now) {
    Server& server = servers_[static_cast<std::size_t>(sm)];
    Block* const mine = &block_at(sm * problem_.resident);
    if (server.serving >= 0) mine[server.serving].left -= now - server.since;
    int oldest = -1;
    for (int i = 0; i < problem_.resident; ++i)
      if (mine[i].at_work && (oldest < 0 || mine[i].number < mine[oldest].number)) oldest = i;
    server = {oldest, now, server.version + 1};
    if (oldest >= 0)
      coming_.push({now + std::max(0.0, mine[oldest].left), sm * problem_.resident + oldest, What::work_done,
                    server.version});
  }

  void work_done(const Happening& now) {
    Block& block = block_at(now.place);
    block.at_work = false;
    server_of(now.place).serving = -1;
    const double at = now.at + rest_ * block.pace;
    if (++block.trip < problem_.steps) {
      coming_.push({at, now.place, What::begin, 0});
    } else {
      uses_.use(written_[static_cast<std::size_t>(block.number)], problem_.result_bytes);
      ended_ = std::max(ended_, at);
      if (next_ < blocks_) start(now.place, at + problem_.launch);
    }
    serve_oldest(now.place / problem_.resident, now.at);
  }

  /// When the pieces of A and B of a trip are there.
  double ask(const Block& block, int trip, double now) {
    const auto row = static_cast<std::size_t>(block.number / problem_.columns),
               column = static_cast<std::size_t>(block.number % problem_.columns),
               at = static_cast<std::size_t>(trip);
    TripMemory met;
    const double a = use(pieces_[row * steps() + at], now, met.a, result_.a),
                 b = use(pieces_[first_b_ + column * steps() + at], now, met.b, result_.b);
    if (counts_) {
      trips_ += 1;
      if (mixed(asked_++) % apart_ == 0) result_.trips.push_back(met);
    }
    return std::max({now + hit_, a, b});
  }

  double use(Piece& piece, double now, TripMemory::Operand& met, CacheTrips::Shares& shares) {
    const double before = piece.last >= began_ ? now - piece.last : std::numeric_limits<double>::infinity();
    const double share = missing(uses_.use(piece.used, problem_.piece_bytes) / problem_.capacity);
    piece.last = now;
    if (counts_) {
      shares.far += before > kFar ? 1 : 0;
      shares.near += before <= kNear ? 1 : 0;
    }
    if (now < piece.ready) {
      met = {piece.share, static_cast<float>(now - piece.asked)};
      return piece.ready;
    }
    if (share < kLeastShare) return now;
    met = {static_cast<float>(share), -1};
    piece.share = met.share;
    piece.asked = now;
    memory_free_ = std::max(memory_free_, now) + share * problem_.piece_bytes / problem_.memory_bytes;
    piece.ready = memory_free_ + problem_.miss_latency - (problem_.hit_latency - hit_);
    if (counts_) shares.missed += share;
    return piece.ready;
  }

  const CacheProblem& problem_;
  int blocks_;
  double work_, hit_, rest_;  ///< of a trip: shared by the blocks, latency of L2, what else each block takes
  std::size_t first_b_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> written_;  ///< tiles of D
  Uses uses_;
  std::vector<Block> places_;
  std::vector<Server> servers_;
  std::uint32_t apart_, asked_ = 0;
  std::priority_queue<Happening, std::vector<Happening>, decltype(kLater)> coming_{kLater};
  CacheTrips result_;
  double began_ = 0, ended_ = 0, memory_free_ = 0, trips_ = 0;
  int next_ = 0;
  bool counts_ = false;
};

}  // namespace

CacheTrips cache_trips(const CacheProblem& problem) {
  if (problem.all_bytes() <= problem.capacity) return {};
  return Gpu(problem).run();
}

}  // namespace mmaudit::timing
