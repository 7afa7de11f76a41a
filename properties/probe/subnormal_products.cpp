#include "subnormal_products.hpp"

#include <algorithm>
#include <functional>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::probe {
namespace {

class Maker {
 public:
  Maker(const UnknownGemm& gemm, bool with_c, std::uint64_t seed)
      : gemm_(gemm),
        a_(spec_of(gemm.a)),
        b_(spec_of(gemm.b)),
        d_(spec_of(gemm.d)),
        with_c_(with_c),
        draws_{seed} {}

  std::vector<SubnormalProduct> all() {
    const Number large_a = number(a_, std::min(a_.max_exponent() - 1, -b_.min_exponent())),
                 large_b = number(b_, std::min(b_.max_exponent() - 1, -a_.min_exponent()));
    add("A", subnormal(a_), large_b);
    add("B", large_a, subnormal(b_));
    // A single product, twice the least normal number of D, shows what becomes of a C below it.
    if (with_c_) add_one("C", d_.min_exponent() + 1, true);
    // Sums begin below the least normal number and end above it: a few products, each below a quarter of it.
    const int least_sum = spec_of(gemm_.d == Format::f64 ? Format::f64 : Format::f32).min_exponent();
    const int few = least_sum - 2;
    if (gemm_.k >= kFew && in_range(few) && d_.min_exponent() <= least_sum)
      add("sums", number(a_, half(few), false), number(b_, few - half(few), false), kFew);
    add_one("D", d_.min_exponent() - 1, false);
    return std::move(out_);
  }

 private:
  using Number = std::function<std::uint64_t()>;
  static constexpr std::uint64_t kFew = 16;

  /// Exponent of A's factor where a product has this one.
  [[nodiscard]] int half(int exponent) const {
    return std::clamp(
        exponent / 2, std::max(a_.min_exponent(), exponent - b_.max_exponent() + 1),
        std::max(a_.min_exponent(), std::min(a_.max_exponent() - 1, exponent - b_.min_exponent())));
  }
  /// Whether normal numbers of A and B have a product of this exponent.
  [[nodiscard]] bool in_range(int exponent) const { return exponent - half(exponent) >= b_.min_exponent(); }

  std::uint64_t sign(const FormatSpec& format) { return draws_.next() % 2 != 0 ? format.sign_bit() : 0; }
  Number subnormal(const FormatSpec& format) {
    return [this, format] {
      const std::uint64_t fractions = (std::uint64_t{1} << format.fraction_bits) - 1;
      return sign(format) | (1 + draws_.next() % fractions) << format.ignored_low_bits;
    };
  }
  /// Of one binade, of both signs or positive.
  Number number(const FormatSpec& format, int exponent, bool both = true) {
    return [this, format, exponent, both] {
      const std::uint64_t fraction = draws_.next() & ((std::uint64_t{1} << format.fraction_bits) - 1),
                          field =
                              static_cast<std::uint64_t>(exponent) + static_cast<std::uint64_t>(format.bias);
      return (both ? sign(format) : 0) | (field << format.fraction_bits | fraction)
                                             << format.ignored_low_bits;
    };
  }
  static std::vector<std::byte> filled(const FormatSpec& format, std::uint64_t rows, std::uint64_t columns,
                                       const Number& next,
                                       const std::function<bool(std::uint64_t, std::uint64_t)>& where) {
    std::vector<std::byte> out(rows * columns * format.storage_bytes());
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        if (where(i, j)) store_word(out.data(), format.storage_bytes(), i * columns + j, next());
    return out;
  }
  static bool everywhere(std::uint64_t /*row*/, std::uint64_t /*column*/) { return true; }
  /// A has numbers in its first columns.
  void add(const char* of, const Number& a, const Number& b, std::uint64_t columns = ~std::uint64_t{0}) {
    const auto first = [columns](std::uint64_t, std::uint64_t k) { return k < columns; };
    out_.push_back(
        {of, filled(a_, gemm_.m, gemm_.k, a, first), filled(b_, gemm_.k, gemm_.n, b, everywhere), {}});
  }
  /// A row of A has a single number, so D's sum is one product.
  void add_one(const char* of, int exponent, bool subnormal_c) {
    if (!in_range(exponent)) return;
    const auto one = [this](std::uint64_t i, std::uint64_t k) { return k == i % gemm_.k; };
    out_.push_back(
        {of, filled(a_, gemm_.m, gemm_.k, number(a_, half(exponent)), one),
         filled(b_, gemm_.k, gemm_.n, number(b_, exponent - half(exponent)), everywhere),
         subnormal_c ? filled(d_, gemm_.m, gemm_.n, subnormal(d_), everywhere) : std::vector<std::byte>{}});
  }

  const UnknownGemm& gemm_;
  FormatSpec a_, b_, d_;
  bool with_c_;
  Draws draws_;
  std::vector<SubnormalProduct> out_;
};

}  // namespace

std::vector<SubnormalProduct> subnormal_products(const UnknownGemm& gemm, bool with_c, std::uint64_t seed) {
  return Maker(gemm, with_c, seed).all();
}

}  // namespace mmaudit::probe
