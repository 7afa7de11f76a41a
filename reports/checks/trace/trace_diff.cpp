// Operations of two traces side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "mmaudit/error.hpp"
#include "trace/tokens.hpp"
#include "trace/trace_side.hpp"

namespace mmaudit::checks {
namespace {

/// Calls of A and B that have tokens of the map in common.
struct CallPair {
  std::size_t a = kNone, b = kNone;
  std::vector<TokenPair> tokens;
};

/// Two tensors, token by token.
struct Compared {
  std::uint64_t rows = 0, differing = 0;
  bool known = false, hashed = true;
  std::vector<bool> differs;  ///< by the tokens of the calls
  [[nodiscard]] bool equal() const { return differing == 0; }
};

class Differ {
 public:
  Differ(const Trace& a, const Trace& b, const TraceDiffOptions& options) : a_(a), b_(b), options_(options) {}

  TraceDiff run() {
    require_maps(a_, b_, options_.maps);
    all_ = pairs_of(a_, b_, options_.rows);
    if (all_.empty())
      refuse("{}: found no token of {}, allowed: traces of the same tokens, or --row", b_.file, a_.file);
    out_.a = &a_;
    out_.b = &b_;
    out_.tokens = all_.size();
    out_.machine = machine_changes(a_, b_);
    out_.gpus = gpus_text();
    std::vector<CallPair> calls;
    for (const TokenPair& pair : all_) {
      const std::size_t of_a = call_of(a_, pair.a), of_b = call_of(b_, pair.b);
      auto at = std::find_if(calls.begin(), calls.end(),
                             [&](const CallPair& each) { return each.a == of_a && each.b == of_b; });
      if (at == calls.end()) at = calls.insert(calls.end(), {of_a, of_b, {}});
      at->tokens.push_back(pair);
    }
    for (const CallPair& call : calls) compare_calls(call);
    std::stable_sort(out_.findings.begin(), out_.findings.end(),
                     [](const TraceFinding& x, const TraceFinding& y) { return x.a < y.a; });
    if (out_.operations == 0 && !regions_)
      refuse("{}: found no operation of {}, allowed: the same modules, or --map", b_.file, a_.file);
    if (!out_.findings.empty()) out_.unseen.clear();
    for (auto& [module, sums] : growth_) {
      TraceGrowth& one = out_.growth.emplace_back(sums.row);
      const double relative = std::sqrt(sums.difference / sums.size);
      if (std::isfinite(relative)) one.relative = one.differing == 0 ? 0 : relative;
    }
    return std::move(out_);
  }

 private:
  struct Sums {
    TraceGrowth row;
    double difference = 0, size = 0;
  };

  [[nodiscard]] std::string gpus_text() const {
    const auto gpu = [](const Trace& trace) {
      const auto found = trace.machine.find("gpu");
      return found == trace.machine.end() ? std::string("no GPU") : found->second;
    };
    if (gpu(a_) == gpu(b_)) return {};
    std::string out = fmt::format("Two GPUs: A ran on {}, B on {}.", gpu(a_), gpu(b_));
    for (const Trace* trace : {&a_, &b_})
      if (trace->decisions == nullptr && trace->machine.count("gpu") != 0)
        out += fmt::format(
            " What cuBLAS decides on {} is not recorded: a plan is known where the trace names kernels.",
            gpu(*trace));
    return out;
  }

  [[nodiscard]] std::string renamed(const std::string& module) const {
    for (const std::string& map : options_.maps) {
      const std::size_t equals = map.find('=');
      if (module.rfind(map.substr(0, equals), 0) == 0) return map.substr(equals + 1) + module.substr(equals);
    }
    return module;
  }

  /// Attention is one operation, whichever kernel it is written for.
  [[nodiscard]] static std::string result_type(const Trace& trace, const TraceOperation& of) {
    return of.out.empty() ? "" : trace.tensors[of.out[0]].dtype;
  }

  /// Pairs of operations of one module, in order: as many as possible, those with the same result type first.
  void align(const std::vector<std::size_t>& of_a, const std::vector<std::size_t>& of_b,
             std::vector<std::pair<std::size_t, std::size_t>>& out) const {
    constexpr std::size_t kMostCells = std::size_t{1} << 24;  // a module that runs thousands: n-th with n-th
    if (of_a.size() * of_b.size() > kMostCells) {
      std::map<std::string, std::vector<std::size_t>> names;
      for (const std::size_t each : of_b) names[one_name(b_.operations[each].name)].push_back(each);
      for (auto& [name, places] : names) std::reverse(places.begin(), places.end());
      for (const std::size_t each : of_a)
        if (auto& left = names[one_name(a_.operations[each].name)]; !left.empty()) {
          out.emplace_back(each, left.back());
          left.pop_back();
        }
      return;
    }
    const std::size_t width = of_b.size() + 1;
    std::vector<std::uint32_t> best((of_a.size() + 1) * width, 0);
    const auto score = [&](std::size_t i, std::size_t j) -> std::uint32_t {
      const TraceOperation &x = a_.operations[of_a[i]], &y = b_.operations[of_b[j]];
      if (one_name(x.name) != one_name(y.name)) return 0;
      return 4 + (result_type(a_, x) == result_type(b_, y) ? 2 : 0) + (x.arguments == y.arguments ? 1 : 0);
    };
    for (std::size_t i = of_a.size(); i-- > 0;)
      for (std::size_t j = of_b.size(); j-- > 0;) {
        const std::uint32_t here = score(i, j);
        best[i * width + j] = std::max({best[(i + 1) * width + j], best[i * width + j + 1],
                                        here == 0 ? 0 : best[(i + 1) * width + j + 1] + here});
      }
    for (std::size_t i = 0, j = 0; i < of_a.size() && j < of_b.size();) {
      const std::uint32_t here = score(i, j), now = best[i * width + j];
      if (here != 0 && now == best[(i + 1) * width + j + 1] + here) {
        out.emplace_back(of_a[i++], of_b[j++]);
      } else if (now == best[(i + 1) * width + j]) {
        ++i;
      } else {
        ++j;
      }
    }
  }

  /// Elements of a row.
  static std::uint64_t width_of(const TraceTensor& of) {
    std::uint64_t out = 1;
    for (const std::uint64_t size : of.shape) out *= size;
    return out / std::max<std::uint64_t>(of.batch * of.tokens, 1);
  }

  [[nodiscard]] Compared compare(std::size_t x, std::size_t y, const CallPair& call) const {
    const TraceTensor &of_a = a_.tensors[x], &of_b = b_.tensors[y];
    Compared out;
    if (!of_a.hashed || !of_b.hashed) {
      const auto empty = [](const TraceTensor& of) {
        return std::count(of.shape.begin(), of.shape.end(), 0U) != 0;
      };
      out.hashed = empty(of_a) && empty(of_b);
      return out;
    }
    if (of_a.at == kNone && of_b.at == kNone) {
      out.known = of_a.shape == of_b.shape;
      out.rows = out.known ? 1 : 0;
      out.differing = out.known && (of_a.hash != of_b.hash || of_a.dtype != of_b.dtype) ? 1 : 0;
      return out;
    }
    // Scores against other numbers of keys: no row of one has the elements of the other's.
    if (of_a.at != kNone && of_b.at != kNone && width_of(of_a) != width_of(of_b)) return out;
    const bool context = of_a.context || of_b.context;
    const std::vector<TokenPair>& tokens = context ? all_ : call.tokens;
    if (!context) out.differs.assign(tokens.size(), false);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TraceRow *const in_a = row_of(a_, of_a, call.a, tokens[i].a), *const in_b = row_of(
                                                                              b_, of_b, call.b, tokens[i].b);
      if (in_a == nullptr || in_b == nullptr) continue;
      ++out.rows;
      if (in_a->hash == in_b->hash && of_a.dtype == of_b.dtype) continue;
      ++out.differing;
      if (!context) out.differs[i] = true;
    }
    out.known = out.rows != 0;
    return out;
  }

  /// A tensor that no seen operation made, and that differs: a weight, an input, a view of other elements.
  void judge_source(std::size_t x, std::size_t y, std::size_t in_a, std::size_t in_b, const Compared& found,
                    const CallPair& call) {
    const TraceTensor &of_a = a_.tensors[x], &of_b = b_.tensors[y];
    if (of_a.made != kNone || of_b.made != kNone || !told_.insert({x, y}).second) return;
    const auto last = [](const std::string& of) { return of.substr(of.rfind('.') + 1); };
    const bool named = !of_a.name.empty() && !of_b.name.empty();
    if (named && last(of_a.name) != last(of_b.name)) return;  // another order of operations, not other values
    const std::string name = of_a.name.empty() ? of_b.name : of_a.name;
    TraceCause cause{"tensor", "", TraceProof::seen};
    if (of_a.of != kNone && of_b.of != kNone) {
      const Compared base = compare(of_a.of, of_b.of, call);
      if (!base.known || !base.equal()) return;
      cause = {"view", "equal tensors, of which each side takes other elements", TraceProof::seen};
    } else if (of_a.dtype != of_b.dtype) {
      cause = {"dtype", fmt::format("{} -> {}", of_a.dtype, of_b.dtype), TraceProof::seen};
    } else {
      cause.text = name.empty() ? "an input that no operation of the trace made is another one"
                                : "a parameter or buffer with other values";
      if (!of_a.value.empty() && !of_b.value.empty())
        cause.text += fmt::format(": {} -> {}", of_a.value, of_b.value);
      else if (of_a.transposed != 0 && of_a.transposed == of_b.hash)
        cause.text += ": B's matrix is the transpose of A's";
    }
    out_.findings.push_back(
        {in_a, in_b, name.empty() ? "an input" : name, found.rows, found.differing, cause, {}});
  }

  /// A module may take more on one side that operations there made without a partner, such as a mask that the
  /// other side's kernel needs not.
  void drop_own(const Trace& trace, std::vector<std::size_t>& taken, std::size_t size) const {
    const std::vector<std::size_t>& alone = &trace == &a_ ? alone_a_ : alone_b_;
    for (std::size_t i = taken.size(); i-- > 0 && taken.size() > size;) {
      std::size_t at = taken[i];
      while (trace.tensors[at].of != kNone) at = trace.tensors[at].of;
      if (std::binary_search(alone.begin(), alone.end(), trace.tensors[at].made))
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void compare_pair(std::size_t in_a, std::size_t in_b, const CallPair& call) {
    const TraceOperation &x = a_.operations[in_a], &y = b_.operations[in_b];
    const bool of_module = x.name == "module";
    std::vector<bool> spoiled(call.tokens.size(), false);
    bool equal = true, whole_differs = false;
    std::vector<std::size_t> of_x = x.in, of_y = y.in;
    if (of_module && of_x.size() > of_y.size()) drop_own(a_, of_x, of_y.size());
    if (of_module && of_y.size() > of_x.size()) drop_own(b_, of_y, of_x.size());
    for (std::size_t i = 0; i < std::min(of_x.size(), of_y.size()); ++i) {
      const Compared found = compare(of_x[i], of_y[i], call);
      if (found.equal() && found.hashed) continue;
      equal = false;
      if (found.differs.empty()) whole_differs = true;
      for (std::size_t t = 0; t < found.differs.size(); ++t)
        if (found.differs[t]) spoiled[t] = true;
      if (!of_module && found.hashed) judge_source(of_x[i], of_y[i], in_a, in_b, found, call);
    }
    constexpr std::size_t kMostTokens = 4;  // whose values a second run keeps
    TraceFinding finding{in_a, in_b, "", 0, 0, {}, {}};
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < std::min(x.out.size(), y.out.size()); ++i) {
      const Compared found = compare(x.out[i], y.out[i], call);
      if (of_module && i == 0 && found.known) grow(renamed(x.module), x.out[i], y.out[i], call, found);
      finding.rows = std::max(finding.rows, found.rows);
      differing += found.differing;
      std::uint64_t blamed = equal ? found.differing : 0;
      for (std::size_t t = 0; t < found.differs.size(); ++t)
        if (found.differs[t] && (equal || (x.by_rows && y.by_rows && !whole_differs && !spoiled[t]))) {
          blamed += equal ? 0U : 1U;
          if (finding.tokens.size() < kMostTokens) finding.tokens.push_back(call.tokens[t]);
        }
      finding.differing = std::max(finding.differing, blamed);
    }
    if (of_module) {
      regions_ = regions_ || x.compiled || y.compiled;
      judge_module(finding, equal);
      return;
    }
    ++out_.operations;
    if (finding.differing != 0) {
      finding.cause = cause_of(a_, x, b_, y, true);
      out_.findings.push_back(finding);
    } else if (differing != 0) {
      if (out_.unseen.empty()) out_.unseen = fmt::format("{} {}", x.module, x.name);
      TraceCause cause = cause_of(a_, x, b_, y, false);
      if (cause.proof == TraceProof::seen || cause.kind == "gemm plan" || cause.kind == "row reduction")
        note(std::move(cause), x);
    }
  }

  void note(TraceCause cause, const TraceOperation& of) {
    const auto at = std::find_if(out_.further.begin(), out_.further.end(), [&](const TraceFurther& each) {
      return each.cause.kind == cause.kind && each.cause.text == cause.text;
    });
    if (at != out_.further.end()) {
      ++at->operations;
    } else {
      out_.further.push_back({std::move(cause), 1, fmt::format("{} {}", of.module, of.name)});
    }
  }

  static bool inside(const std::string& module, const std::string& outer) {
    return outer.empty() || module == outer || module.rfind(outer + ".", 0) == 0;
  }

  /// A module is blamed where what it runs has no partner, and no operation in it is.
  void judge_module(TraceFinding& finding, bool equal) {
    const TraceOperation& x = a_.operations[finding.a];
    if (!equal || finding.differing == 0) return;
    for (const TraceFinding& each : out_.findings)
      if (inside(a_.operations[each.a].module, x.module) && a_.operations[each.a].call == x.call) return;
    const std::vector<std::string> of_a = alone_in(a_, alone_a_, x.module),
                                   of_b = alone_in(b_, alone_b_, b_.operations[finding.b].module);
    if (of_a.empty() && of_b.empty()) return;
    finding.cause = operators_cause(of_a, of_b, x.compiled != b_.operations[finding.b].compiled);
    out_.findings.push_back(finding);
  }

  /// What a module runs that has no partner.
  static std::vector<std::string> alone_in(const Trace& trace, const std::vector<std::size_t>& alone,
                                           const std::string& module) {
    std::vector<std::string> out;
    for (const std::size_t each : alone)
      if (const TraceOperation& one = trace.operations[each];
          one.name != "module" && inside(one.module, module))
        out.push_back(described(trace, one));
    return out;
  }
  static std::string described(const Trace& trace, const TraceOperation& of) {
    return of.name.find("_to_copy") == std::string::npos ? of.name
                                                         : of.name + " to " + result_type(trace, of);
  }
  void grow(const std::string& module, std::size_t x, std::size_t y, const CallPair& call,
            const Compared& found) {
    auto at =
        std::find_if(growth_.begin(), growth_.end(), [&](const auto& each) { return each.first == module; });
    if (at == growth_.end()) at = growth_.insert(growth_.end(), {module, Sums{{module, 0, 0, {}}, 0, 0}});
    Sums& sums = at->second;
    sums.row.rows += found.rows;
    sums.row.differing += found.differing;
    for (const TokenPair& token : call.tokens) {
      const TraceRow *const in_a = row_of(a_, a_.tensors[x], call.a, token.a), *const in_b =
                                                                                   row_of(b_, b_.tensors[y],
                                                                                          call.b, token.b);
      if (in_a == nullptr || in_b == nullptr) continue;
      const double apart = in_a->hash == in_b->hash ? 0 : double{in_a->sketch} - in_b->sketch;
      sums.difference += apart * apart;
      sums.size += double{in_a->norm} * in_a->norm;
    }
  }

  void compare_calls(const CallPair& call) {
    std::unordered_map<std::string, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> modules;
    for (std::size_t i = 0; i < a_.operations.size(); ++i)
      if (a_.operations[i].call == call.a) modules[renamed(a_.operations[i].module)].first.push_back(i);
    for (std::size_t i = 0; i < b_.operations.size(); ++i)
      if (b_.operations[i].call == call.b) modules[b_.operations[i].module].second.push_back(i);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    alone_a_.clear();
    alone_b_.clear();
    for (const auto& [module, operations] : modules) {
      std::vector<std::pair<std::size_t, std::size_t>> found;
      align(operations.first, operations.second, found);
      std::set<std::size_t> of_a, of_b;
      for (const auto& [x, y] : found) {
        of_a.insert(x);
        of_b.insert(y);
      }
      for (const std::size_t each : operations.first)
        if (of_a.count(each) == 0) alone_a_.push_back(each);
      for (const std::size_t each : operations.second)
        if (of_b.count(each) == 0) alone_b_.push_back(each);
      pairs.insert(pairs.end(), found.begin(), found.end());
    }
    std::sort(alone_a_.begin(), alone_a_.end());
    std::sort(alone_b_.begin(), alone_b_.end());
    out_.only_a += alone_a_.size();
    out_.only_b += alone_b_.size();
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [x, y] : pairs) compare_pair(x, y, call);
  }

  const Trace& a_;
  const Trace& b_;
  const TraceDiffOptions& options_;
  TraceDiff out_;
  bool regions_ = false;  ///< a compiled region has a partner, of which nothing else is seen
  std::vector<TokenPair> all_;
  std::set<std::pair<std::size_t, std::size_t>> told_;
  std::vector<std::size_t> alone_a_, alone_b_;
  std::vector<std::pair<std::string, Sums>> growth_;
};

}  // namespace

TraceDiff diff_traces(const Trace& a, const Trace& b, const TraceDiffOptions& options) {
  return Differ(a, b, options).run();
}

}  // namespace mmaudit::checks
