#include "specials.hpp"

#include <cmath>
#include <limits>

namespace mmaudit::fast {
namespace {

bool is_negative(const Decode& format, std::uint64_t raw) { return (raw >> format.sign_bit & 1) != 0; }
/// As the datapath sees it: 0 where that is flushed.
std::uint32_t magnitude_of(const Decode& format, std::uint64_t raw) {
  const std::uint32_t stored = static_cast<std::uint32_t>(raw >> format.ignored_bits) & format.magnitude_mask;
  if (format.nan_at_minus_zero && stored == 0 && is_negative(format, raw)) return format.special_from;
  return stored < format.zero_below ? 0 : stored;
}

/// The same of an infinity of the other sign.
std::uint8_t turned(std::uint8_t code) {
  constexpr std::uint8_t kSigns = Specials::kPlus | Specials::kMinus;
  const auto signs = static_cast<std::uint8_t>((code << 1 | code >> 1) & kSigns);
  return static_cast<std::uint8_t>((code & ~kSigns) | signs);
}

}  // namespace

Specials::Specials(const DotSpec& spec, const ProductReader& reader, std::uint64_t m, const Decode& a,
                   const Decode& b)
    : spec_(spec),
      reader_(reader),
      m_(m),
      a_(a),
      b_(b),
      of_zero_(spec.datapath.infinity_times_zero == InfinityTimesZero::nan ? kNan : kPlain) {}

void Specials::start(const TilePlace& tile, std::uint64_t first, std::uint64_t depth) {
  any_ = false;
  tile_ = tile;
  first_row_ = tile.matrix * m_ + tile.row;
  first_ = first, depth_ = depth;
  const auto group = static_cast<std::uint64_t>(spec_.sparsity.group),
             kept = static_cast<std::uint64_t>(spec_.sparsity.kept);
  first_k_ = first / kept * group, depth_k_ = depth / kept * group;
}

void Specials::begin() {
  if (any_) return;
  any_ = true;
  rows_.assign(kTileRows, 0);
  columns_.assign(kTileColumns, 0);
  by_row_.assign(kTileRows * kTileColumns, 0);
  by_column_.assign(kTileRows * kTileColumns, 0);
  row_of_b_.assign(depth_k_, {});
  met_of_a_.assign(depth_k_, {});
}

void Specials::nan_row(std::uint64_t i) {
  begin();
  rows_[i] |= kNan;
}
void Specials::nan_column(std::uint64_t j) {
  begin();
  columns_[j] |= kNan;
}

std::optional<float> Specials::decided(unsigned code, float nan, float before, float after) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if ((code & kPlain) != 0) return std::nullopt;
  if ((code & kNan) != 0 || std::isnan(before)) return nan;
  if (code == 0) return after;
  const bool plus = (code & kPlus) != 0 || before == kInfinity;
  const bool minus = (code & kMinus) != 0 || before == -kInfinity;
  if (plus && minus) return nan;
  const float one = plus ? kInfinity : -kInfinity;
  // Where numbers overflowed to the other side it matters which came first.
  if (std::isfinite(after) || after == one) return one;
  return std::nullopt;
}

std::uint8_t Specials::times_infinity(const Decode& format, std::uint64_t raw) const {
  const std::uint32_t magnitude = magnitude_of(format, raw);
  if (magnitude == 0) return of_zero_;
  if (magnitude >= format.special_from && magnitude != format.infinity) return kNan;
  return is_negative(format, raw) ? kMinus : kPlus;
}

const std::vector<std::uint8_t>& Specials::met_by_row(std::uint64_t k) {
  std::vector<std::uint8_t>& codes = row_of_b_[k - first_k_];
  if (codes.empty())
    reader_.with_b([&](const auto& read) {
      for (std::uint64_t j = 0; j < tile_.columns; ++j)
        codes.push_back(times_infinity(b_, read(tile_.matrix, k, tile_.column + j)));
    });
  return codes;
}

const std::vector<std::uint8_t>& Specials::met_by_column(std::uint64_t k) {
  std::vector<std::uint8_t>& codes = met_of_a_[k - first_k_];
  if (!codes.empty()) return codes;
  const auto group = static_cast<std::uint64_t>(spec_.sparsity.group),
             kept = static_cast<std::uint64_t>(spec_.sparsity.kept);
  reader_.with_a([&](const auto& read) {
    for (std::uint64_t i = 0; i < tile_.rows; ++i) {
      const std::uint64_t row = first_row_ + i;
      std::uint8_t code = 0;
      for (std::uint64_t stored = k / group * kept; stored < k / group * kept + kept; ++stored)
        if (reader_.met(row, stored) == k) code |= times_infinity(a_, read(row, stored));
      codes.push_back(code);
    }
  });
  return codes;
}

void Specials::infinity_in_row(std::uint64_t i, std::uint64_t stored, bool negative) {
  const std::uint64_t row = first_row_ + i;
  const std::vector<std::uint8_t>& codes = met_by_row(reader_.met(row, stored));
  std::uint8_t* out = &by_row_[i * kTileColumns];
  for (std::size_t j = 0; j < codes.size(); ++j) out[j] |= negative ? turned(codes[j]) : codes[j];
}

void Specials::infinity_in_column(std::uint64_t k, std::uint64_t j, bool negative) {
  const std::vector<std::uint8_t>& codes = met_by_column(k);
  std::uint8_t* out = &by_column_[j * kTileRows];
  for (std::size_t i = 0; i < codes.size(); ++i) out[i] |= negative ? turned(codes[i]) : codes[i];
}

void Specials::look_at_rows(std::uint64_t first, std::uint64_t count) {
  reader_.with_a([&](const auto& read) {
    for (std::uint64_t i = first; i < std::min(first + count, tile_.rows); ++i) {
      for (std::uint64_t stored = first_; stored < first_ + depth_; ++stored) {
        const std::uint64_t raw = read(first_row_ + i, stored);
        const std::uint32_t magnitude = magnitude_of(a_, raw);
        if (magnitude < a_.special_from) continue;
        begin();
        rows_[i] |= magnitude == a_.infinity ? 1 : kNan;
        if (magnitude == a_.infinity && (rows_[i] & kNan) == 0)
          infinity_in_row(i, stored, is_negative(a_, raw));
      }
    }
  });
}

void Specials::look_at_columns(std::uint64_t first, std::uint64_t count) {
  const bool sparse = spec_.sparsity.kept != spec_.sparsity.group;
  reader_.with_b([&](const auto& read) {
    for (std::uint64_t k = first_k_; k < first_k_ + depth_k_; ++k) {
      for (std::uint64_t j = first; j < std::min(first + count, tile_.columns); ++j) {
        const std::uint64_t raw = read(tile_.matrix, k, tile_.column + j);
        const std::uint32_t magnitude = magnitude_of(b_, raw);
        if (magnitude < b_.special_from) continue;
        begin();
        const bool infinite = magnitude == b_.infinity;
        columns_[j] |= infinite || sparse ? 1 : kNan;
        if ((columns_[j] & kNan) != 0) continue;
        if (infinite) infinity_in_column(k, j, is_negative(b_, raw));
        if (infinite) continue;
        // Of a sparse A some rows don't read it.
        const std::vector<std::uint8_t>& codes = met_by_column(k);
        for (std::size_t i = 0; i < codes.size(); ++i)
          if (codes[i] != 0) by_column_[j * kTileRows + i] |= kNan;
      }
    }
  });
}

}  // namespace mmaudit::fast
