#include "search.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace mmaudit::probe {
namespace {

/// Rules of which one rarely helps without the other.
constexpr std::pair<std::string_view, std::string_view> kTogether[] = {{"order", "block"},
                                                                       {"addend", "sum_format"},
                                                                       {"addend", "rounding"},
                                                                       {"F", "output_fraction_bits"},
                                                                       {"arithmetic", "group"},
                                                                       {"widen_to", "order"},
                                                                       {"rounding", "output_fraction_bits"},
                                                                       {"sum_format", "rounding"},
                                                                       {"F", "floor"},
                                                                       {"saturation", "block"},
                                                                       {"floor", "subnormal_addend"}};
/// Of two numbers that change together each goes this far.
constexpr int kNear = 3;
constexpr std::size_t kFewWrong = 64;

class Descent {
 public:
  Descent(const Instruction& inst, const Facts& facts, const Datapath& start, const Told& told)
      : inst_(inst), facts_(facts), told_(told), best_{start, facts.wrong(start, facts.all().size())} {}

  /// `thorough`: where no rule and no usual pair helps, every pair is tried.
  Fit run(bool thorough) {
    facts_.ask_first_what_contradicts(best_.datapath);
    // Far from the answers the steps come first: no other rule shows before they are right.
    if (best_.wrong > facts_.all().size() / 4) together();
    constexpr int kPasses = 12;
    for (int pass = 0; pass < kPasses && best_.wrong != 0; ++pass) {
      const std::size_t before = best_.wrong;
      for (const std::string& rule : rules_read(inst_, best_.datapath)) single(rule);
      if (best_.wrong == before) together();
      // Far from every answer a pair is not what is missing.
      if (best_.wrong == before && thorough && best_.wrong <= facts_.all().size() / 4) any_two();
      if (best_.wrong == before) break;
    }
    return best_;
  }

 private:
  void consider(const Datapath& datapath) {
    if (best_.wrong == 0) return;
    const std::size_t wrong = facts_.wrong(datapath, best_.wrong - 1);
    if (wrong >= best_.wrong) return;
    best_ = {datapath, wrong};
    facts_.ask_first_what_contradicts(datapath);
  }
  void tell(const std::string& rules) const {
    if (told_)
      told_(rules + ", " + std::to_string(best_.wrong) + " of " + std::to_string(facts_.all().size()) +
            " answers contradict the best rules");
  }
  void single(const std::string& rule) {
    tell(rule);
    for (const Change& one : changes_of(inst_, best_.datapath, rule)) consider(one.datapath);
  }
  /// Every value of the first rule, the present one too, with every value of the second.
  void pair(const std::string& first, const std::string& second, bool near) {
    tell(first + " and " + second);
    const Datapath start = best_.datapath;
    std::vector<Change> outer = changes_of(inst_, start, first);
    for (const Change& one : outer) {
      if (!worth(one, near)) continue;
      consider(one.datapath);
      for (const Change& two : changes_of(inst_, one.datapath, second))
        if (worth(two, near)) consider(two.datapath);
    }
  }
  [[nodiscard]] bool worth(const Change& one, bool near) const {
    if (one.distance == 0) return true;
    if (one.rule == "block" || one.rule == "group") return divides_k(inst_, one);
    // Counting stops early where little is wrong: then every floor is affordable.
    const bool far = one.rule == "floor" ? best_.wrong <= kFewWrong : !near;
    return far || std::abs(one.distance) <= kNear;
  }
  void together() {
    for (const auto& [first, second] : kTogether) {
      const std::vector<std::string> rules = rules_read(inst_, best_.datapath);
      const auto read = [&](std::string_view rule) {
        return std::find(rules.begin(), rules.end(), rule) != rules.end();
      };
      if (read(first) && (read(second) || first == "arithmetic" || first == "saturation"))
        pair(std::string(first), std::string(second), false);
    }
  }
  void any_two() {
    const std::vector<std::string> rules = rules_read(inst_, best_.datapath);
    const std::size_t before = best_.wrong;
    for (const std::string& first : rules)
      for (const std::string& second : rules) {
        if (first < second) pair(first, second, true);
        if (best_.wrong < before) return;
      }
  }

  const Instruction& inst_;
  const Facts& facts_;
  const Told& told_;
  Fit best_;
};

}  // namespace

bool divides_k(const Instruction& inst, const Change& change) {
  const int value = change.rule == "block" ? change.datapath.products_per_step : change.datapath.group;
  return inst.stored_k() % value == 0;
}

Fit improved(const Instruction& inst, const Facts& facts, const Datapath& start, const Told& told) {
  return Descent(inst, facts, start, told).run(true);
}

Fit first_fit(const Instruction& inst, const Facts& facts, const Told& told) {
  const Datapath blank = blank_datapath(inst);
  if (blank.arithmetic != Arithmetic::fused_dot_add) return improved(inst, facts, blank, told);
  Fit best{blank, facts.all().size() + 1};
  constexpr int kFractionBits[] = {25, 13, 50};
  for (const Format sum_format : {Format::none, Format::f32})
    for (const Arithmetic arithmetic : {Arithmetic::fused_dot_add, Arithmetic::grouped_dot_add})
      for (const int bits : kFractionBits) {
        Datapath start = blank;
        start.arithmetic = arithmetic;
        start.sum_format = sum_format;
        start.fraction_bits = static_cast<std::int16_t>(bits);
        start.output.fraction_bits =
            static_cast<std::uint8_t>(std::min<int>(bits, start.output.fraction_bits));
        if (best.wrong == 0 || !can_be(inst, start)) continue;
        const Fit fit = Descent(inst, facts, start, told).run(false);
        if (fit.wrong < best.wrong) best = fit;
      }
  return best.wrong == 0 ? best : improved(inst, facts, best.datapath, told);
}

}  // namespace mmaudit::probe
