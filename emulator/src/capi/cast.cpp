// The C interface: numbers from one format to another.
#include "guard.hpp"
#include "mmaudit/cast_outcome.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::capi {
namespace {

void run_cast(const mmaudit_cast& work) {
  const FormatSpec from = capi::format_of("from", work.from), to = capi::format_of("to", work.to);
  CastRule rule;
  rule.saturate = work.saturate != 0;
  if (work.rounding != nullptr) {
    const auto rounding = find_cast_rounding(work.rounding);
    if (!rounding)
      refuse("rounding", "found \"" + std::string(work.rounding) + "\", allowed: rn, rz, rna, rp");
    rule.rounding = *rounding;
  }
  const std::size_t elements = work.source.bytes / from.storage_bytes();
  if (work.source.data == nullptr && work.source.bytes != 0)
    refuse("source", "found null, allowed: elements of " + std::string(name_of(from.id)));
  if (work.source.bytes % from.storage_bytes() != 0)
    refuse("source", "found " + std::to_string(work.source.bytes) + " bytes, allowed: a multiple of " +
                         std::to_string(from.storage_bytes()));
  require("result", work.result, {{"elements", elements}}, to);
  require_apart("source", work.result, work.source, true);
  mmaudit_cast_counts counts{};
  const bool counting = work.counts != nullptr;
  if (counting) give(counts, work.counts);  // refused before anything is written
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t stored = load_word(work.source.data, from.storage_bytes(), i);
    const std::uint64_t bits = cast_bits(stored, from, to, rule);
    store_word(work.result.data, to.storage_bytes(), i, bits);
    if (counting) count_outcome(outcome_of_cast(decode_value(stored, from), bits, to, rule), counts);
  }
  if (counting) give(counts, work.counts);
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_convert(const mmaudit_cast* work) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::run_cast(mmaudit::capi::taken(work)); });
}
