#pragma once
// What a library chooses for the layers of networks, recorded for every M and checked.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/corpus/decision_file.hpp"
#include "mmaudit/corpus/network_layers.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// A function of torch and how it asks the library.
struct GemmInterface {
  std::string_view name;
  GemmApi api;
  std::uint64_t workspace;  ///< bytes
  bool bias = false, fast_accum = false, fp8 = false;
};
/// Source: the library's log (CUBLASLT_LOG_LEVEL=5) of torch 2.11.0+cu130 on an H200. mm asks cublasGemmEx;
/// addmm with a bias of one dimension asks cuBLASLt, as _scaled_mm does, with a workspace of its own.
inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
inline constexpr GemmInterface kGemmInterfaces[] = {
    {"mm", GemmApi::cublas, 32 * kMebibyte},
    {"addmm", GemmApi::cublaslt, kMebibyte, true},
    {"scaled_mm", GemmApi::cublaslt, kMebibyte, false, false, true},
    {"scaled_mm-fast", GemmApi::cublaslt, kMebibyte, false, true, true}};
/// What torch.nn.functional.linear calls: mm, or addmm where the layer has a bias. Of FP8 torch._scaled_mm.
const GemmInterface& interface_of(const corpus::NetworkLayer& layer, Format type, bool fast_accum);

/// What: the product of a layer as torch asks for it, without its M. Returns: nullopt where torch does not:
/// FP8 takes W as (n, k), with multiples of 16.
std::optional<GemmProblem> layer_problem(const corpus::NetworkLayer& layer, const GemmInterface& interface,
                                         Format type);

/// Layers of one api, so that a recorder can set it up.
struct DecisionPass {
  std::string name;
  GemmApi api = GemmApi::cublaslt;
  std::vector<GemmProblem> layers;
};
/// What: each layer once, the most used first: bf16 as torch.nn.functional.linear calls it and FP8, of the
/// first networks, then of all; f16; the other interface.
std::vector<DecisionPass> decision_passes(const std::vector<corpus::KnownNetwork>& networks);

/// How many of these layers a file has.
std::size_t recorded_of(const corpus::DecisionFile& file, const std::vector<GemmProblem>& layers);
/// "1225 of 1252 layers for M = 1 to 8192, 163 others, 6759 choices; 27 are left": others are in no pass.
std::string recorded_in_words(const corpus::DecisionFile& file, const std::vector<DecisionPass>& passes);

/// What a library would do; called by one thread.
using Decide = std::function<LibraryCall(const GemmProblem&)>;
struct RecordDecisions {
  std::function<Decide()> begin;                       ///< a session of one thread
  std::function<bool()> stopped;                       ///< asked for every M: what was begun is dropped
  std::function<void(const std::string& lines)> keep;  ///< lines to append to the file, one call at a time
  unsigned threads = 0;                                ///< 0: one per core
};
/// What: asks for every M of the file's range and adds the layers that the file lacks. Returns: their number.
/// Errors: what `begin` and its function throw.
std::size_t record_decisions(corpus::DecisionFile& file, const std::vector<GemmProblem>& layers,
                             const RecordDecisions& run);

struct DecisionCheck {
  std::uint64_t asked = 0, same = 0;
  std::vector<std::string> other;  ///< the first of the products whose choice is another now
};
/// What: asks again for `count` random products of the file, half with M uniform over its range, half over
/// its logarithm. Only those of `api`.
DecisionCheck check_decisions(const corpus::DecisionFile& file, GemmApi api, std::uint64_t count,
                              std::uint64_t seed, const RecordDecisions& run);

/// The plan of a choice on the GPU of the file; nullopt, and in `why` (may be null) what is not known.
std::optional<GemmPlan> plan_of_choice(const corpus::DecisionFile& file, const GemmProblem& problem,
                                       const LibraryCall& choice, std::string* why);
/// "recorded", or "nearest, a guess: N 4096 K 4096".
std::string source_of(const corpus::Decided& decided);

/// A plan that a file of decisions says, and how it is known.
struct DecidedPlan {
  std::optional<GemmPlan> plan;
  std::string why;     ///< there is no plan
  std::string source;  ///< of source_of(); empty where nothing is known
  LibraryCall call;
};
/// The plan of a product on the GPU of the file.
DecidedPlan plan_decided(const corpus::DecisionFile& file, const GemmProblem& problem);

/// Whether both are the same but for the grid, the workspace and the order of attributes, which depend on M.
bool same_choice(const LibraryCall& a, const LibraryCall& b);

}  // namespace mmaudit::checks
