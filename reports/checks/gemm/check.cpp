#include "gemm/check.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "gemm/compare.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

constexpr int kTimed = 20;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds_of(const GemmCheckRun& how, const ExactRunner& run, GemmProblem x, std::uint64_t algorithm) {
  x.algorithm = algorithm;
  const exact::Product product = exact_product_of(x);
  return run(x, product, exact::rounds_of(product, how.seed).back(), {.timed = kTimed}).seconds;
}

/// The runs of one algorithm: how they were started, and which of them were wrong.
class Launches {
 public:
  Launches(const ExactRunner& run, GemmCheck& totals, std::uint64_t number)
      : run_(run), totals_(totals), number_(number) {}

  /// One run of four is started otherwise than alone, in turn; which way comes first depends on the number.
  exact::Verdict judged(const GemmProblem& x, const exact::Product& product, const exact::Words& words) {
    using device::LaunchKind;
    constexpr LaunchKind kOthers[] = {LaunchKind::beside, LaunchKind::graph, LaunchKind::grouped};
    const std::size_t others = x.api == GemmApi::cublas ? std::size(kOthers) : 2;
    constexpr std::size_t kTurns = 4;
    LaunchKind kind = only_                 ? *only_
                      : turn_ % kTurns != 1 ? LaunchKind::plain
                                            : kOthers[(turn_ / kTurns + number_) % others];
    ++turn_;
    device::ExactAnswer answer;
    try {
      answer = run_(x, product, words, {.launch = kind});
    } catch (const EnvironmentError& error) {
      if (kind == LaunchKind::plain) throw;
      auto& [times, why] = totals_.not_started[static_cast<std::size_t>(kind)];
      if (times++ == 0) why = error.what();
      kind = LaunchKind::plain;  // a library need not be able to be captured
      answer = run_(x, product, words, {});
    }
    const auto at = static_cast<std::size_t>(kind);
    ++totals_.launches[at], ++runs_[at];
    totals_.product_seconds += answer.product_seconds;
    if (answer.verdict.wrong != 0 || answer.verdict.outside) ++wrong_[at], failing_ = kind;
    call_ = std::move(answer.call);
    return answer.verdict;
  }
  /// Of a product that failed: started as it was then.
  exact::Run multiplied(const GemmProblem& x, const exact::Product& product, const exact::Words& words) {
    return run_(x, product, words, {.with_d = true, .launch = failing_}).run;
  }
  [[nodiscard]] const LibraryCall& call() const { return call_; }
  /// From now on as the one that failed.
  void keep_failing() { only_ = failing_; }
  /// How it was started where it was wrong, if it is right alone; empty: it is wrong alone, too.
  [[nodiscard]] std::string told() const {
    if (wrong_[0] != 0 || runs_[0] == 0) return {};
    std::string out;
    for (std::size_t i = 1; i < std::size(wrong_); ++i)
      if (wrong_[i] != 0)
        out += (out.empty() ? "right alone, wrong " : ", ") + std::string(device::names::kLaunchKind[i]);
    return out;
  }

 private:
  const ExactRunner& run_;
  GemmCheck& totals_;
  std::uint64_t number_, turn_ = 0;
  std::array<std::uint64_t, kLaunches> runs_ = {}, wrong_ = {};
  device::LaunchKind failing_ = device::LaunchKind::plain;
  std::optional<device::LaunchKind> only_;
  LibraryCall call_;
};

}  // namespace

std::uint64_t slices_of(const LibraryCall& call) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(attribute_of(call, "split_k").value_or(0), 0));
}

std::string kind_of(const GemmFault& fault) {
  std::string out;
  for (const std::string& text : fault.finding.faults) {
    if (!out.empty()) out += "; ";
    bool number = false;
    for (const char c : text.substr(0, text.find(" ("))) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) out += c;
      if (digit && !number) out += 'N';
      number = digit;
    }
  }
  return out;
}
std::string place_of(const GemmProblem& x) {
  const std::string api(names::kGemmApi[static_cast<std::size_t>(x.api)]);
  return x.api == GemmApi::cublas ? api : api + " " + std::to_string(x.algorithm);
}
std::string type_of(const GemmProblem& x) {
  return std::string(name_of(x.type)) + (x.fast_accum ? "-fast" : "");
}

GemmProblem made_exact(GemmProblem x) {
  const bool scaled = x.scale_a != 1 || x.scale_b != 1;
  if (scaled) x.scale_a = 2, x.scale_b = 4;  // unlike, so that an exchange shows
  if (x.activation == GemmActivation::gelu) x.activation = GemmActivation::relu;
  const double size = scaled ? 0.125 : x.alpha != 1 ? 2 : 1;
  x.alpha = (scaled || x.alpha != 1) && x.activation == GemmActivation::none ? -size : size;
  if (x.beta != 0) x.beta = 2;
  return x;
}

exact::Product exact_product_of(const GemmProblem& x) {
  exact::Product out{.batch = x.batch, .m = x.m, .n = x.n, .k = x.k};
  out.one_a = matrices_of_a(x) == 1, out.one_b = matrices_of_b(x) == 1;
  out.alpha = x.alpha, out.beta = x.beta;
  out.scale_a = {.given = x.scale_a != 1, .whole = x.scale_a};
  out.scale_b = {.given = x.scale_b != 1, .whole = x.scale_b};
  out.bias = x.bias, out.relu = x.activation == GemmActivation::relu;
  out.limit = exact::limit_of(spec_of(x.type), spec_of(output_of(x)));
  return out;
}

namespace {

/// Products for several threads.
struct Shared {
  const GemmCheckRun& how;
  Clock::time_point start = Clock::now();
  std::mutex mutex = {};
  std::uint64_t taken = how.before.taken;
  std::set<std::string> explored = {};  ///< types, kinds and calls
  std::exception_ptr failed = nullptr;

  /// The next product and its seed.
  std::optional<std::pair<GemmProblem, std::uint64_t>> next() {
    const std::scoped_lock lock(mutex);
    if (failed || how.stopped()) return std::nullopt;
    const std::optional<GemmProblem> asked = how.next();
    if (!asked) return std::nullopt;
    return std::pair{made_exact(*asked), how.seed + taken++};
  }
  bool first_of_kind(const GemmFault& fault) {
    const std::scoped_lock lock(mutex);
    return explored
        .insert(type_of(fault.problem) + kind_of(fault) +
                std::string(names::kGemmApi[static_cast<std::size_t>(fault.problem.api)]))
        .second;
  }
};

/// A product by all its algorithms; what is wrong goes to `wrong`. Returns the first right one.
std::optional<std::uint64_t> check_one(const GemmCheckRun& how, const ExactRunner& run, GemmProblem x,
                                       std::uint64_t seed, GemmCheck& out, std::vector<GemmFault>& wrong) {
  const exact::Product product = exact_product_of(x);
  GemmTypeCount& count = out.types[type_of(x)];
  const std::uint64_t first = x.algorithm,
                      most = x.api == GemmApi::cublas ? first + 1 : first + how.algorithms;
  std::optional<std::uint64_t> right;
  std::uint64_t calls = 0;
  const Clock::time_point start = Clock::now();
  const double products_before = out.product_seconds;
  constexpr std::uint64_t kWide = 4;  // a product of so many has the round of large sums
  for (; x.algorithm < most; ++x.algorithm) {
    Launches launches(run, out, x.algorithm - first + seed);
    const auto check = [&] {
      return exact::check(
          product, [&](const exact::Words& words) { return launches.multiplied(x, product, words); },
          [&](const exact::Words& words) { return launches.judged(x, product, words); }, how.repeat, seed,
          seed % kWide == 0);
    };
    try {
      exact::Finding found = check();
      if (const std::string told = launches.told(); !found.faults.empty() && !told.empty()) {
        launches.keep_failing();  // what is wrong, not how often
        if (exact::Finding again = check(); !again.faults.empty()) found = std::move(again);
        found.faults.push_back(told);
      }
      ++calls;
      ++count.calls_by[place_of(x)];
      count.runs += found.runs;
      count.elements += found.elements;
      if (!found.faults.empty())
        wrong.push_back({.problem = x, .call = launches.call(), .finding = std::move(found)});
      else if (!right)
        right = x.algorithm;
    } catch (const device::NoAlgorithm& error) {
      if (x.algorithm == first) ++count.refused, out.why_refused = error.what();
      break;
    } catch (const GpuError& error) {
      throw GpuError(name_of(x) + ": " + error.what());
    } catch (const EnvironmentError& error) {
      out.why_refused = name_of(x) + ": " + error.what();
      ++(x.algorithm == first ? count.refused : count.refused_calls);
    }
  }
  count.seconds += seconds_since(start);
  count.product_seconds += out.product_seconds - products_before;
  count.calls += calls;
  count.products += calls == 0 ? 0 : 1;
  count.wrong_products += wrong.empty() ? 0 : 1;
  count.wrong_calls += wrong.size();
  return right;
}

/// Products as long as there are some.
GemmCheck checked_by(Shared& shared, const ExactRunner& run) {
  const GemmCheckRun& how = shared.how;
  GemmCheck out;
  while (const auto asked = shared.next()) {
    const auto& [x, seed] = *asked;
    std::vector<GemmFault> wrong;
    const std::optional<std::uint64_t> right = check_one(how, run, x, seed, out, wrong);
    for (GemmFault& fault : wrong) {
      fault.right = right;
      fault.found_seconds = how.before.seconds + seconds_since(shared.start);
      if (right && x.api == GemmApi::cublaslt) {
        fault.first_seconds = seconds_of(how, run, fault.problem, x.algorithm);
        fault.right_seconds = seconds_of(how, run, fault.problem, *right);
      }
      const std::uint64_t slices = slices_of(fault.call);
      if (slices > 1 && fault.finding.tail != 0 && fault.finding.tail == x.k % slices)
        fault.finding.faults.front() += "; that is K mod slices, of " + std::to_string(slices) + " slices";
      if (shared.first_of_kind(fault)) explore_fault(how, run, fault);
      out.faults.push_back(std::move(fault));
    }
  }
  return out;
}

void add(GemmCheck& out, GemmCheck part) {
  for (auto& fault : part.faults) out.faults.push_back(std::move(fault));
  for (const auto& [name, from] : part.types) {
    GemmTypeCount& to = out.types[name];
    for (std::uint64_t GemmTypeCount::*const field :
         {&GemmTypeCount::products, &GemmTypeCount::calls, &GemmTypeCount::runs,
          &GemmTypeCount::wrong_products, &GemmTypeCount::wrong_calls, &GemmTypeCount::refused,
          &GemmTypeCount::refused_calls, &GemmTypeCount::elements})
      to.*field += from.*field;
    to.seconds += from.seconds, to.product_seconds += from.product_seconds;
    for (const auto& [place, calls] : from.calls_by) to.calls_by[place] += calls;
  }
  for (std::size_t i = 0; i < std::size(out.launches); ++i) {
    out.launches[i] += part.launches[i];
    if (out.not_started[i].first == 0) out.not_started[i].second = std::move(part.not_started[i].second);
    out.not_started[i].first += part.not_started[i].first;
  }
  out.product_seconds += part.product_seconds;
  if (out.why_refused.empty()) out.why_refused = std::move(part.why_refused);
}

}  // namespace

GemmCheck check_gemms(const GemmCheckRun& how) {
  GemmCheck out = how.before;
  out.repeat = how.repeat, out.seed = how.seed, out.stopped = false, out.reproduced = how.reproduce;
  Shared shared{how};
  for (const GemmFault& each : out.faults)
    if (each.trials != 0) shared.first_of_kind(each);
  std::vector<std::thread> threads;
  for (const auto& made : how.runners)
    threads.emplace_back([&] {
      try {
        GemmCheck part = checked_by(shared, made());
        const std::scoped_lock lock(shared.mutex);
        add(out, std::move(part));
      } catch (...) {
        const std::scoped_lock lock(shared.mutex);
        if (!shared.failed) shared.failed = std::current_exception();
      }
    });
  for (std::thread& each : threads) each.join();
  if (shared.failed) std::rethrow_exception(shared.failed);
  out.taken = shared.taken;
  out.seconds += seconds_since(shared.start);
  return out;
}

}  // namespace mmaudit::checks
