#pragma once
// What a library returns against what its plan predicts.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gemm/samples.hpp"
#include "mmaudit/device/library.hpp"
#include "mmaudit/gemm_problem.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// The operands of a whole product, from a seed: as the model takes them and as the library stores them.
struct GemmInputs {
  std::vector<std::byte> a, b;     ///< (m, k), (k, n); of a batch one behind the other, or one for all
  std::vector<std::byte> c, bias;  ///< (batch, m, n), (n); empty where the problem reads none
  std::vector<std::byte> stored_a, stored_b;  ///< with layouts, gaps and offsets; empty: as a, as b
  [[nodiscard]] GemmBuffers operands() const { return {a.data(), b.data(), c.data(), bias.data()}; }
  [[nodiscard]] const void* library_a() const { return stored_a.empty() ? a.data() : stored_a.data(); }
  [[nodiscard]] const void* library_b() const { return stored_b.empty() ? b.data() : stored_b.data(); }
};
GemmInputs inputs_of(const GemmProblem& problem, std::uint64_t seed);
/// Of operands that are known: A (m, k) and B (k, n), row-major without gaps.
GemmInputs inputs_of(const GemmProblem& problem, std::vector<std::byte> a, std::vector<std::byte> b);

/// What: D, (batch, m, n) in storage width, by the plan on an architecture. `operands`: those of the whole
/// batch, row-major without gaps; C and the bias are read where the problem has them. `on_gpu`: the model
/// runs on this GPU where it can; null: on the CPU. Errors: InputError where the model can't.
std::vector<std::byte> predicted(const Architecture& architecture, const GemmProblem& problem,
                                 const GemmPlan& plan, const GemmBuffers& operands,
                                 const device::DeviceInfo* on_gpu);

struct GemmOutcome {
  GemmProblem problem;
  LibraryCall call;
  std::optional<GemmPlan> plan;
  std::string why;     ///< no plan, or the library refused
  std::string source;  ///< of a recorded decision: DecidedPlan's; empty where the library ran
  bool ran = false;
  std::uint64_t elements = 0, wrong = 0;
  std::uint64_t matrix = 0, row = 0, column = 0, expected = 0, found = 0;  ///< of the first wrong element
};

/// What: counts the elements of D that differ into `out`, whose problem is set, and keeps the first. Shapes:
/// both (batch, m, n) in storage width. Errors: InputError where one has another size.
void compare_elements(const std::vector<std::byte>& found, const std::vector<std::byte>& expected,
                      GemmOutcome& out);

/// Both D's of a product; the predicted one is empty without a plan.
struct GemmResults {
  std::vector<std::byte> library, predicted;
};
/// What: runs the product, `bits`: and compares every element, else only finds its plan. With the plans and
/// the datapaths of the GPU's architecture. EnvironmentError where the model lacks it.
GemmOutcome compare_problem(device::LibrarySession& session, const device::DeviceInfo& gpu,
                            const GemmProblem& problem, const GemmInputs& inputs, bool bits,
                            GemmResults& results);

/// Many comparisons, one after another, of which nothing may be lost.
struct CompareRun {
  std::size_t count = 0;
  std::function<GemmOutcome(std::size_t)> compare;
  std::function<bool()> stopped;                              ///< asked before each
  std::function<void(const std::vector<GemmOutcome>&)> keep;  ///< takes what there is so far
  double keep_seconds = 10;  ///< at most this long between two calls of keep, but for one comparison
};
/// What: the outcomes in order, until it is stopped. Errors: what compare throws, after one more keep.
std::vector<GemmOutcome> compare_all(const CompareRun& run);

/// `count` problems of each of the names "f16", "bf16", "tf32", "f32", "e4m3", "e4m3-fast", "e5m2-fast",
/// "s8", "f64": tiny to 8192, K from 16 to 65536, powers of two, skinny, odd, unaligned, of language models,
/// all layouts, both APIs.
struct RandomForms {
  bool batches = false;    ///< each a batch of up to 64, with smaller matrices
  bool deep = false;       ///< M and N to 512, K to 65,536; or M and N to 64, K to 400,000
  bool epilogues = false;  ///< alpha, beta, scales of FP8, bias and activation are drawn too
};
std::vector<GemmProblem> random_problems(std::uint64_t seed, std::uint64_t count,
                                         const std::vector<std::string>& types, RandomForms forms = {});

/// What: whether plans hold for a version of cuBLASLt ("130100"). Returns: empty where it was recorded, where
/// `library` is empty, and where `compared`, a file of `gemm compare --json` or empty, compared every element
/// of known plans with this version and found none wrong; else "unproven for this version (...)". Source: the
/// families' rows. Errors: InputError for another file.
std::string why_unproven(const std::string& library, const std::string& compared = {});

/// A run of many products.
struct GemmComparison {
  std::vector<GemmOutcome> outcomes;  ///< so far
  std::size_t asked = 0;              ///< problems of the whole run; with fewer outcomes it is incomplete
  std::uint64_t seed = 1;
  bool bits = true;      ///< elements are compared; false: only which plan a problem takes, nothing is judged
  bool verbose = false;  ///< every product on a terminal, not those alone that differ
  std::string library = {}, gpu = {};
  bool decided = false;       ///< nothing ran: plans of recorded decisions
  std::string unproven = {};  ///< of why_unproven(); said unless this run is the proof
};
/// Passed where every element of every known plan is right, and there is one. The run has to outlive it.
report::Report report_of(const GemmComparison& run);
/// The rows that plans come from, and how each is known.
report::Report families_report();

}  // namespace mmaudit::checks
