#include "mmaudit/quantize.hpp"

#include <algorithm>

#include "mmaudit/detail/quantize_loop.hpp"

namespace mmaudit {

QuantizeRule quantize_rule(const GemmDtype& dtype, const Scaling& scaling, bool of_b) {
  QuantizeRule rule;
  rule.element = spec_of(of_b ? dtype.element_b() : dtype.element);
  rule.scale = spec_of(dtype.scale);
  rule.cast = dtype.cast;
  rule.rounding = scaling.rounding;
  rule.division = scaling.division, rule.counted = scaling.counted, rule.least = scaling.least;
  rule.power = scaling.power, rule.zero_scale = scaling.zero_scale;
  rule.plain_zero = scaling.plain_zero, rule.power_factor = scaling.power_factor, rule.bare = scaling.bare;
  // A symmetric range: the least integer has no negative.
  rule.most = rule.element.integer() ? static_cast<double>((1ULL << (rule.element.value_bits() - 1)) - 1)
                                     : decode_value(rule.element.max_finite_bits(), rule.element);
  if (scaling.most != 0) rule.most = scaling.most;
  rule.covers = of_b ? scaling.b : scaling.a;
  if (rule.scaled())
    rule.covers =
        tile_of(std::max<std::uint64_t>(rule.covers.lanes, 1), static_cast<std::uint64_t>(dtype.scale_block));
  rule.factors = rule.scaled() ? scaling.second_level : scaling.by_software();
  return rule;
}

void quantize(const Quantization& work, unsigned threads) {
  detail::QuantizeLoop(work, &detail::row_functions()).run(threads, detail::NobodyCounts());
}

}  // namespace mmaudit
