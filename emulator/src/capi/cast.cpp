// The C interface: numbers from one format to another.
#include "guard.hpp"
#include "mmaudit/cast_outcome.hpp"
#include "mmaudit/cvt.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit::capi {
namespace {

void run_cast(const mmaudit_cast& work) {
  const FormatSpec from = capi::format_of("from", work.from), to = capi::format_of("to", work.to);
  CastRule rule;
  rule.saturate = work.saturate != 0;
  if (work.rounding != nullptr) {
    const auto rounding = find_cast_rounding(work.rounding);
    if (!rounding) refuse("rounding: found \"{}\", allowed: {}", work.rounding, names_of(kCastRoundings));
    rule.rounding = *rounding;
  }
  const std::size_t elements = work.source.bytes / from.storage_bytes();
  if (work.source.data == nullptr && work.source.bytes != 0)
    refuse("source: found null, allowed: elements of {}", name_of(from.id));
  if (work.source.bytes % from.storage_bytes() != 0)
    refuse("source: found {} bytes, allowed: a multiple of {}", work.source.bytes, from.storage_bytes());
  require_unpacked("source", work.source, from);
  require("result", work.result, {{"elements", elements}}, to);
  require_apart("source", work.result, work.source, true);
  mmaudit_cast_counts counts{};
  const bool counting = work.counts != nullptr;
  if (counting) give(counts, work.counts);  // refused before anything is written
  cast_elements(work.source.data, from, work.result.data, to, rule, elements,
                [&](double value, std::uint64_t bits) {
                  if (counting) count_outcome(outcome_of_cast(value, bits, to, rule), counts);
                });
  if (counting) give(counts, work.counts);
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_convert(const mmaudit_cast* work) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::run_cast(mmaudit::capi::taken(work)); });
}

extern "C" int mmaudit_cvt(const char* opcode, const uint32_t* operands, size_t count, uint32_t random,
                           uint32_t* result) {
  return mmaudit::capi::guarded([&] {
    if (opcode == nullptr || operands == nullptr || result == nullptr)
      mmaudit::refuse("cvt: found null, allowed: opcode, operands and result");
    std::uint32_t bits = 0;
    const std::string reason = mmaudit::run_cvt(opcode, {operands, count}, random, bits);
    if (!reason.empty()) throw mmaudit::InputError(reason);
    *result = bits;
  });
}
