#include "mmaudit/probe/probe.hpp"

#include <algorithm>
#include <utility>

#include "changes.hpp"
#include "facts.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "search.hpp"

namespace mmaudit::probe {
namespace {

using gen::InputClass;

/// Elements of one tile that become facts: more of them repeat the same rows and columns.
constexpr std::size_t kPerTile = 8;
/// Below it no output shows what a floor cuts off.
constexpr int kLowestFloor = -285;
constexpr std::size_t kFirstTiles = 6, kLaterTiles = 2;
/// Rounds of asking and searching until the answers of a round contradict nothing.
constexpr int kRounds = 14;
/// Searches in vain after which the nearest combination is the answer.
constexpr int kMostStuck = 2;
/// Differing dot products of one attempt to tell two datapaths apart that become facts.
constexpr std::size_t kMostSeparating = 24;

class Prober {
 public:
  Prober(const Instruction& inst, const Backend& device, const Options& options)
      : inst_(inst), device_(device), options_(options), facts_(inst) {}

  Finding run() {
    for (const Fact& one : options_.facts) facts_.add(one);
    ask_classes(blank_datapath(inst_), kFirstTiles);
    say("the first combination of rules");
    Fit fit = first_fit(inst_, facts_, options_.progress);
    Finding finding;
    constexpr int kVerifications = 4;
    for (int i = 0; i < kVerifications; ++i) {
      fit = settled(fit);
      finding = claimed(fit);
      if (finding.contradictions > fit.wrong) continue;
      if (fit.wrong != 0 || !device_.run) break;
      say("random dot products");
      if (verify(finding) || finding.mismatches == 0) break;
      fit = {fit.datapath, finding.mismatches};
    }
    return finding;
  }

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  [[nodiscard]] DotCase cut(const TileView& view, std::size_t tile, std::size_t row,
                            std::size_t column) const {
    return dot_at(inst_, view, tile, static_cast<int>(row), static_cast<int>(column));
  }
  std::size_t keep(const TileView& view, std::size_t tile, std::size_t row, std::size_t column) {
    const std::uint64_t d = d_at(inst_, view, tile, static_cast<int>(row), static_cast<int>(column));
    return facts_.add({cut(view, tile, row, column), d}) ? 1 : 0;
  }
  /// Runs the device and keeps the elements of the diagonal.
  std::size_t ask(TileBatch& tiles) {
    if (!device_.run) return 0;
    device_.run(inst_, tiles.view());
    std::size_t fresh = 0;
    const auto most = static_cast<std::size_t>(std::min(inst_.m, inst_.n));
    for (std::size_t tile = 0; tile < tiles.tiles; ++tile)
      for (std::size_t i = 0; i < std::min(most, kPerTile); ++i) fresh += keep(tiles.filled(), tile, i, i);
    return fresh;
  }
  void append_classes(TileBatch& tiles, const Datapath& datapath, std::size_t count) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(inst_, datapath);
    for (int i = 0; i < gen::kInputClasses; ++i)
      gen::append_class(tiles, generator, static_cast<InputClass>(i), options_.seed, next_tile_, count, 0);
    next_tile_ += count;
  }
  void ask_classes(const Datapath& datapath, std::size_t count) {
    TileBatch tiles(inst_);
    append_classes(tiles, datapath, count);
    ask(tiles);
  }
  /// c beside products that are all zero: beside others a small c is lost.
  void ask_c_alone(const Datapath& datapath) {
    TileBatch tiles(inst_);
    const gen::GeneratorSpec generator = gen::make_generator_spec(inst_, datapath);
    for (const InputClass one :
         {InputClass::near_subnormal, InputClass::special_values, InputClass::random_finite})
      gen::append_class(tiles, generator, one, options_.seed, next_tile_, kLaterTiles, 0);
    next_tile_ += kLaterTiles;
    for (auto* factors : {&tiles.a, &tiles.b}) std::fill(factors->begin(), factors->end(), std::byte{0});
    ask(tiles);
  }
  /// Directed cases about the rules of `datapath`.
  void ask_directed(const Datapath& datapath) {
    TileBatch tiles(inst_);
    gen::append_directed(tiles, datapath, 0);
    if (tiles.tiles != 0) ask(tiles);
  }
  /// The same about every F and every floor in reach: a scan of one covers its neighbours.
  void ask_scans(const Datapath& datapath) {
    if (!device_.run || datapath.arithmetic == Arithmetic::integer ||
        datapath.arithmetic == Arithmetic::fma_chain)
      return;
    constexpr int kMostBits = 45, kStepOfBits = 9;
    for (int bits = datapath.fraction_bits % kStepOfBits; bits <= kMostBits; bits += kStepOfBits) {
      Datapath scan = datapath;
      scan.fraction_bits = static_cast<std::int16_t>(bits);
      ask_directed(scan);
    }
    const auto least_of = [](Format format) {
      return format == Format::none ? 0 : spec_of(format).min_exponent() - spec_of(format).fraction_bits;
    };
    const int least = least_of(inst_.a) + least_of(inst_.b) + 2 * least_of(inst_.scale);
    constexpr int kMost = 15, kStepOfFloor = 5;
    for (int floor = kMost; floor >= std::max(least, kLowestFloor); floor -= kStepOfFloor) {
      Datapath scan = datapath;
      scan.min_alignment_exponent = static_cast<std::int16_t>(floor);
      ask_floor(scan);
    }
  }
  /// The directed cases about the floor of `scan` and its neighbours.
  void ask_floor(const Datapath& scan) {
    const std::vector<gen::DirectedDot> cases = gen::directed_dots(inst_, scan);
    TileBatch tiles(inst_);
    gen::append_directed(tiles, scan, 0);
    device_.run(inst_, tiles.view());
    const auto per_tile = static_cast<std::size_t>(std::min(inst_.m, inst_.n));
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].question == "floor") keep(tiles.filled(), i / per_tile, i % per_tile, i % per_tile);
  }

  /// Asks about the rules found so far until the answers contradict none of them, or nothing helps.
  Fit settled(Fit fit) {
    int stuck = 0;
    for (int round = 0; round < kRounds; ++round) {
      say("directed cases, round " + std::to_string(round + 1) + ", " + std::to_string(fit.wrong) + " of " +
          std::to_string(facts_.all().size()) + " answers contradict the best rules");
      if (round == 0) ask_scans(fit.datapath);
      ask_directed(fit.datapath);
      ask_c_alone(fit.datapath);
      ask_classes(fit.datapath, kLaterTiles);
      fit.wrong = facts_.wrong(fit.datapath, facts_.all().size());
      if (fit.wrong == 0 && !separated(fit.datapath)) break;
      const Fit better = improved(inst_, facts_, fit.datapath, options_.progress);
      const bool helped = better.wrong == 0 || !(better.datapath == fit.datapath);
      fit = better;
      if (helped) continue;
      if (++stuck == kMostStuck) break;
      const Fit again = first_fit(inst_, facts_, options_.progress);
      if (again.wrong < fit.wrong) fit = again;
    }
    return fit;
  }

  /// Looks for a dot product on which two datapaths differ and asks the device for it. True when the answer
  /// is not what `datapath` gives.
  bool separates(const Datapath& datapath, const Datapath& other) {
    if (!device_.run) return false;
    TileBatch tiles(inst_);
    gen::append_directed(tiles, other, 0);
    append_classes(tiles, other, 1);
    emulate(inst_, datapath, tiles.view());
    std::vector<std::byte> expected = tiles.d;
    emulate(inst_, other, tiles.view());
    if (tiles.d == expected) return false;
    std::vector<std::byte> others = tiles.d;
    device_.run(inst_, tiles.view());
    const std::size_t bytes = spec_of(inst_.d).storage_bytes(), columns = static_cast<std::size_t>(inst_.n),
                      each = static_cast<std::size_t>(inst_.m) * columns;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tiles.tiles * each && kept < kMostSeparating; ++i) {
      if (load_bits(expected, bytes, i) == load_bits(others, bytes, i)) continue;
      kept += keep(tiles.filled(), i / each, i % each / columns, i % columns);
    }
    return facts_.wrong(datapath, 0) != 0;
  }
  /// Tries to tell `datapath` from every change of one rule that no answer contradicts yet. True when an
  /// answer now contradicts `datapath` itself.
  bool separated(const Datapath& datapath) {
    for (const std::string& rule : rules_read(inst_, datapath))
      for (const Change& one : changes_of(inst_, datapath, rule)) {
        if (std::abs(one.distance) > 1 && !(rule == "block" && divides_k(inst_, one))) continue;
        if (facts_.contradiction(one.datapath) || !reason(datapath, one).empty()) continue;
        if (separates(datapath, one.datapath)) return true;
      }
    return false;
  }

  /// Why no input can tell the change from the datapath, where the formats and the shape say so.
  std::string reason(const Datapath& datapath, const Change& one) {
    if (reasons_of_ != datapath) {
      mutants_ = mutants_of(inst_, datapath);
      reasons_of_ = datapath;
    }
    for (const Mutant& mutant : mutants_)
      if (mutant.datapath == one.datapath) return mutant.invisible;
    return {};
  }

  /// Counts the answers that contradict the finding, and shows the simplest.
  void exemplify(Finding& finding) const {
    finding.contradictions = facts_.wrong(finding.datapath, facts_.all().size());
    const std::optional<std::size_t> at = facts_.simplest(finding.datapath);
    if (!at) return;
    const Fact& fact = facts_.all()[*at];
    finding.example =
        Mismatch{fact.dot, fact.d, model_d(make_dot_spec(inst_, finding.datapath), inst_, fact.dot)};
  }

  Finding claimed(const Fit& fit) {
    say("claims");
    facts_.sort();
    Finding finding;
    finding.instruction = inst_;
    finding.datapath = fit.datapath;
    finding.answers = facts_.all().size();
    exemplify(finding);
    finding.steps = steps_of(fit.datapath);
    std::vector<Change> changes;
    for (const std::string& rule : rules_read(inst_, fit.datapath)) {
      Claim claim{rule, value_of(fit.datapath, rule), {}};
      for (Change& one : changes_of(inst_, fit.datapath, rule)) {
        claim.alternatives.push_back(judged(fit.datapath, one));
        changes.push_back(std::move(one));
      }
      finding.claims.push_back(std::move(claim));
    }
    if (finding.contradictions == 0 && !pair_up(finding, changes)) exemplify(finding);
    return finding;
  }
  Alternative judged(const Datapath& datapath, const Change& one) {
    Alternative alternative{one.value};
    // The simplest witness matters where a reader looks: far numbers get any.
    const bool near = std::abs(one.distance) <= 1;
    const auto at = near ? facts_.simplest(one.datapath) : facts_.contradiction(one.datapath);
    if (!at) {
      alternative.reason = reason(datapath, one);
      return alternative;
    }
    alternative.witness = facts_.all()[*at];
    alternative.expected = model_d(make_dot_spec(inst_, one.datapath), inst_, alternative.witness->dot);
    return alternative;
  }
  /// A value that is contradicted alone and not together with another change is not excluded.
  /// False where a new answer contradicts the datapath itself.
  bool pair_up(Finding& finding, const std::vector<Change>& changes) {
    const auto worth = [&](const Change& one) {
      return std::abs(one.distance) <= 1 ||
             ((one.rule == "block" || one.rule == "group") && divides_k(inst_, one));
    };
    // Numbers far from the found one: how a small c is read and a floor that cuts it off are one question,
    // and where only the floor decides what is cut, F and the floor go up and down together.
    const auto one_question = [](const Change& first, const Change& both) {
      if (first.rule == "floor" && both.rule == "subnormal_addend") return true;
      const bool two =
          (first.rule == "floor" && both.rule == "F") || (first.rule == "F" && both.rule == "floor");
      return two && first.distance == both.distance;
    };
    for (const Change& first : changes) {
      const bool far = !worth(first);
      if ((far && first.rule != "floor" && first.rule != "F") || !contradicted(finding, first)) continue;
      for (const std::string& rule : rules_read(inst_, first.datapath)) {
        if (rule == first.rule) continue;
        for (const Change& both : changes_of(inst_, first.datapath, rule)) {
          if (far ? !one_question(first, both) : !worth(both)) continue;
          if (facts_.contradiction(both.datapath)) continue;
          if (!far && separates(finding.datapath, both.datapath)) return false;
          if (!facts_.contradiction(both.datapath)) mark(finding, first, rule + " = " + both.value);
        }
      }
    }
    return true;
  }
  static Alternative& alternative(Finding& finding, const Change& one) {
    const auto claim = std::find_if(finding.claims.begin(), finding.claims.end(),
                                    [&](const Claim& x) { return x.rule == one.rule; });
    return *std::find_if(claim->alternatives.begin(), claim->alternatives.end(),
                         [&](const Alternative& x) { return x.value == one.value; });
  }
  static bool contradicted(Finding& finding, const Change& one) {
    return alternative(finding, one).witness.has_value();
  }
  static void mark(Finding& finding, const Change& one, const std::string& with) {
    Alternative& found = alternative(finding, one);
    found.witness.reset();
    found.reason = "the same bits together with " + with;
  }

  /// "0-7", or "0 1 4 5" where the k of a step are not neighbours.
  [[nodiscard]] std::vector<std::string> steps_of(const Datapath& datapath) const {
    std::vector<std::string> steps;
    if (datapath.arithmetic == Arithmetic::integer) return steps;
    const DotSpec spec = make_dot_spec(inst_, datapath);
    for_each_step(spec, [&](int start, int count) {
      std::vector<int> step;
      step.reserve(static_cast<std::size_t>(count));
      for (int i = start; i < start + count; ++i) step.push_back(evaluation_k(datapath.order, spec.k, i));
      std::sort(step.begin(), step.end());
      std::string text = std::to_string(step.front());
      if (count > 1 && step.back() - step.front() == count - 1)
        text += "-" + std::to_string(step.back());
      else
        for (std::size_t i = 1; i < step.size(); ++i) text += " " + std::to_string(step[i]);
      steps.push_back(std::move(text));
    });
    return steps;
  }

  /// Random dot products of every class. True when all agree; what does not becomes facts.
  bool verify(Finding& finding) {
    const std::size_t each = static_cast<std::size_t>(inst_.m) * static_cast<std::size_t>(inst_.n);
    constexpr std::size_t kDotsPerLaunch = 262'144;
    const std::size_t per_class = std::max<std::size_t>(1, kDotsPerLaunch / each / gen::kInputClasses);
    const std::size_t bytes = spec_of(inst_.d).storage_bytes(), columns = static_cast<std::size_t>(inst_.n);
    while (finding.verified < options_.dots) {
      TileBatch tiles(inst_);
      append_classes(tiles, finding.datapath, per_class);
      emulate(inst_, finding.datapath, tiles.view());
      const std::vector<std::byte> expected = tiles.d;
      device_.run(inst_, tiles.view());
      finding.verified += tiles.tiles * each;
      if (tiles.d == expected) continue;
      for (std::size_t i = 0; i < tiles.tiles * each; ++i) {
        if (load_bits(expected, bytes, i) == load_bits(tiles.d, bytes, i)) continue;
        if (++finding.mismatches > kMostSeparating) continue;
        const std::size_t row = i % each / columns, column = i % columns;
        keep(tiles.filled(), i / each, row, column);
        if (!finding.example)
          finding.example = Mismatch{cut(tiles.filled(), i / each, row, column), load_bits(tiles.d, bytes, i),
                                     load_bits(expected, bytes, i)};
      }
      if (finding.mismatches != 0) return false;
    }
    return true;
  }

  const Instruction inst_;
  const Backend& device_;
  const Options& options_;
  Facts facts_;
  std::uint64_t next_tile_ = 0;
  std::vector<Mutant> mutants_;
  std::optional<Datapath> reasons_of_;
};

}  // namespace

bool Claim::decided() const {
  return std::all_of(alternatives.begin(), alternatives.end(),
                     [](const Alternative& one) { return one.witness.has_value(); });
}

Finding probe(const Instruction& instruction, const Backend& device, const Options& options) {
  return Prober(instruction, device, options).run();
}

}  // namespace mmaudit::probe
