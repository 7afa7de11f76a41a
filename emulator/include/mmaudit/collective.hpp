#pragma once
// Sums over the ranks of a group, all-reduce and reduce-scatter: in which order the values of an element are
// added, as data with evidence, and the bits that follow.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/model/datapath.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit {

enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter };
enum class CollectiveOperation : std::uint8_t { sum, average };
enum class CollectiveAlgorithm : std::uint8_t { ring, tree };
enum class CollectiveProtocol : std::uint8_t { simple, ll, ll128 };
namespace names {
inline constexpr std::string_view kCollectiveKind[] = {"all-reduce", "reduce-scatter"};
inline constexpr std::string_view kCollectiveOperation[] = {"sum", "average"};
inline constexpr std::string_view kCollectiveAlgorithm[] = {"ring", "tree"};
inline constexpr std::string_view kCollectiveProtocol[] = {"simple", "ll", "ll128"};
}  // namespace names

/// What a library does to the values, and how it deals the elements to channels. All: every add is rounded
/// once, to nearest even, to the type itself.
struct CollectiveLibrary {
  std::string_view name;
  Evidence evidence;
  std::string_view source;
  bool gpu = true;  ///< any NaN is the GPU's; else an x86 processor's, which keeps bits of the operands
  /// An average: a rank multiplies its value by 1 / ranks, which is rounded to the type, as it sends it on,
  /// and by an fma as it adds it to what it received; else the sum is divided by the ranks. Recorded: two
  /// H200.
  bool multiplied = true;
  std::uint64_t first_version = 0, last_version = 0;  ///< 100 * major + minor; 0: no versions
  std::uint64_t least_traffic = 0;                    ///< bytes that make a channel worth while
  bool least_per_channel = false;  ///< no channel gets less; else its share is rounded up to 16 bytes
};
inline constexpr std::string_view kNcclSource =
    "NVIDIA/nccl: src/enqueue.cc (scheduleCollTasksToPlan, topoGetAlgoInfo, calcCollChunking, "
    "hostToDevRedOp), src/init.cc, src/include/device.h, src/device/all_reduce.h, reduce_scatter.h, "
    "reduce_kernel.h; tags v2.27.7-1, v2.28.9-1, v2.29.7-1, v2.30.7-1";
inline constexpr CollectiveLibrary kCollectiveLibraries[] = {
    {"nccl-2.29", Evidence::literature, kNcclSource, true, true, 229, 230, 32 << 10, false},
    {"nccl-2.27", Evidence::literature, kNcclSource, true, true, 227, 228, 16 << 10, true},
    {"gloo", Evidence::literature,
     "pytorch/gloo 70dc3602: gloo/allreduce.cc (ring); torch 2.13: ProcessGroupGlooDetail.hpp. Compared bit "
     "for bit on a CPU: docs/collectives.md",
     false, false}};

struct CollectiveProblem {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveOperation operation = CollectiveOperation::sum;
  Format type = Format::f32;  ///< f32, f16, bf16
  std::uint64_t ranks = 2;    ///< 2 to 256
  std::uint64_t count = 0;    ///< elements of one rank's input
};

/// A rank's parent, -1 of the root, and children, -1 where there is none.
struct CollectiveTree {
  std::vector<int> up;
  std::vector<std::array<int, 3>> down;
};
/// The tree in which each of `ranks` is the child of the one before it.
CollectiveTree chain_of(const std::vector<int>& ranks);

/// What NCCL chooses by the topology, so the user has to say it. Gloo has no choices.
struct CollectiveChoice {
  std::string library = "nccl-2.29";
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  std::uint64_t channels = 1;           ///< of the communicator
  std::vector<std::vector<int>> rings;  ///< of the first channels, and again from the first; none: 0 1 2 ...
  std::vector<CollectiveTree> trees;    ///< likewise; none: chains, with the first of a ring as root
  std::uint64_t buffer = 0;   ///< bytes: NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE; 0: as usual
  std::uint64_t threads = 0;  ///< NCCL_NTHREADS, NCCL_LL128_NTHREADS; 0: 512, of LL128 640
};

/// value(into) = value(into) + value(from).
struct CollectiveJoin {
  int into = 0, from = 0;
  bool operator==(const CollectiveJoin&) const = default;
};
/// In turn; the last one's `into` has the sum.
using CollectiveOrder = std::vector<CollectiveJoin>;
/// "((3 + 2) + 1) + 0": ranks.
std::string text_of(const CollectiveOrder& order);

/// Elements [first, first + count) of the input are summed in this order.
struct CollectivePiece {
  std::uint64_t first = 0, count = 0;
  std::uint32_t order = 0;
};
struct CollectivePlan {
  const CollectiveLibrary* library = nullptr;
  std::vector<CollectiveOrder> orders;
  std::vector<CollectivePiece> pieces;  ///< ascending, without gaps
  std::uint64_t channels = 1;           ///< that have elements
};
/// "ring simple, 4 channels, 16 pieces, 4 orders: ((1 + 2) + 3) + 0, ...".
std::string text_of(const CollectivePlan& plan);

/// Why there is no plan, as "field: found X, allowed: Y"; empty where there is one.
std::string why_no_collective(const CollectiveProblem& problem, const CollectiveChoice& choice);
/// What: the plan of a call that is alone in its group. Errors: none where why_no_collective() is empty.
/// Source: the library's row.
CollectivePlan collective_plan(const CollectiveProblem& problem, const CollectiveChoice& choice);

/// What: y, `count` elements: of an all-reduce what every rank gets, of a reduce-scatter the results of ranks
/// 0, 1, ... one behind the other. Shapes: x (ranks, count), y (count). Range and rounding: any bits; one
/// rounding to nearest even per add, fma, product and quotient. Errors: none.
void run_collective(const CollectiveProblem& problem, const CollectivePlan& plan, const void* x, void* y);

/// What the lines of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING of all ranks say.
struct CollectiveLog {
  struct Call {
    CollectiveKind kind;
    std::uint64_t bytes;  ///< of an all-reduce one rank's input, of a reduce-scatter one rank's result
    std::string algorithm, protocol;
    std::uint64_t first = 0, last = 0;  ///< channels
  };
  std::uint64_t version = 0, channels = 0;
  std::vector<std::vector<int>> rings;
  std::vector<CollectiveTree> trees;
  std::vector<Call> calls;
  bool several = false;  ///< lines that no one communicator has: two rings of a channel, two versions
};
CollectiveLog collective_log_of(std::string_view text);
/// What: rings, trees, channels, library, and by the call of this size algorithm and protocol. Returns: why
/// the log does not say them, as a refusal; empty where `choice` has them.
std::string take_log(const CollectiveLog& log, const CollectiveProblem& problem, CollectiveChoice& choice);

/// A call as people say it; empty words are left as they are. rings: "0 1 2 3; 0 3 2 1"; log: take_log()'s.
struct CollectiveWords {
  std::string_view kind, operation, library, algorithm, protocol, rings, log;
};
/// What: the words, the log last. Returns: why they, or all of it, can't be, as a refusal; else empty.
std::string take_words(const CollectiveWords& words, CollectiveProblem& problem, CollectiveChoice& choice);

}  // namespace mmaudit
