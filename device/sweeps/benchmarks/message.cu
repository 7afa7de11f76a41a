// A word from one multiprocessor to another and back: through global memory, which is through the
// second-level cache, or through the shared memory of the other block of a cluster. The flag is the word
// itself, or a word of its own.
#include "mmaudit/fragment.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/rows.hpp"
#ifdef __CUDACC__
#include "ptx/cluster.cuh"
#endif

namespace mmaudit::sweeps {

enum class Through { global, cluster };
enum class Flag { word, apart };
template <Through kThrough, Flag kFlag>
struct Message;

namespace {

/// An inbox: the word, and the flag in a line of its own.
constexpr int kInboxBytes = 256;
[[maybe_unused]] constexpr int kFlagAt = 128;  // GPUs before compute capability 9.0 run none of this
/// A block that gives up after so many looks leaves a wrong result instead of hanging.
[[maybe_unused]] constexpr int kMostLooks = 1 << 20;

struct MessageResult {
  std::uint32_t word, gave_up;
};

/// The word of the next message, from the one that came.
MMAUDIT_HD constexpr std::uint32_t next_word(std::uint32_t word) { return word * 0x2C1B3C6DU + 0x297A2D39U; }
/// A packet is the number of the message, from 1, above its word.
[[maybe_unused]] MMAUDIT_HD constexpr std::uint64_t packet(std::uint32_t number, std::uint32_t word) {
  return std::uint64_t{number} << 32 | word;
}

}  // namespace

#ifdef __CUDACC__

extern __shared__ __align__(256) unsigned char message_bytes[];

template <Through kThrough, Flag kFlag>
struct Message : OnHopper<32> {
  template <int>
  struct Chains {
    std::uint64_t mine, other;  ///< addresses of the inboxes: global ones, or of shared::cluster
    std::uint32_t word = 1, gave_up = 0;
    int rank, lane;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      rank = device::block_rank();
      lane = at.lane;
      if constexpr (kThrough == Through::global) {
        mine = reinterpret_cast<std::uint64_t>(args.memory) + static_cast<std::uint64_t>(kInboxBytes * rank);
        other = reinterpret_cast<std::uint64_t>(args.memory) +
                static_cast<std::uint64_t>(kInboxBytes * (1 - rank));
      } else {
        const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(message_bytes));
        mine = device::address_in(own, rank);
        other = device::address_in(own, 1 - rank);
      }
      if (lane == 0) {
        write(mine, 0);
        write(mine + kFlagAt, 0);
      }
      __threadfence();
      device::cluster_wait();
    }
    /// With kOrdered a release, and an acquire below: who sees the flag sees what was written before it.
    template <bool kOrdered = false>
    static __device__ __forceinline__ void write(std::uint64_t address, std::uint64_t value) {
      const auto shared = static_cast<std::uint32_t>(address);
      if constexpr (kThrough == Through::global && kOrdered)
        asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
      else if constexpr (kThrough == Through::global)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
      else if constexpr (kOrdered)
        asm volatile("st.release.cluster.shared::cluster.u64 [%0], %1;" ::"r"(shared), "l"(value) : "memory");
      else
        asm volatile("st.relaxed.cluster.shared::cluster.u64 [%0], %1;" ::"r"(shared), "l"(value) : "memory");
    }
    template <bool kOrdered = false>
    static __device__ __forceinline__ std::uint64_t read(std::uint64_t address) {
      const auto shared = static_cast<std::uint32_t>(address);
      std::uint64_t value = 0;
      if constexpr (kThrough == Through::global && kOrdered)
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
      else if constexpr (kThrough == Through::global)
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
      else if constexpr (kOrdered)
        asm volatile("ld.acquire.cluster.shared::cluster.u64 %0, [%1];"
                     : "=l"(value)
                     : "r"(shared)
                     : "memory");
      else
        asm volatile("ld.relaxed.cluster.shared::cluster.u64 %0, [%1];"
                     : "=l"(value)
                     : "r"(shared)
                     : "memory");
      return value;
    }
    __device__ __forceinline__ void send(std::uint32_t number) {
      word = next_word(word);
      write(other, packet(number, word));
      if constexpr (kFlag == Flag::apart) write<true>(other + kFlagAt, number);
    }
    __device__ __forceinline__ void receive(std::uint32_t number) {
      const std::uint64_t at = kFlag == Flag::apart ? mine + kFlagAt : mine;
      std::uint64_t seen = 0;
      int looks = 0;
#pragma unroll 1
      do {
        seen = read<kFlag == Flag::apart>(at);
        ++looks;
      } while (static_cast<std::uint32_t>(kFlag == Flag::apart ? seen : seen >> 32) != number &&
               looks < kMostLooks && gave_up == 0);
      if (looks == kMostLooks) gave_up = 1;
      if constexpr (kFlag == Flag::apart) seen = read(mine);
      if (seen >> 32 != number) gave_up = 1;
      word = static_cast<std::uint32_t>(seen);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      if (lane == 0) {
        // A step is one message. The block of rank 0 sends first.
#pragma unroll 1
        for (int i = 0; i < steps; i += kCopies) {
          const auto number = static_cast<std::uint32_t>(i) + 1;
          if (rank == 0) {
            send(number);
            receive(number + 1);
          } else {
            receive(number);
            send(number + 1);
          }
        }
      }
      __syncwarp();
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      if (lane == 0) static_cast<MessageResult*>(args.d)[at.slot] = {word, gave_up};
      device::cluster_wait();  // the other block may still be written to
      return false;
    }
  };
};

#endif

namespace {

constexpr int kCopies = 2;  // a message there, a message back
constexpr AxisSpec kFlagAxis = word_axis("flag", "word,apart", "[word,apart]", "[word,apart]",
                                         "of a message: the word itself, or a word released after it");

/// The word of the last of so many messages.
std::uint32_t last_word(int steps) {
  std::uint32_t word = 1;
  for (int step = 0; step < steps; ++step) word = next_word(word);
  return word;
}

template <Through kThrough>
Benchmark messages(const char* name, int place) {
  Benchmark benchmark = {
      .name = name,
      .family = "Messages between multiprocessors",
      .place = place,
      .axes = {kScopeAxis, kWarpsAxis, kFlagAxis},
      .sass = {{"LDG", "LD", "LDS"}, 0.5},  // a block receives every other message
      .exists = one_warp,
      .work = [](const Point&) { return Work{.bytes = 8}; },
      .why_not = hopper_has("clusters need"),
      .kernel =
          [](const Point& point) {
            return point.axis("flag") == "apart" ? timed_kernel<Message<kThrough, Flag::apart>, 1, kCopies>()
                                                 : timed_kernel<Message<kThrough, Flag::word>, 1, kCopies>();
          },
      .setup = [](const Point&, Workbench*) -> Setup {
        return {.shared_bytes = kInboxBytes,
                .slot_bytes = sizeof(MessageResult),
                .placement = {.cluster = 2},
                .memory_bytes = 2 * kInboxBytes,
                // Each block ends with the word of the last message, as sender or as receiver.
                .check = each_result<MessageResult>([](const MessageResult& found, std::size_t, int steps) {
                  return found.word == last_word(steps) && found.gave_up == 0;
                }),
                .observe = [](std::span<const Stamp> stamps, const ReadResult&, int, Measurement& out) {
                  out.others[tag::kDistinct] = distinct_multiprocessors(stamps);
                }};
      }};
  if (kThrough == Through::global) benchmark.published = {"Luo 7"};
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_message() {
  return {messages<Through::global>("message.global", 252),
          messages<Through::cluster>("message.shared::cluster", 253)};
}

}  // namespace mmaudit::sweeps
