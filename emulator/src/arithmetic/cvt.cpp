#include "mmaudit/cvt.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

using Satfinite = PackedType::Satfinite;
constexpr std::string_view kFromWide = "f32 f16x2 bf16x2";

// clang-format off
constexpr PackedType kTypes[] = {
    {"f16x2",   Format::f16,   2, 16, "f32 e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2", "rn rz rs", Satfinite::optional, true, 13},
    {"bf16x2",  Format::bf16,  2, 16, "f32 ue8m0x2", "rn rz rs", Satfinite::optional, true, 16},
    {"e4m3x2",  Format::e4m3,  2, 8, kFromWide, "rn", Satfinite::always, true, 0},
    {"e5m2x2",  Format::e5m2,  2, 8, kFromWide, "rn", Satfinite::always, true, 0},
    {"e2m1x2",  Format::e2m1,  2, 4, kFromWide, "rn", Satfinite::always, true, 0},
    {"e2m3x2",  Format::e2m3,  2, 8, kFromWide, "rn", Satfinite::always, true, 0},
    {"e3m2x2",  Format::e3m2,  2, 8, kFromWide, "rn", Satfinite::always, true, 0},
    {"ue8m0x2", Format::ue8m0, 2, 8, "f32 bf16x2", "rz rp", Satfinite::optional, false, 0},
    {"e4m3x4",  Format::e4m3,  4, 8, "f32", "rs", Satfinite::always, true, 16},
    {"e5m2x4",  Format::e5m2,  4, 8, "f32", "rs", Satfinite::always, true, 16},
    {"e2m3x4",  Format::e2m3,  4, 8, "f32", "rs", Satfinite::always, true, 16},
    {"e3m2x4",  Format::e3m2,  4, 8, "f32", "rs", Satfinite::always, true, 16},
    {"e2m1x4",  Format::e2m1,  4, 4, "f32", "rs", Satfinite::always, true, 0},
};
// clang-format on

constexpr std::uint32_t low(int bits) { return bits >= 32 ? ~0U : (1U << bits) - 1; }

/// The random bits of operand `i` of `count`, in the low bits.
constexpr std::uint32_t random_of_operand(std::uint32_t random, std::size_t i, std::size_t count) {
  const std::uint32_t half = i < count / 2 ? random >> 16 : random & 0xFFFFU;
  if (count == 2 || i % 2 != 0) return half;
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < 16; ++bit) reversed |= (half >> bit & 1U) << (15 - bit);
  return reversed;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool lists(std::string_view words, std::string_view word) {
  const auto all = split(words, ' ');
  return std::find(all.begin(), all.end(), word) != all.end();
}

}  // namespace

std::span<const PackedType> packed_types() { return kTypes; }

const PackedType* find_packed_type(std::string_view name) { return find_named(kTypes, name); }

RoundingOdds stochastic_odds(double value, const FormatSpec& format, int bits, bool saturate) {
  RoundingOdds odds;
  odds.bits = bits;
  odds.down = odds.up = encode_value(value, format, {CastRounding::toward_zero, saturate});
  if (!std::isfinite(value)) return odds;
  const std::uint64_t sign = odds.down & format.sign_bit(), size = odds.down & ~sign;
  const double kept = std::fabs(decode_value(size, format)), whole = std::fabs(value);
  if (kept == whole) return odds;
  const std::uint64_t next = size + (std::uint64_t{1} << format.ignored_low_bits);
  // The unit in the last place, also of the largest number.
  const std::uint64_t field = size >> format.ignored_low_bits >> format.fraction_bits;
  const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - format.bias;
  const double rest = std::ldexp(whole - kept, format.fraction_bits - exponent);
  const bool past = next > format.max_finite_bits();
  odds.up =
      !past ? sign | next
            : encode_value(std::copysign(HUGE_VAL, value), format, {CastRounding::nearest_even, saturate});
  if (past && rest >= 1) {  // beyond the number after the largest one
    odds.down = odds.up;
    return odds;
  }
  odds.ups = static_cast<std::uint32_t>(std::floor(std::ldexp(rest, bits)));
  return odds;
}

std::uint64_t encode_stochastic(double value, const FormatSpec& format, std::uint32_t random, int bits,
                                bool saturate) {
  const RoundingOdds odds = stochastic_odds(value, format, bits, saturate);
  // random + ups carries out of `bits` bits.
  return (std::uint64_t{random & low(bits)} + odds.ups) >> bits != 0 ? odds.up : odds.down;
}

std::string run_cvt(std::string_view opcode, std::span<const std::uint32_t> operands, std::uint32_t random,
                    std::uint32_t& result) {
  const std::vector<std::string_view> parts = split(opcode, '.');
  if (parts.size() < 4 || parts.front() != "cvt")
    return refusal("opcode: found {}, allowed: cvt.ROUNDING{.satfinite}{.relu}.TYPE.TYPE", printable(opcode));
  const std::string_view to_name = parts[parts.size() - 2], from_name = parts.back();
  const PackedType* const to = find_packed_type(to_name);
  if (to == nullptr)
    return refusal("destination: found {}, allowed: a packed type: f16x2, bf16x2, e4m3x2, ... e2m1x4",
                   printable(to_name));
  if (!lists(to->sources, from_name))
    return refusal("source of .{}: found {}, allowed: {}", to_name, printable(from_name), to->sources);
  const PackedType* const from = find_packed_type(from_name);
  // A narrow source fits its destination: nothing is rounded, and .rn is the only spelling.
  const bool widens = from != nullptr && to->pitch == 16;
  const std::string_view roundings = widens ? "rn" : to->roundings;
  if (!lists(roundings, parts[1]))
    return refusal("rounding of .{}: found {}, allowed: {}", to_name, printable(parts[1]), roundings);
  bool saturate = false, relu = false;
  for (std::size_t i = 2; i + 2 < parts.size(); ++i) {
    if (parts[i] == "satfinite" && !saturate && !widens && to->satfinite != Satfinite::no)
      saturate = true;
    else if (parts[i] == "relu" && !relu && to->relu && !(widens && to->format == Format::bf16))
      relu = true;
    else
      return refusal("qualifier: found {}, allowed: satfinite and relu where the type has them",
                     printable(parts[i]));
  }
  if (to->satfinite == Satfinite::always && !saturate)
    return refusal("qualifier: found no satfinite, allowed: satfinite: it is mandatory here");
  const bool stochastic = parts[1] == "rs";
  if (stochastic && to->random_bits == 0)
    return "not modelled: .rs to ." + std::string(to_name) +
           " (a and b share the upper bytes of both halves of rbits, e and f the lower ones; which of them "
           "reads which bits is in Figure 40 of the PTX ISA alone)";
  const auto count = static_cast<std::size_t>(to->count);
  const std::size_t wanted = from == nullptr ? count : 1;
  if (operands.size() != wanted) return refusal("operands: found {}, allowed: {}", operands.size(), wanted);

  const FormatSpec format = spec_of(to->format),
                   source = spec_of(from == nullptr ? Format::f32 : from->format);
  result = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int place = static_cast<int>(count - 1 - i);  // the first operand is the highest element
    const std::uint32_t stored =
        from == nullptr ? operands[i] : operands[0] >> place * from->pitch & low(source.value_bits());
    const double value = decode_value(stored, source);
    std::uint64_t bits = 0;
    if (stochastic) {
      bits = encode_stochastic(value, format, random_of_operand(random, i, count), to->random_bits, saturate);
    } else {
      bits = encode_value(value, format,
                          {find_cast_rounding(parts[1]).value_or(CastRounding::nearest_even), saturate});
    }
    if (relu && (bits & format.sign_bit()) != 0 && !std::isnan(value)) bits = 0;
    result |= static_cast<std::uint32_t>(bits) << place * to->pitch;
  }
  return {};
}

}  // namespace mmaudit
