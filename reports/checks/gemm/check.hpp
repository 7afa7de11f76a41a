#pragma once
// Does a library compute what it is asked for? Products whose every element is known, by every algorithm.
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/device/exact_run.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// Runs a product with these words. Errors: EnvironmentError where the library has no such algorithm, or
/// can't be started so.
using ExactRunner = std::function<device::ExactAnswer(const GemmProblem&, const exact::Product&,
                                                      const exact::Words&, const device::ExactAsk&)>;

/// A plain product with elements of K that are missing or doubled.
struct Plain {
  GemmProblem problem;
  std::vector<exact::KRange> wrong_k;
};

struct GemmFault {
  GemmProblem problem;
  LibraryCall call;
  exact::Finding finding;
  std::optional<std::uint64_t> right = {};      ///< the first algorithm of the list that is right
  double found_seconds = 0;                     ///< since the check began
  double first_seconds = 0, right_seconds = 0;  ///< of the list's first algorithm; of the right one
  std::string condition = {};             ///< over shapes round this one, with the same place in the list
  std::uint64_t trials = 0, failing = 0;  ///< of those shapes; 0: not searched, its kind has been
  /// A fault in K of the plain product, without epilogue, that a program shows: by an algorithm of cuBLASLt's
  /// list, and by the call that torch.mm makes.
  std::optional<Plain> library = {}, torch = {};
  std::uint64_t torch_calls = 0;  ///< of torch's that were tried
};

struct GemmTypeCount {
  std::uint64_t products = 0, calls = 0, runs = 0, wrong_products = 0, wrong_calls = 0, refused = 0,
                refused_calls = 0, elements = 0;       ///< refused calls: by an algorithm that was offered
  std::map<std::string, std::uint64_t> calls_by = {};  ///< place_of()
  double seconds = 0, product_seconds = 0;             ///< of making, running and judging; of the runs alone
};

inline constexpr std::size_t kLaunches = std::size(device::names::kLaunchKind);

struct GemmCheck {
  std::vector<GemmFault> faults = {};
  std::map<std::string, GemmTypeCount> types = {};
  std::array<std::uint64_t, kLaunches> launches = {};  ///< products that were judged, by how
  /// Those that could not be started so, and ran alone: how many, and why the first one couldn't.
  std::array<std::pair<std::uint64_t, std::string>, kLaunches> not_started = {};
  double product_seconds = 0;  ///< of these products alone
  std::uint64_t repeat = 2, seed = 1;
  std::string library = {}, gpu = {}, why_refused = {};
  double seconds = 0;
  std::uint64_t taken = 0;  ///< products of the list or of the random ones, with the skipped ones
  bool reproduced = false;  ///< plain products were looked for
  bool stopped = false;     ///< by Ctrl-C: the same call goes on
  Json asked = {};          ///< what the call was asked, so that the same one is known
};

struct GemmCheckRun {
  /// One per GPU, each called once, by the thread that uses what it returns.
  std::vector<std::function<ExactRunner()>> runners;
  std::function<std::optional<GemmProblem>()> next;  ///< nothing: no more; one call at a time
  std::function<bool()> stopped;                     ///< asked before each call, by every thread
  std::uint64_t repeat = 2, seed = 1, algorithms = 8;
  bool reproduce = false;  ///< look for a plain product of each kind of fault
  GemmCheck before = {};   ///< of the call that was stopped
};

/// split_k of the algorithm; 0: not known.
std::uint64_t slices_of(const LibraryCall& call);
/// Runs shapes round the fault, for its condition, and with `reproduce` plain products that show it.
void explore_fault(const GemmCheckRun& how, const ExactRunner& run, GemmFault& fault);
/// A fault without its numbers, so that like ones are one kind.
std::string kind_of(const GemmFault& fault);
/// "cublaslt 3": the library's call and the place in its list; "cublas" has none.
std::string place_of(const GemmProblem& problem);
/// "e4m3-fast".
std::string type_of(const GemmProblem& problem);

/// The product with factors that are powers of two, so that D is exact: alpha -2 where it is not 1 (-1/8
/// beside scales of 2 and 4), beta 2 where it is not 0, relu for gelu.
GemmProblem made_exact(GemmProblem problem);
exact::Product exact_product_of(const GemmProblem& problem);
/// What: every product by each algorithm of the heuristic's list, on any number of GPUs. After the first
/// fault of a kind shapes round it are run, for the condition. Errors: EnvironmentError where a GPU fails.
GemmCheck check_gemms(const GemmCheckRun& run);
std::string to_json(const GemmCheck& check);
/// Errors: InputError "<file>: ..." for anything else than what to_json() writes.
GemmCheck gemm_check_of_json(std::string_view text, const std::string& file);
/// Passed where every product is right, and there is one. The check has to outlive it.
report::Report report_of(const GemmCheck& check);
/// A fault as a program of its own: ".py" of torch where torch can ask for it, ".cu" of cublasLt; by suffix.
/// Of `fault.library` and `fault.torch`; empty without them.
std::map<std::string, std::string> reproducers_of(const GemmFault& fault, const std::string& library);

/// A kind of fault of one type and algorithm in two checks.
struct GemmCheckChange {
  enum class Kind : std::uint8_t { kept, added, gone, unseen } kind = Kind::kept;
  std::string type, place, fault;
  std::uint64_t old_wrong = 0, old_calls = 0, new_wrong = 0, new_calls = 0;
};
struct GemmCheckDiff {
  std::vector<GemmCheckChange> changes;
  std::vector<std::string> provenance;
  std::uint64_t calls = 0;  ///< of NEW
};
/// What another library changed: `unseen` is a fault that one of the two has and of which the other made too
/// few calls to miss it. Where both had the same products and algorithms, none is.
GemmCheckDiff diff_gemm_checks(const GemmCheck& before, const GemmCheck& after);
/// Bad where a fault is new or gone.
report::Report report_of(const GemmCheckDiff& diff);

}  // namespace mmaudit::checks
