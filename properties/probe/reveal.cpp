#include "mmaudit/probe/reveal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "masks.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/gemm_epilogue.hpp"
#include "mmaudit/generators/input_classes.hpp"
#include "mmaudit/raw_words.hpp"
#include "reveal_plans.hpp"
#include "subnormal_products.hpp"

namespace mmaudit::probe {
namespace {

using gen::InputClass;

/// What random products are made of: sums that round, sums that cancel, exponents far apart, and the ends of
/// the range.
constexpr InputClass kClasses[] = {
    InputClass::normal,        InputClass::wide_window,    InputClass::cancellation,
    InputClass::narrow_window, InputClass::mostly_zeros,   InputClass::sparse_powers,
    InputClass::random_finite, InputClass::special_values, InputClass::near_subnormal};

/// Operands of one product and the callable's D; no C: it was 0, or null.
struct Answer {
  std::vector<std::byte> a, b, c, d;
  std::string subnormal;  ///< of a product that shows what becomes of these: "A"; empty: a random product
  bool may_have_subnormals = false;  ///< anywhere; else in these rows of A and columns of B
  std::vector<bool> rows, columns;
};

bool is_subnormal(std::uint64_t bits, const FormatSpec& format) {
  const std::uint64_t magnitude = (bits & format.magnitude_mask()) >> format.ignored_low_bits;
  return magnitude != 0 && magnitude >> format.fraction_bits == 0;
}

/// Random products of these classes may have subnormals.
bool has_subnormals(InputClass one) {
  return one == InputClass::random_finite || one == InputClass::special_values ||
         one == InputClass::near_subnormal;
}

/// Other plans of the same bits that a finding lists.
constexpr std::size_t kMostAlike = 8;

class Revealer {
 public:
  Revealer(const UnknownGemm& gemm, std::span<const Architecture* const> architectures,
           const RevealOptions& options)
      : gemm_(gemm), architectures_(architectures), options_(options) {}

  GemmFinding run() {
    say("masks");
    GemmFinding finding;
    if (gemm_.with_c) find_factors(finding);
    const bool scaled = finding.scaled();
    UnknownGemm product = gemm_;
    if (scaled) {  // the tree of the product alone
      product.with_c = false;
      product.run = [this, zeros = std::vector<std::byte>(bytes_of_d())](const void* a, const void* b,
                                                                         const void* /*c*/, void* d) {
        gemm_.run(a, b, zeros.data(), d);
      };
    }
    MaskedGemm masked(product, finding.alpha, gemm_.d);
    const std::uint64_t leaves = gemm_.k + (product.with_c ? 1 : 0);
    auto tree = measured_tree(masked, leaves, finding.why_no_tree);
    calls_ += masked.calls();
    if (!tree && is_short(gemm_.a) && gemm_.a != gemm_.d) {  // sums may be kept in A's format
      MaskedGemm shorter(product, finding.alpha, gemm_.a);
      std::string why;
      tree = measured_tree(shorter, leaves, why);
      calls_ += shorter.calls();
      if (tree) finding.why_no_tree.clear();
    }
    if (tree) {
      finding.tree = *tree;
      SumTree products = *tree;
      if (product.with_c) finding.c_place = take_c(products);
      if (scaled) finding.c_place = kLast;
      say("plans");
      prove(finding, products);
    } else {
      finding.why_no_plan = "there is no tree";
    }
    // Masks of the product alone show no place of C: only a plan does.
    if (scaled && !finding.plan) finding.c_place = "not found: masks show it where alpha and beta are 1";
    finding.calls = calls_;
    return finding;
  }

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  /// First on random products with a C; where no plan says how it was added, on such without one.
  void prove(GemmFinding& finding, const SumTree& products) {
    std::vector<Addition> additions{{}};
    const bool last = finding.c_place == kLast;
    const bool scaled = finding.scaled();
    // Where nothing is scaled and D is no shorter than sums, all rules are one.
    if (last && scaled) additions.push_back({CPlace::epilogue, EpilogueRule::fused_c});
    if (last && (scaled || spec_of(gemm_.d).storage_bits < 32))
      additions.push_back({CPlace::epilogue, EpilogueRule::rounded_sum});
    if (gemm_.with_c && !last) additions = {{CPlace::chain}, {CPlace::total}};
    finding.random_c = gemm_.with_c;
    while (true) {
      if (!ask(finding.random_c)) {
        finding.why_no_plan = "calls with the same operands give other bits";
        return;
      }
      match(finding, products, additions);
      if (finding.plan || last || !finding.random_c) return;
      finding.random_c = false;
      finding.why_no_c = finding.why_no_plan;
      additions = {{}};
      finding.why_no_plan.clear();
      finding.verified = finding.mismatches = finding.other_nans = 0;
    }
  }

  static constexpr const char* kLast = "added last, to the finished sum";

  [[nodiscard]] std::size_t bytes_of_d() const {
    return gemm_.m * gemm_.n * spec_of(gemm_.d).storage_bytes();
  }
  /// alpha is D of a product that is 1, beta D of a C that is 1; both stay 1 where one of them is no factor.
  void find_factors(GemmFinding& finding) {
    const auto d_of = [&](double product, double addend) {
      const auto buffer = [](Format format, std::uint64_t elements, double first) {
        std::vector<std::byte> out(elements * spec_of(format).storage_bytes());
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(first);
        store_word(out.data(), spec_of(format).storage_bytes(), 0,
                   cast_bits(bits, spec_of(Format::f64), spec_of(format), {}));
        return out;
      };
      const auto a = buffer(gemm_.a, gemm_.m * gemm_.k, product), b = buffer(gemm_.b, gemm_.k * gemm_.n, 1),
                 c = buffer(gemm_.d, gemm_.m * gemm_.n, addend);
      std::vector<std::byte> d(bytes_of_d());
      ++calls_;
      gemm_.run(a.data(), b.data(), c.data(), d.data());
      return decode_value(load_word(d.data(), spec_of(gemm_.d).storage_bytes(), 0), spec_of(gemm_.d));
    };
    const double alpha = d_of(1, 0), beta = d_of(0, 1);
    if (!std::isnormal(alpha) || !std::isnormal(beta)) return;
    finding.alpha = alpha;
    finding.beta = beta;
  }

  /// Random products, one class after another. False where the first one has other bits when it is asked
  /// again.
  bool ask(bool random_c) {
    answers_.clear();
    Instruction inst;
    inst.a = gemm_.a;
    inst.b = gemm_.b;
    inst.c = inst.d = gemm_.d;
    inst.m = static_cast<std::int16_t>(std::min<std::uint64_t>(gemm_.m, 64));
    inst.n = static_cast<std::int16_t>(std::min<std::uint64_t>(gemm_.n, 64));
    constexpr int kPeriod = 64;
    inst.k = kPeriod;
    const gen::GeneratorSpec generator = gen::make_generator_spec(inst, Datapath{});
    for (std::uint64_t i = 0; i < options_.products; ++i) {
      Answer one;
      const InputClass input_class = kClasses[i % std::size(kClasses)];
      fill(one.a, generator, input_class, gen::Matrix::a, gemm_.m, gemm_.k, i);
      fill(one.b, generator, input_class, gen::Matrix::b, gemm_.k, gemm_.n, i);
      one.d.resize(bytes_of_d());
      if (random_c) fill(one.c, generator, input_class, gen::Matrix::c, gemm_.m, gemm_.n, i);
      one.may_have_subnormals = has_subnormals(input_class);
      mark_subnormals(one);
      run(one, one.d);
      answers_.push_back(std::move(one));
    }
    for (SubnormalProduct& each : subnormal_products(gemm_, random_c, options_.seed)) {
      Answer one{std::move(each.a), std::move(each.b), std::move(each.c), {}, each.of, true, {}, {}};
      if (random_c && one.c.empty()) one.c.resize(bytes_of_d());
      one.d.resize(bytes_of_d());
      run(one, one.d);
      answers_.push_back(std::move(one));
    }
    if (answers_.empty()) return true;
    const Answer& first = answers_.front();
    std::vector<std::byte> again(first.d.size());
    run(first, again);
    return again == first.d;
  }
  void mark_subnormals(Answer& one) const {
    const FormatSpec a = spec_of(gemm_.a), b = spec_of(gemm_.b);
    one.rows.resize(gemm_.m);
    one.columns.resize(gemm_.n);
    for (std::uint64_t i = 0; i < gemm_.m * gemm_.k; ++i)
      if (is_subnormal(load_word(one.a.data(), a.storage_bytes(), i), a)) one.rows[i / gemm_.k] = true;
    for (std::uint64_t i = 0; i < gemm_.k * gemm_.n; ++i)
      if (is_subnormal(load_word(one.b.data(), b.storage_bytes(), i), b)) one.columns[i % gemm_.n] = true;
  }
  void run(const Answer& one, std::vector<std::byte>& d) {
    ++calls_;
    const std::vector<std::byte> zeros(gemm_.with_c && one.c.empty() ? d.size() : 0);
    const std::vector<std::byte>& c = one.c.empty() ? zeros : one.c;
    gemm_.run(one.a.data(), one.b.data(), gemm_.with_c ? c.data() : nullptr, d.data());
  }
  void fill(std::vector<std::byte>& out, const gen::GeneratorSpec& generator, InputClass input_class,
            gen::Matrix which, std::uint64_t rows, std::uint64_t columns, std::uint64_t tile) const {
    const Format format = which == gen::Matrix::a ? gemm_.a : which == gen::Matrix::b ? gemm_.b : gemm_.d;
    const std::size_t bytes = spec_of(format).storage_bytes();
    out.resize(rows * columns * bytes);
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        store_word(out.data(), bytes, i * columns + j,
                   gen::generate(generator, input_class, options_.seed, which, tile, static_cast<int>(i),
                                 static_cast<int>(j)));
  }

  /// Elements of the first rows of D that a generator does not give, over the products up to the first whose
  /// differences neither the sign of zeros nor subnormals may explain.
  struct Difference {
    std::uint64_t compared = 0, wrong = 0;
    std::uint64_t nans = 0;               ///< of other bits, no wrong ones: a library may make its own
    std::uint64_t zeros = 0;              ///< of the other sign, among the wrong ones
    std::uint64_t beside_subnormals = 0;  ///< among the wrong ones, of products that may have some
    std::string subnormals;               ///< " of A, of B": of products that show them alone
    /// What the callable does otherwise than the plan; empty: more than these.
    [[nodiscard]] std::string but_for() const {
      if (!subnormals.empty() && wrong <= zeros + beside_subnormals) return "subnormals" + subnormals;
      return wrong == zeros ? "the sign of zeros" : "";
    }
  };
  [[nodiscard]] Difference difference(const Candidate& candidate, const GemmPlan& plan,
                                      const GemmProblem& problem, std::uint64_t rows) const {
    const FormatSpec of_d = spec_of(gemm_.d);
    const std::size_t bytes = of_d.storage_bytes();
    Difference out;
    for (const Answer& one : answers_) {
      std::vector<std::byte> d(rows * gemm_.n * bytes);
      predict_gemm(problem, plan, candidate.datapath, rows, gemm_.n,
                   {one.a.data(), one.b.data(), one.c.empty() ? nullptr : one.c.data()}, d.data(),
                   [](const Instruction& inst, const Datapath& model, const Matmul& work) {
                     MatmulOptions how;
                     how.threads = 0;
                     matmul(inst, model, work, how);
                   });
      out.compared += d.size() / bytes;
      const std::uint64_t before = out.wrong;
      if (std::equal(d.begin(), d.end(), one.d.begin())) continue;
      for (std::size_t i = 0; i < d.size() / bytes; ++i) {
        const std::uint64_t found = load_word(d.data(), bytes, i), theirs = load_word(one.d.data(), bytes, i);
        if (found == theirs) continue;
        const bool both = is_nan(found) && is_nan(theirs);
        (both ? out.nans : out.wrong) += 1U;
        if (both) continue;
        if (((found | theirs) & of_d.magnitude_mask()) == 0)
          ++out.zeros;
        else if (one.may_have_subnormals || one.rows[i / gemm_.n] || one.columns[i % gemm_.n] ||
                 is_subnormal(found, of_d) || is_subnormal(theirs, of_d))
          ++out.beside_subnormals;
      }
      if (out.wrong == before) continue;
      if (!one.subnormal.empty())
        out.subnormals += (out.subnormals.empty() ? " of " : ", of ") + one.subnormal;
      if (out.wrong > out.zeros + out.beside_subnormals) break;
    }
    return out;
  }
  /// Rows on which another plan is compared with the first one's D: of all of it the first one takes a
  /// second.
  [[nodiscard]] std::uint64_t rows_alike() const {
    constexpr double kAtOnce = 1 << 18;
    const double of_row = static_cast<double>(gemm_.n) * static_cast<double>(gemm_.k);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kAtOnce / of_row), 1, gemm_.m);
  }
  /// Where a prediction takes seconds the first plan is enough.
  [[nodiscard]] bool large() const {
    constexpr double kSoon = 1 << 24;
    return static_cast<double>(gemm_.m) * static_cast<double>(gemm_.n) * static_cast<double>(gemm_.k) > kSoon;
  }
  [[nodiscard]] bool is_nan(std::uint64_t bits) const {
    const FormatSpec d = spec_of(gemm_.d);
    return d.specials == Specials::ieee && (bits & d.magnitude_mask()) > d.infinity_bits();
  }

  /// `tree`: of the products, without c.
  void match(GemmFinding& finding, const SumTree& tree, const std::vector<Addition>& additions) {
    GemmProblem problem;
    problem.k = gemm_.k;
    problem.alpha = finding.random_c ? finding.alpha : 1;
    problem.beta = finding.random_c ? finding.beta : 0;
    Matmul sums;
    sums.m = gemm_.m;
    sums.n = gemm_.n;
    sums.k = gemm_.k;
    const Hints hints = hints_of(tree, gemm_.k);
    bool same_tree = false;
    finding.subnormals.clear();
    for (const Answer& one : answers_)
      if (!one.subnormal.empty()) finding.subnormals.push_back(one.subnormal);
    std::string but_for;
    std::uint64_t least = ~std::uint64_t{0};
    for (const Candidate& candidate : candidates_of(gemm_, architectures_))
      for (const GemmPlan& shape : plans_of(candidate, gemm_, hints)) {
        if (tree_of(shape, candidate.datapath, gemm_.k) != tree) continue;
        // A lane per k rounds every product by itself, which of short formats changes nothing.
        if (finding.plan && shape.lanes >= gemm_.k) continue;
        for (const GemmPlan& plan : roundings_of(shape, additions)) {
          if (!why_no_prediction(plan, candidate.datapath, sums).empty()) continue;
          same_tree = true;
          if (finding.plan && (finding.alike.size() == kMostAlike || large())) return;
          const Difference found =
              difference(candidate, plan, problem, finding.plan ? rows_alike() : gemm_.m);
          if (found.wrong == 0 && finding.plan) {
            finding.alike.push_back(candidate.architecture + " " + text_of(plan));
            continue;
          }
          if (found.wrong == 0) {
            finding.plan = plan;
            finding.architecture = candidate.architecture;
          }
          if (but_for.empty() && !found.but_for().empty())
            but_for = ", but " + text_of(plan) + " all but " + found.but_for();
          if (found.wrong <= least) {
            least = finding.mismatches = found.wrong;
            finding.verified = found.compared;
            finding.other_nans = found.nans;
          }
        }
      }
    if (finding.plan) return;
    finding.why_no_plan = same_tree ? "plans with this tree give other bits on random data" + but_for
                                    : "no plan of an instruction of these architectures has this tree";
  }

  /// Removes leaf K and says where it stood.
  std::string take_c(SumTree& tree) const {
    std::vector<SumTree>& children = tree.children;
    const auto at = std::find_if(children.begin(), children.end(),
                                 [&](const SumTree& x) { return x.leaf() && x.k == gemm_.k; });
    if (at != children.end() && children.size() == 2) {
      tree = std::move(children[at == children.begin() ? 1 : 0]);
      return kLast;
    }
    const bool first = removed(tree);
    return first ? "in the first step, one more addend" : "inside the sum";
  }
  /// True where c stood beside products alone: in the step that starts a chain.
  bool removed(SumTree& tree) const {
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      SumTree& child = tree.children[i];
      if (!child.leaf()) {
        if (const std::vector<std::uint64_t> ks = leaves_of(child); ks.back() == gemm_.k)
          return removed(child);
        continue;
      }
      if (child.k != gemm_.k) continue;
      const bool alone =
          std::all_of(tree.children.begin(), tree.children.end(), [](const SumTree& x) { return x.leaf(); });
      tree.children.erase(tree.children.begin() + static_cast<std::ptrdiff_t>(i));
      tree = sum_of(std::move(tree.children));
      return alone;
    }
    return false;
  }

  const UnknownGemm& gemm_;
  std::span<const Architecture* const> architectures_;
  const RevealOptions& options_;
  std::vector<Answer> answers_;
  std::uint64_t calls_ = 0;
};

}  // namespace

GemmFinding reveal(const UnknownGemm& gemm, std::span<const Architecture* const> architectures,
                   const RevealOptions& options) {
  for (const Format format : {gemm.a, gemm.b, gemm.d})
    if (spec_of(format).integer() || spec_of(format).signless)
      refuse("type: found {}, allowed: floating-point formats (sums of integers are exact in every order)",
             name_of(format));
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) refuse("m, n, k: found 0, allowed: 1 or more");
  return Revealer(gemm, architectures, options).run();
}

}  // namespace mmaudit::probe
