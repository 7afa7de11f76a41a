// Loads of the shared memory of another block of the cluster, its own block's included: latency, and what all
// blocks together can load. The neighbours form a ring: each block reads the one `peer` places on. And where
// the blocks of clusters run: as many clusters as the GPU holds at once, of every size, each block loading
// from the next. A block says its multiprocessor; a cluster never spans two GPCs.
#include <algorithm>

#include "mmaudit/fragment.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/rows.hpp"
#include "sweeps/memory/shared_memory.hpp"
#ifdef __CUDACC__
#include "ptx/cluster.cuh"
#include "ptx/line.cuh"
#include "ptx/shared_memory.cuh"
#include "sweeps/memory/word_sums.cuh"
#endif

namespace mmaudit::sweeps {

struct ClusterChase;
template <int kWords>
struct ClusterStream;

namespace {

/// Words of the chase, one behind the other, and the bytes from one to the next. Runs are multiples of 8
/// steps: a chase over a number of words prime to that ends at another word after each length.
constexpr int kHops = 7, kHopBytes = 128;
/// Bytes from the block's first word to the one that a chase of so many steps ends at.
constexpr std::uint32_t end_of_hops(int steps) {
  return static_cast<std::uint32_t>(kHopBytes) * (static_cast<std::uint32_t>(steps) % kHops);
}

constexpr int kCopies = 8;
/// Shared memory that is read.
constexpr int kBlockWords = 4096;
/// Where policies are compared.
constexpr int kPolicyWarps = 32, kPolicyChains = 4;

/// A word of the block of this rank.
MMAUDIT_HD constexpr std::uint32_t block_word(int rank, int word) {
  return pattern_word(word + kBlockWords * rank);
}

/// How a kernel is told which block to read: its distance, and whether all read one block.
struct Peer {
  int distance;
  bool broadcast;
};
MMAUDIT_HD constexpr int packed(Peer peer) { return peer.distance * 2 + (peer.broadcast ? 1 : 0); }
MMAUDIT_HD constexpr int peer_of(int parameter, int rank, int cluster) {
  return (parameter % 2 == 1 ? 0 : rank + parameter / 2) % cluster;
}

struct ChaseInCluster {
  std::uint32_t end, rank, read;  ///< of the chase; of this block; of the block that was read
};

}  // namespace

#ifdef __CUDACC__

extern __shared__ __align__(32) unsigned char cluster_bytes[];

/// Lanes of one warp. Shared addresses of a block's words are the same for every reader.
struct ClusterHops {
  std::uint32_t address, first;

  /// Every block lays its own words, in `bytes`, each with a note behind it; the chase is through the
  /// words of block `peer`. Waits for the cluster.
  __device__ __forceinline__ ClusterHops(unsigned char* bytes, int lane, int rank, int peer,
                                         std::uint32_t note) {
    const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(bytes));
    first = device::address_in(own, peer);
    if (lane < kHops) {
      auto* words = reinterpret_cast<std::uint32_t*>(bytes + kHopBytes * lane);
      words[0] = device::address_in(own, rank) + static_cast<std::uint32_t>(kHopBytes * ((lane + 1) % kHops));
      words[1] = note;
    }
    device::cluster_wait();
    address = first;
  }
  template <int kTurn>
  __device__ __forceinline__ void run(int steps) {
    repeat<1, kTurn>(steps, [this](int, int) { device::load_cluster(address, address); });
    asm volatile("" ::"r"(address));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t end() const { return address - first; }
  /// Behind the word that the chase ended at.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t note() const {
    std::uint32_t read = 0;
    device::load_cluster(read, address + 4);
    return read;
  }
};

/// A chase: each word read is the address of the next one, in the block that is read.
struct ClusterChase : OnHopper<32> {
  template <int>
  struct Chains {
    int rank;
    ClusterHops hops;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at)
        : rank(device::block_rank()),
          hops(cluster_bytes, at.lane, rank, peer_of(args.parameter, rank, device::cluster_blocks()),
               static_cast<std::uint32_t>(rank)) {}
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      hops.run<kTurn>(steps);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      const std::uint32_t read = hops.note();
      if (at.lane == 0)
        static_cast<ChaseInCluster*>(args.d)[at.slot] = {hops.end(), static_cast<std::uint32_t>(rank), read};
      device::cluster_wait();  // another block may still read this one
      return false;
    }
  };
};

/// Loads that wait for nothing, all summed.
template <int kWords>
struct ClusterStream : OnHopper<1024> {
  template <int kChains>
  struct Chains {
    std::uint32_t from;
    WordSums<kChains, kWords> sums;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place&) {
      const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(cluster_bytes));
      const int rank = device::block_rank(), threads = static_cast<int>(blockDim.x);
      auto* words = reinterpret_cast<std::uint32_t*>(cluster_bytes);
      for (int word = static_cast<int>(threadIdx.x); word < kBlockWords; word += threads)
        words[word] = block_word(rank, word);
      const int peer = peer_of(args.parameter, rank, device::cluster_blocks());
      // Warp after warp reads 512 bytes further on.
      from = device::address_in(own, peer) + (threadIdx.x % 32 * kWords + threadIdx.x / 32 * 128) * 4;
      sums.clear();
      device::cluster_wait();
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      constexpr int kTogether = kChains * kWords >= 16 ? 1 : 2;
      sums.template run<kTurn, kTogether, true>(
          steps, [this](std::uint32_t(&r)[kWords], int) { device::load_cluster_words(r, from); });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      static_cast<std::uint32_t*>(args.d)[at.slot * 32 + at.lane] = sums.total();
      device::cluster_wait();
      return false;
    }
  };
};

#endif

namespace {

constexpr AxisSpec kPeerAxis =
    number_axis("peer", 0, 15, "[0:15:1]", "[0,1]",
                "the block that is read: so many places on in the cluster; 0: the own one");
constexpr AxisSpec kPatternAxis = word_axis("reads", "own,ring,pair,broadcast", "[own,ring,pair,broadcast]",
                                            "[own,ring]", "which block of the cluster all blocks read");
constexpr AxisSpec kPolicyAxis = word_axis("policy", "default,spread,balance", "[default,spread,balance]",
                                           "[default]", "how clusters are put on multiprocessors");

constexpr AxisSpec kWidthAxis = number_axis("width", 2, 16, "[2:16:1]", "[2,4,6,9,16]",
                                            "blocks of a cluster, of those that say where they run");

/// Multiprocessors, and the blocks that took least and most.
void observe_blocks(std::span<const Stamp> stamps, const ReadResult&, int steps, Measurement& out) {
  double least = 0, most = 0;
  for (const Stamp& stamp : stamps) {
    const double cycles = static_cast<double>(stamp.clock_end - stamp.clock_begin) / steps;
    least = &stamp == stamps.data() ? cycles : std::min(least, cycles);
    most = std::max(most, cycles);
  }
  out.others[tag::kLeastBlock] = least;
  out.others[tag::kMostBlock] = most;
  observe_places(stamps, out);
}

/// A chase in clusters of so many blocks, each reading the one at this distance.
Setup chase_setup(int cluster, int distance, int shared_bytes) {
  return {
      .args = {.parameter = packed({distance, false})},
      .shared_bytes = shared_bytes,
      .slot_bytes = sizeof(ChaseInCluster),
      .placement = {.cluster = cluster},
      .check = each_result<ChaseInCluster>([=](const ChaseInCluster& found, std::size_t block, int steps) {
        const auto blocks = static_cast<std::uint32_t>(cluster),
                   rank = static_cast<std::uint32_t>(block) % blocks;
        return found.end == end_of_hops(steps) && found.rank == rank &&
               found.read == (rank + static_cast<std::uint32_t>(distance)) % blocks;
      }),
      .observe = observe_blocks};
}

Benchmark chase_in_cluster() {
  return {.name = "ld.shared::cluster.u32",
          .family = "Chases of a cluster's shared memory",
          .place = 240,
          .axes = {kScopeAxis, kWarpsAxis, kClusterAxis, kPeerAxis},
          .published = {"Luo 7"},
          .sass = {{"LD", "LDS"}, 1},
          .exists =
              [](const Point& point) {
                return one_warp(point) && point.number("peer") < point.number("cluster");
              },
          .work = [](const Point&) { return Work{.bytes = 4}; },
          .why_not = hopper_has("clusters need"),
          .kernel = [](const Point&) { return timed_kernel<ClusterChase, 1, kCopies>(); },
          .setup =
              [](const Point& point, Workbench*) {
                return chase_setup(point.number("cluster"), point.number("peer"), 4 * kBlockWords);
              }};
}

Benchmark placed() {
  Benchmark benchmark = chase_in_cluster();
  benchmark.name += "+placed";
  benchmark.family = "Clusters that say where they run";
  benchmark.place = 245;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kWidthAxis};
  benchmark.whole_gpu = true;
  benchmark.published = {};
  benchmark.exists = one_warp;
  benchmark.work = [](const Point&) { return Work{.operations = 1}; };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup = chase_setup(point.number("width"), 1, kHops * kHopBytes);
    setup.observe = [](std::span<const Stamp> stamps, const ReadResult&, int, Measurement& out) {
      for (const Stamp& stamp : stamps) out.lists[list::kPlaces].push_back(stamp.multiprocessor);
      observe_places(stamps, out);
    };
    return setup;
  };
  return benchmark;
}

/// `chains` chains per warp; the point's axes say the rest.
template <int kWords>
Setup stream_setup(const Point& point, int chains) {
  const int cluster = point.number("cluster");
  const std::string_view reads = point.axis("reads"), policy = point.axis("policy");
  const Peer peer{reads == "ring" ? 1 : reads == "pair" ? cluster / 2 : 0, reads == "broadcast"};
  return {.args = {.parameter = packed(peer)},
          .shared_bytes = 4 * kBlockWords,
          .slot_bytes = kWarpLanes * sizeof(std::uint32_t),
          .placement = {.cluster = cluster,
                        .policy = policy == "spread"    ? 1
                                  : policy == "balance" ? 2
                                                        : 0},
          .check =
              [=](const ReadResult& read, int slots_per_block, int steps, Measurement& out) {
                const auto sums = results_in<std::uint32_t>(read());
                for (std::size_t i = 0; i < sums.size(); ++i) {
                  const auto slot = static_cast<int>(i / kWarpLanes), lane = static_cast<int>(i % kWarpLanes);
                  const int rank = slot / slots_per_block % cluster;
                  const int word = lane * kWords + slot % slots_per_block * 128;
                  std::uint32_t once = 0;
                  for (int w = 0; w < kWords; ++w)
                    once += block_word(peer_of(packed(peer), rank, cluster), word + w);
                  out.compare(sums[i] == once * static_cast<std::uint32_t>(steps * chains));
                }
              },
          .observe = observe_blocks};
}

template <int kWords>
Benchmark stream_in_cluster(const char* name) {
  Benchmark benchmark = chase_in_cluster();
  benchmark.name = name;
  benchmark.family = "Streams from a cluster's shared memory";
  benchmark.place = 250;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kIlpAxis, kClusterAxis, kPatternAxis, kPolicyAxis};
  benchmark.whole_gpu = true;
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps"), ilp = point.number("ilp"), cluster = point.number("cluster");
    const std::string_view reads = point.axis("reads");
    // A pair is the ring of two.
    if (reads == "own" ? cluster > 2 : cluster == 1) return false;
    if (reads == "pair" && cluster == 2) return false;
    if (point.axis("policy") != "default" && (reads != "ring" || warps != 32 || ilp != 4)) return false;
    return (warps == 2 || warps == 4 || warps == 8 || warps == 32) && (ilp == 1 || ilp == 2 || ilp == 4);
  };
  benchmark.work = [](const Point& point) {
    return Work{.bytes = 4.0 * kWords * kWarpLanes * point.number("warps") * point.number("ilp")};
  };
  benchmark.kernel = [](const Point& point) {
    return kernel_for<1, 2, 4>(point.number("ilp"), [&]<int kChains>() {
      return timed_kernel<ClusterStream<kWords>, kChains, kCopies>();
    });
  };
  benchmark.setup = [](const Point& point, Workbench*) {
    return stream_setup<kWords>(point, point.number("ilp"));
  };
  return benchmark;
}

/// Every policy at the same warps and chains: of a stream the whole GPU takes those that are best on one
/// multiprocessor, which differ from point to point.
Benchmark policies_of_clusters() {
  constexpr int kWords = 4;
  Benchmark benchmark = stream_in_cluster<kWords>("stream.ld.shared::cluster.v4.u32+policies");
  benchmark.family = "Streams from a cluster's shared memory, by policy";
  benchmark.place = 255;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kClusterAxis, kPatternAxis, kPolicyAxis};
  benchmark.sass.per_step = kPolicyChains;
  benchmark.exists = [](const Point& point) {
    const int cluster = point.number("cluster");
    const std::string_view reads = point.axis("reads");
    if (point.number("warps") != kPolicyWarps || cluster == 1 || reads == "own") return false;
    return reads != "pair" || cluster > 2;
  };
  benchmark.work = [](const Point&) {
    return Work{.bytes = 4.0 * kWords * kWarpLanes * kPolicyWarps * kPolicyChains};
  };
  benchmark.kernel = [](const Point&) {
    return timed_kernel<ClusterStream<kWords>, kPolicyChains, kCopies>();
  };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup = stream_setup<kWords>(point, kPolicyChains);
    // The kernel does not see the policy: where its blocks ran is all that can be seen of it.
    setup.observe = [observe = setup.observe](std::span<const Stamp> stamps, const ReadResult& read,
                                              int steps, Measurement& out) {
      observe(stamps, read, steps, out);
      for (std::size_t i = 0; i < stamps.size(); i += kPolicyWarps)
        out.lists[list::kPlaces].push_back(stamps[i].multiprocessor);
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_cluster() {
  return {chase_in_cluster(), placed(), stream_in_cluster<1>("stream.ld.shared::cluster.u32"),
          stream_in_cluster<4>("stream.ld.shared::cluster.v4.u32"), policies_of_clusters()};
}

}  // namespace mmaudit::sweeps
