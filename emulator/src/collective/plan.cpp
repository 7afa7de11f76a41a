// Which elements are summed in which order. Bounds and sizes: the sources that the libraries' rows name.
#include <algorithm>

#include "mmaudit/collective.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

constexpr std::uint64_t kMostRanks = 256, kMostChannels = 64, kSteps = 8;

/// By protocol. grain: bytes that chunks are multiples of. Source: device.h (ncclProtoGrainSize), init.cc
/// (computeBuffSizes), comm.h (thread thresholds), tuning.cc (maxThreads).
struct Protocol {
  std::uint64_t buffer, grain, threads, threshold;
  std::uint64_t ring_steps;  ///< of the buffer in one chunk of a ring
  std::uint64_t data, line;  ///< of `line` bytes of the buffer `data` are data
  std::uint64_t traffic;     ///< how many bytes one byte counts
};
constexpr Protocol kProtocols[] = {{4 << 20, 512, 512, 64, 4, 1, 1, 1},
                                   {std::uint64_t{8} * 512 * 8 * 16, 16, 512, 8, 1, 1, 2, 4},
                                   {std::uint64_t{120} * 640 * 8 * 8, 1920, 640, 8, 1, 15, 16, 1}};

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
std::uint64_t aligned_up(std::uint64_t a, std::uint64_t b) { return divided_up(a, b) * b; }

std::vector<int> usual_ring(std::uint64_t ranks) {
  std::vector<int> out;
  for (std::uint64_t i = 0; i < ranks; ++i) out.push_back(static_cast<int>(i));
  return out;
}

/// Once around, from the one behind `last` to it.
CollectiveOrder around(const std::vector<int>& ring, std::size_t last) {
  CollectiveOrder out;
  const std::size_t n = ring.size();
  for (std::size_t i = 2; i <= n; ++i) out.push_back({ring[(last + i) % n], ring[(last + i - 1) % n]});
  return out;
}

void join_below(const CollectiveTree& tree, int rank, CollectiveOrder& out) {
  for (const int child : tree.down[static_cast<std::size_t>(rank)]) {
    if (child < 0) continue;
    join_below(tree, child, out);
    out.push_back({rank, child});
  }
}

CollectiveOrder order_of(const CollectiveTree& tree) {
  CollectiveOrder out;
  join_below(tree, static_cast<int>(std::find(tree.up.begin(), tree.up.end(), -1) - tree.up.begin()), out);
  return out;
}

class Pieces {
 public:
  explicit Pieces(CollectivePlan& plan) : plan_(plan) {}
  void add(std::uint64_t first, std::uint64_t count, const CollectiveOrder& order) {
    if (count == 0) return;
    const auto at = std::find(plan_.orders.begin(), plan_.orders.end(), order);
    const auto index = static_cast<std::uint32_t>(at - plan_.orders.begin());
    if (at == plan_.orders.end()) plan_.orders.push_back(order);
    plan_.pieces.push_back({first, count, index});
  }

 private:
  CollectivePlan& plan_;
};

struct Part {
  std::uint64_t channel, first, count;
};

/// How NCCL deals `count` elements to channels, of a call that is alone in its group.
std::vector<Part> parts_of(const CollectiveProblem& problem, const CollectiveChoice& choice,
                           const CollectiveLibrary& library, std::uint64_t count) {
  const Protocol& protocol = kProtocols[static_cast<std::size_t>(choice.protocol)];
  const std::uint64_t bytes = spec_of(problem.type).storage_bytes();
  const std::uint64_t threads = choice.threads != 0 ? choice.threads : protocol.threads;
  std::uint64_t channels = choice.channels;
  // tuning.cc (ncclTopoTuneModel): "threadThresholds", of LL in a ring once per rank.
  const bool per_rank =
      choice.algorithm == CollectiveAlgorithm::ring && choice.protocol == CollectiveProtocol::ll;
  const std::uint64_t least = threads * protocol.threshold * (per_rank ? problem.ranks : 1);
  while (channels >= 2 && problem.count * bytes < channels * least) --channels;
  const bool scatters = problem.kind == CollectiveKind::reduce_scatter;
  const std::uint64_t per_byte = (scatters ? problem.ranks : 2) * protocol.traffic;
  const std::uint64_t traffic = std::max(library.least_traffic, count * bytes * per_byte);
  const std::uint64_t per_channel = library.least_per_channel
                                        ? std::max(library.least_traffic, traffic / channels)
                                        : aligned_up(traffic / channels, 16);
  // Cells: what a channel gets is a whole number of them.
  const std::uint64_t cell = aligned_up(divided_up(library.least_traffic, per_byte), 16);
  const std::uint64_t cells = divided_up(count * bytes, cell);
  std::uint64_t each = std::min(cells, divided_up(per_channel, cell * per_byte));
  const std::uint64_t low = choice.channels == 1 ? cells : each;
  std::uint64_t middle = (cells - low) / each, high = (cells - low) % each;
  if (choice.channels < 1 + middle + (high != 0 ? 1 : 0)) {
    middle = choice.channels - 2;
    each = (cells - low) / (middle + 1);
    high = each + (cells - low) % (middle + 1);
  }
  if (high == 0 && middle != 0) high = each, --middle;
  std::vector<Part> out;
  std::uint64_t first = 0;
  const auto add = [&](std::uint64_t some) {
    const std::uint64_t elements = std::min(some * (cell / bytes), count - first);
    out.push_back({out.size(), first, elements});
    first += elements;
  };
  add(low);
  for (std::uint64_t i = 0; i < middle; ++i) add(each);
  if (high != 0) add(high);
  return out;
}

/// Elements of a chunk of a ring.
std::uint64_t chunk_of(const CollectiveProblem& problem, const CollectiveChoice& choice) {
  const Protocol& protocol = kProtocols[static_cast<std::size_t>(choice.protocol)];
  const std::uint64_t step = (choice.buffer != 0 ? choice.buffer : protocol.buffer) / kSteps;
  const std::uint64_t bytes = step * protocol.ring_steps / protocol.line * protocol.data;
  return bytes / protocol.grain * protocol.grain / spec_of(problem.type).storage_bytes();
}

void add_nccl(const CollectiveProblem& problem, const CollectiveChoice& choice, CollectivePlan& plan) {
  Pieces pieces(plan);
  const std::uint64_t n = problem.ranks;
  std::vector<std::vector<int>> rings = choice.rings;
  if (rings.empty()) rings.push_back(usual_ring(n));
  const bool scatters = problem.kind == CollectiveKind::reduce_scatter;
  const std::uint64_t count = scatters ? problem.count / n : problem.count;
  const std::vector<Part> parts = parts_of(problem, choice, *plan.library, count);
  plan.channels = parts.size();
  if (scatters) {  // A rank's elements end at it, whatever the chunks.
    for (std::uint64_t rank = 0; rank < n; ++rank)
      for (const Part& part : parts) {
        const std::vector<int>& ring = rings[part.channel % rings.size()];
        const auto at = std::find(ring.begin(), ring.end(), static_cast<int>(rank)) - ring.begin();
        pieces.add(rank * count + part.first, part.count, around(ring, static_cast<std::size_t>(at)));
      }
    return;
  }
  const std::uint64_t usual = chunk_of(problem, choice);
  const std::uint64_t line = 16 / spec_of(problem.type).storage_bytes();
  for (const Part& part : parts) {
    if (choice.algorithm == CollectiveAlgorithm::tree) {
      pieces.add(part.first, part.count,
                 choice.trees.empty() ? order_of(chain_of(rings[part.channel % rings.size()]))
                                      : order_of(choice.trees[part.channel % choice.trees.size()]));
      continue;
    }
    // Chunk c of a loop ends at the rank c places behind rank 0.
    std::vector<int> ring = rings[part.channel % rings.size()];
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
    for (std::uint64_t done = 0; done < part.count; done += n * usual) {
      const std::uint64_t rest = part.count - done;
      const std::uint64_t chunk = rest < n * usual ? aligned_up(divided_up(rest, n), line) : usual;
      for (std::uint64_t c = 0; c < n && c * chunk < rest; ++c)
        pieces.add(part.first + done + c * chunk, std::min(chunk, rest - c * chunk), around(ring, c));
    }
  }
}

/// A ring against the ranks' order: chunk c ends at rank c. The chunks are whole segments.
void add_gloo(const CollectiveProblem& problem, CollectivePlan& plan) {
  constexpr std::uint64_t kMostSegment = 1 << 20;  // gloo/allreduce.h
  const std::uint64_t n = problem.ranks, bytes = spec_of(problem.type).storage_bytes();
  const std::uint64_t total = problem.count * bytes;
  const std::uint64_t segments = aligned_up(std::max(divided_up(total, kMostSegment), 2 * n), n);
  const std::uint64_t chunk = segments / n * (aligned_up(divided_up(total, segments), bytes) / bytes);
  std::vector<int> ring = usual_ring(n);
  std::reverse(ring.begin(), ring.end());
  Pieces pieces(plan);
  for (std::uint64_t c = 0; c < n && c * chunk < problem.count; ++c)
    pieces.add(c * chunk, std::min(chunk, problem.count - c * chunk), around(ring, n - 1 - c));
}

std::string why_bad_tree(const CollectiveTree& tree, std::uint64_t ranks) {
  std::vector<int> seen(ranks, 0);
  std::uint64_t reached = 0;
  if (tree.up.size() != ranks || tree.down.size() != ranks)
    return refusal("trees: found {} ranks, allowed: {}", tree.up.size(), ranks);
  const auto root = std::find(tree.up.begin(), tree.up.end(), -1) - tree.up.begin();
  std::vector<int> open(1, static_cast<int>(root));
  while (!open.empty()) {
    const int rank = open.back();
    open.pop_back();
    if (rank < 0 || rank >= static_cast<int>(ranks))
      return refusal("trees: found rank {}, allowed: 0 to {}, one of them the root", rank, ranks - 1);
    if (seen[static_cast<std::size_t>(rank)]++ != 0)
      return refusal("trees: found rank {} below two ranks, allowed: below one", rank);
    ++reached;
    for (const int child : tree.down[static_cast<std::size_t>(rank)])
      if (child >= 0) open.push_back(child);
  }
  return reached == ranks ? "" : refusal("trees: found {} ranks below the root, allowed: {}", reached, ranks);
}

}  // namespace

CollectiveTree chain_of(const std::vector<int>& ranks) {
  CollectiveTree out{std::vector<int>(ranks.size(), -1), {ranks.size(), {-1, -1, -1}}};
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    out.up[static_cast<std::size_t>(ranks[i])] = ranks[i - 1];
    out.down[static_cast<std::size_t>(ranks[i - 1])][0] = ranks[i];
  }
  return out;
}

std::string why_no_collective(const CollectiveProblem& problem, const CollectiveChoice& choice) {
  const CollectiveLibrary* library = find_named(kCollectiveLibraries, choice.library);
  if (library == nullptr)
    return refusal("library: found {}, allowed: {}", in_quotes(choice.library),
                   names_of(kCollectiveLibraries));
  if (problem.type != Format::f32 && problem.type != Format::f16 && problem.type != Format::bf16)
    return refusal("type: found {}, allowed: f32, f16, bf16", name_of(problem.type));
  if (problem.ranks < 2 || problem.ranks > kMostRanks)
    return refusal("ranks: found {}, allowed: 2 to {}", problem.ranks, kMostRanks);
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;
  if (problem.count == 0 || problem.count > kMostElements)
    return refusal("count: found {}, allowed: 1 to 2^40", problem.count);
  const bool scatters = problem.kind == CollectiveKind::reduce_scatter;
  if (scatters && problem.count % problem.ranks != 0)
    return refusal("count: found {}, allowed: a multiple of {} ranks", problem.count, problem.ranks);
  if (library->first_version == 0) return "";
  if (scatters && choice.algorithm != CollectiveAlgorithm::ring)
    return refusal("algorithm: found {}, allowed: ring, as NCCL scatters",
                   name_in(names::kCollectiveAlgorithm, choice.algorithm));
  if (choice.channels == 0 || choice.channels > kMostChannels)
    return refusal("channels: found {}, allowed: 1 to {}", choice.channels, kMostChannels);
  if (choice.threads > 1024) return refusal("threads: found {}, allowed: 0 to 1024", choice.threads);
  for (std::vector<int> ring : choice.rings) {
    std::sort(ring.begin(), ring.end());
    if (ring != usual_ring(problem.ranks))
      return refusal("rings: found {} of the ranks, allowed: ranks 0 to {} once each", ring.size(),
                     problem.ranks - 1);
  }
  for (const CollectiveTree& tree : choice.trees)
    if (std::string why = why_bad_tree(tree, problem.ranks); !why.empty()) return why;
  constexpr std::uint64_t kMostBuffer = 1 << 30;
  if (choice.buffer > kMostBuffer || chunk_of(problem, choice) == 0)
    return refusal("buffer: found {}, allowed: bytes that hold 8 steps of a protocol, up to 2^30",
                   choice.buffer);
  return "";
}

CollectivePlan collective_plan(const CollectiveProblem& problem, const CollectiveChoice& choice) {
  CollectivePlan plan;
  plan.library = find_named(kCollectiveLibraries, choice.library);
  if (plan.library->first_version == 0)
    add_gloo(problem, plan);
  else
    add_nccl(problem, choice, plan);
  return plan;
}

std::string text_of(const CollectiveOrder& order) {
  std::vector<std::string> said;
  for (const CollectiveJoin& join : order)
    for (const int rank : {join.into, join.from})
      if (static_cast<std::size_t>(rank) >= said.size()) said.resize(static_cast<std::size_t>(rank) + 1);
  const auto value = [&](int rank) {
    const std::string& one = said[static_cast<std::size_t>(rank)];
    return one.empty() ? std::to_string(rank) : "(" + one + ")";
  };
  for (const CollectiveJoin& join : order)
    said[static_cast<std::size_t>(join.into)] = said[static_cast<std::size_t>(join.into)].empty()
                                                    ? value(join.from) + " + " + std::to_string(join.into)
                                                    : value(join.into) + " + " + value(join.from);
  return order.empty() ? "" : said[static_cast<std::size_t>(order.back().into)];
}

std::string text_of(const CollectivePlan& plan) {
  constexpr std::size_t kShown = 4;
  std::string out = std::string(plan.library->name) + ", channels " + std::to_string(plan.channels) +
                    ", pieces " + std::to_string(plan.pieces.size()) + ", orders " +
                    std::to_string(plan.orders.size()) + ": ";
  for (std::size_t i = 0; i < std::min(kShown, plan.orders.size()); ++i)
    out += (i == 0 ? "" : "; ") + text_of(plan.orders[i]);
  return out + (plan.orders.size() > kShown ? "; ..." : "");
}

}  // namespace mmaudit
