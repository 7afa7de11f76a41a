#pragma once
// Does a library compute what it is asked for? Products whose every element is known, by every algorithm.
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/device/exact_run.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// Runs a product with these words. Errors: EnvironmentError where the library has no such algorithm, or
/// can't be started so.
using ExactRunner = std::function<device::ExactAnswer(const GemmProblem&, const exact::Product&,
                                                      const exact::Words&, const device::ExactAsk&)>;

struct GemmFault {
  GemmProblem problem;
  LibraryCall call;
  exact::Finding finding;
  std::optional<std::uint64_t> right = {};      ///< the first algorithm of the list that is right
  double first_seconds = 0, right_seconds = 0;  ///< of the list's first algorithm; of the right one
  std::string condition = {};             ///< over shapes round this one, with the same place in the list
  std::uint64_t trials = 0, failing = 0;  ///< of those shapes; 0: not searched, its kind has been
};

struct GemmTypeCount {
  std::uint64_t products = 0, calls = 0, runs = 0, wrong_products = 0, wrong_calls = 0, refused = 0,
                refused_calls = 0, elements = 0;  ///< refused calls: by an algorithm that was offered
};

struct GemmCheck {
  std::vector<GemmFault> faults = {};
  std::map<std::string, GemmTypeCount> types = {};
  std::uint64_t launches[std::size(device::names::kLaunchKind)] = {};  ///< products that were judged, by how
  /// Those that could not be started so, and ran alone: how many, and why the first one couldn't.
  std::pair<std::uint64_t, std::string> not_started[std::size(device::names::kLaunchKind)] = {};
  double product_seconds = 0;  ///< of these products alone
  std::uint64_t repeat = 2, seed = 1;
  std::string library = {}, gpu = {}, why_refused = {};
  double seconds = 0;
};

struct GemmCheckRun {
  /// One per GPU, each called once, by the thread that uses what it returns.
  std::vector<std::function<ExactRunner()>> runners;
  std::function<std::optional<GemmProblem>()> next;  ///< nothing: no more; one call at a time
  std::function<bool()> stopped;                     ///< asked before each call, by every thread
  std::uint64_t repeat = 2, seed = 1, algorithms = 8;
};

/// The product with factors that are powers of two, so that D is exact: alpha -2 where it is not 1 (-1/8
/// beside scales of 2 and 4), beta 2 where it is not 0, relu for gelu.
GemmProblem made_exact(GemmProblem problem);
exact::Product exact_product_of(const GemmProblem& problem);
/// What: every product by each algorithm of the heuristic's list, on any number of GPUs. After the first
/// fault of a kind shapes round it are run, for the condition. Errors: EnvironmentError where a GPU fails.
GemmCheck check_gemms(const GemmCheckRun& run);
/// Passed where every product is right, and there is one. The check has to outlive it.
report::Report report_of(const GemmCheck& check);
/// A fault as a program of its own: ".py" of torch where torch can ask for it, ".cu" of cublasLt; by suffix.
/// Only of faults in K, alpha and beta; empty without one.
std::map<std::string, std::string> reproducers_of(const GemmFault& fault, const std::string& library);

}  // namespace mmaudit::checks
