#pragma once
// A product as a library is asked for it, what the library chose, and the plan that follows from the choice.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/gemm_plan.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

enum class GemmApi : std::uint8_t { cublaslt, cublas };
/// What cuBLASLt does to an element last.
enum class GemmActivation : std::uint8_t { none, relu, gelu };

/// What a stride is where matrices of a batch stand one behind the other, without a gap.
inline constexpr std::uint64_t kTightStride = ~std::uint64_t{0};

/// D (m, n) = A (m, k) B (k, n), all row-major, as torch.mm has them; the library, which is column-major, is
/// asked for the transposes. With more than a product: D = activation(alpha * scale_a * scale_b * A B + beta
/// * C + bias), C (m, n) in D's format, bias (n), which is one number per column.
struct GemmProblem {
  GemmApi api = GemmApi::cublaslt;
  Format type = Format::f16;  ///< of A and B: f16, bf16, e4m3, e5m2 (with a B of e4m3), s8, f32, tf32
                              ///< (binary32 in memory), f64
  Format d = Format::none;    ///< none: of the type; of tf32 f32, of FP8 bf16, of s8 s32
  std::uint64_t m = 0, n = 0, k = 0;
  bool transposed_a = false;                ///< A is stored as (k, m)
  bool transposed_b = false;                ///< B is stored as (n, k)
  std::uint64_t lda = 0, ldb = 0, ldd = 0;  ///< elements from one stored row to the next; 0: no gap
  std::uint64_t offset_a = 0, offset_b = 0, offset_d = 0;  ///< elements in front, which spoil the alignment
  std::uint64_t batch = 1;  ///< products of these sizes; A, B, C and D are as many matrices
  /// Elements from one matrix of a batch to the next; of A and B 0: one matrix for the whole batch.
  std::uint64_t stride_a = kTightStride, stride_b = kTightStride, stride_d = kTightStride;
  bool fast_accum = false;        ///< FP8: sums stay in the tensor core
  bool reduced_reduction = true;  ///< cublas: sums of slices may be kept in D's type, torch's default
  std::uint64_t workspace = std::uint64_t{32} << 20;  ///< bytes
  std::uint64_t algorithm = 0;     ///< cublaslt: which of the heuristic's, from the best one on
  double alpha = 1, beta = 0;      ///< binary32 but with f64; of s8 1 and 0; C is not read where beta is 0
  float scale_a = 1, scale_b = 1;  ///< FP8: of all of A and of all of B
  bool bias = false;               ///< cublaslt
  GemmActivation activation = GemmActivation::none;  ///< cublaslt

  bool operator==(const GemmProblem&) const = default;
};

namespace names {
inline constexpr std::string_view kGemmApi[] = {"cublaslt", "cublas"};
inline constexpr std::string_view kGemmActivation[] = {"none", "relu", "gelu"};
inline constexpr std::string_view kLayout[] = {"nn", "nt", "tn", "tt"};
}  // namespace names

/// The formats of 8 bits that libraries multiply.
constexpr bool is_fp8(Format type) { return type == Format::e4m3 || type == Format::e5m2; }

Format output_of(const GemmProblem& problem);
Format b_type_of(const GemmProblem& problem);
/// Of the bias: D's, and bf16 where FP8 gives a D of f32 or of FP8.
Format bias_type_of(const GemmProblem& problem);
/// Whether D is more than the product.
bool has_epilogue(const GemmProblem& problem);
/// "nn", "nt", "tn" or "tt": A, then B.
std::string_view layout_of(const GemmProblem& problem);
/// "cublaslt bf16 -> bf16 nt 64 x 64 x 16384", with what is not the default behind it.
std::string name_of(const GemmProblem& problem);
/// As "field: found X, allowed: Y"; empty when a library may be asked.
std::string why_no_problem(const GemmProblem& problem);
/// Elements that A, B and D take in memory, offsets, gaps and batch included; nullopt beyond 2^63 of them.
struct GemmExtents {
  std::uint64_t a = 0, b = 0, d = 0;
};
std::optional<GemmExtents> extents_of(const GemmProblem& problem);
/// Elements from one matrix of a batch to the next, as the library is told; 0 without a batch.
struct GemmStrides {
  std::uint64_t a = 0, b = 0, d = 0;
};
GemmStrides strides_of(const GemmProblem& problem);
/// Matrices of A and of B that a batch has: 1 where all products share one.
std::uint64_t matrices_of_a(const GemmProblem& problem);
std::uint64_t matrices_of_b(const GemmProblem& problem);

struct KernelLaunch {
  std::string name;                                            ///< mangled or not
  std::uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};  ///< cluster 0: none

  bool operator==(const KernelLaunch&) const = default;
};

/// What a library did for one problem.
struct LibraryCall {
  /// Of the algorithm: "id", "tile", "stages", "split_k", "reduction", "swizzle", "custom", "inner_shape",
  /// "cluster", "workspace", "flags"; numbers as in cublasLt.h. What the library lacks is left out.
  std::vector<std::pair<std::string, std::int64_t>> algorithm;
  std::vector<KernelLaunch> kernels;  ///< in the order of their launches

  bool operator==(const LibraryCall&) const = default;
};
std::optional<std::int64_t> attribute_of(const LibraryCall& call, std::string_view name);

/// Kernels whose names have all `parts` and what is known of them.
struct KernelFamily {
  /// Which slices there are, and where they begin.
  enum class Cut : std::uint8_t {
    none,      ///< one slice
    tiles,     ///< split_k slices of whole tiles; the kernel's name says a tile's K
    lines,     ///< split_k slices cut at 128 bytes of K where that divides K and an operand is contiguous
               ///< along K, else at 16
    dealt,     ///< split_k slices, tile t to slice t % split_k
    segments,  ///< as many per tile of D as the grid has room for
    lanes,     ///< `lanes` threads, lane_tile elements each in turn
    pieces,    ///< `lanes` contiguous pieces
    rows,      ///< as many threads as the block has rows: 64 elements each in turn, 1 where the option is odd
    columns    ///< the same with the columns of the block
  };
  std::string_view name = {};
  std::string_view parts[3] = {};     ///< of the first kernel's name; empty ones are not asked for
  std::string_view types = {};        ///< formats of A that it serves, with blanks between
  std::string_view instruction = {};  ///< "{}" stands for the format of A, then of B; empty: scalar
  Cut cut = Cut::none;
  bool head = false;  ///< the rest of a slice comes first
  std::uint64_t promote = 0;
  std::uint64_t lanes = 1, lane_tile = 1;
  SliceOrder lane_order = SliceOrder::ascending;
  std::uint64_t most_k = 0;  ///< 0: any; else the largest K for which it is known
  /// How it is known: the recording of samples that CI replays.
  std::string_view source = "H200, cuBLAS 13.1.0.3: corpus/plans/h200-cublas-13.1.jsonl";
  /// Those of the types that have no sample there, so that CI can't replay their plan.
  std::string_view unsampled = {};
  /// Where it was recorded, with blanks between; empty: exact sums, which are the same wherever the
  /// instruction is.
  std::string_view architectures = "hopper";
  /// What else than the product was recorded of kernels that write D themselves, with blanks between: alpha,
  /// beta, bias, relu, scale.
  std::string_view epilogues = {};
  /// A kernel that writes D itself adds C as +0 where beta is 0 (EpilogueRule::fused_always).
  bool zero_c = false;
  /// Of the types, those with recorded products whose slices end before K does (SliceRule::truncated). Such a
  /// product of another type has no plan. Only for Cut::tiles.
  std::string_view truncated = {};
};
std::span<const KernelFamily> kernel_families();
/// The first row that serves a product of this type and K by this kernel; null: there is none.
const KernelFamily* find_kernel_family(const GemmProblem& problem, std::string_view kernel);

/// What: the plan of a product whose library call, on a GPU of `architecture`, is known. Returns: nullopt
/// where no family says how the kernels sum there; `why` (may be null) then says in one line what is not
/// known. Source: the families' rows.
std::optional<GemmPlan> plan_of(const GemmProblem& problem, const LibraryCall& call,
                                std::string* why = nullptr,
                                const Architecture& architecture = *find_architecture(kDefaultArchitecture));

}  // namespace mmaudit
