#include "masks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "mmaudit/arithmetic/unpack.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::probe {
namespace {

int least_exponent(const FormatSpec& format) { return format.min_exponent() - format.fraction_bits; }

std::uint64_t power_bits(const FormatSpec& format, int exponent, bool negative) {
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  const std::uint64_t bits =
      exponent >= format.min_exponent()
          ? (static_cast<std::uint64_t>(exponent + format.bias) << format.fraction_bits) * unit
          : unit << (exponent - least_exponent(format));
  return bits | (negative ? format.sign_bit() : 0);
}

/// Bits that any known datapath keeps below the largest addend, and one to spare.
constexpr int kKept = 27, kKeptDouble = 54;

/// Fraction bits of D that tell a rounded multiple of alpha from its neighbours.
constexpr int kMultipleBits = 4;

}  // namespace

MaskedGemm::MaskedGemm(const UnknownGemm& gemm, double alpha, Format sums) : gemm_(gemm), alpha_(alpha) {
  const FormatSpec a = spec_of(gemm.a), b = spec_of(gemm.b), d = spec_of(gemm.d), s = spec_of(sums);
  const bool binary64 = gemm.d == Format::f64;
  const int kept = binary64 ? kKeptDouble : kKept;
  // A sum of binary16 steps has to hold the large value too.
  constexpr int kMost = 60;
  const int most = std::min({a.max_exponent() + b.max_exponent(), d.max_exponent(), s.max_exponent(), kMost});
  const int large = most;
  large_.a = std::min(a.max_exponent(), large - std::min(b.max_exponent(), large / 2));
  large_.b = large - large_.a;
  constexpr int kApart = 48;
  // c is one of the leaves: D's format holds the small value as well.
  const int lowest =
      std::max({least_exponent(a) + least_exponent(b), large - kApart - (binary64 ? kApart : 0),
                least_exponent(d), least_exponent(s)});
  small_.a = std::max(least_exponent(a), lowest - std::max(least_exponent(b), lowest / 2));
  small_.b = lowest - small_.a;
  // Sums of 13 fraction bits count so far, and D has to.
  const int bits = std::min({large - lowest - kept, 12, int{s.fraction_bits},
                             int{d.fraction_bits} - (alpha == 1 ? 0 : kMultipleBits)});
  if (bits < 0)
    refuse(
        "type: found {} and {} with a D of {}, allowed: formats whose products reach over 27 binades (f64: "
        "54) that D holds",
        name_of(gemm.a), name_of(gemm.b), name_of(gemm.d));
  most_small_ = std::uint64_t{1} << bits;
  a_.resize(gemm.m * gemm.k * a.storage_bytes());
  b_.resize(gemm.k * gemm.n * b.storage_bytes());
  if (gemm.with_c) c_.resize(gemm.m * gemm.n * d.storage_bytes());
  d_.resize(gemm.m * gemm.n * d.storage_bytes());
}

void MaskedGemm::place(std::size_t row, std::uint64_t leaf, const Powers& power, bool negative) {
  const FormatSpec a = spec_of(gemm_.a), b = spec_of(gemm_.b), d = spec_of(gemm_.d);
  if (leaf == gemm_.k) {
    store_word(c_.data(), d.storage_bytes(), row * gemm_.n + row, power_bits(d, power.a + power.b, negative));
    return;
  }
  store_word(a_.data(), a.storage_bytes(), row * gemm_.k + leaf, power_bits(a, power.a, negative));
  store_word(b_.data(), b.storage_bytes(), leaf * gemm_.n + row, power_bits(b, power.b, false));
}

std::optional<std::uint64_t> MaskedGemm::count_at(std::size_t row) {
  const FormatSpec d = spec_of(gemm_.d);
  const std::uint64_t bits = load_word(d_.data(), d.storage_bytes(), row * gemm_.n + row);
  digest_ = mix(digest_ ^ bits) + 1;
  double value = 0;
  if (gemm_.d == Format::f64) {
    value = std::bit_cast<double>(bits);
  } else {
    const Operand x = unpack(d, UnpackRule{}, bits);
    if (x.kind != Kind::finite) return std::nullopt;
    value = x.significand == 0 ? 0 : std::ldexp(x.significand, x.exponent - d.fraction_bits);
  }
  double count = std::ldexp(value, -(small_.a + small_.b)) / alpha_;
  if (alpha_ != 1 && std::abs(count - std::round(count)) < std::ldexp(1, -kMultipleBits))
    count = std::round(count);
  if (!(count >= 0) || count > static_cast<double>(most_small_) || count != std::floor(count))
    return std::nullopt;
  return static_cast<std::uint64_t>(count);
}

std::vector<std::optional<std::uint64_t>> MaskedGemm::left(const std::vector<Mask>& masks,
                                                           const std::vector<std::uint64_t>& small) {
  // A mask with many small values becomes several, whose counts are added.
  struct Part {
    std::size_t mask, first;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < masks.size(); ++i)
    for (std::size_t first = 0; first < small.size(); first += most_small_) parts.push_back({i, first});
  std::vector<std::optional<std::uint64_t>> counts(masks.size(), 0);
  const auto rows = static_cast<std::size_t>(std::min(gemm_.m, gemm_.n));
  for (std::size_t begin = 0; begin < parts.size(); begin += rows) {
    const std::size_t here = std::min(rows, parts.size() - begin);
    for (auto* buffer : {&a_, &b_, &c_}) std::fill(buffer->begin(), buffer->end(), std::byte{0});
    for (std::size_t row = 0; row < here; ++row) {
      const Part& part = parts[begin + row];
      const Mask& mask = masks[part.mask];
      const std::size_t last = std::min<std::size_t>(small.size(), part.first + most_small_);
      for (std::size_t i = part.first; i < last; ++i) place(row, small[i], small_, false);
      if (mask.plus == mask.minus) continue;
      place(row, mask.plus, large_, false);
      place(row, mask.minus, large_, true);
    }
    ++calls_;
    gemm_.run(a_.data(), b_.data(), gemm_.with_c ? c_.data() : nullptr, d_.data());
    for (std::size_t row = 0; row < here; ++row) {
      std::optional<std::uint64_t>& count = counts[parts[begin + row].mask];
      const std::optional<std::uint64_t> found = count_at(row);
      count = count && found ? std::optional(*count + *found) : std::nullopt;
    }
  }
  return counts;
}

namespace {

using Leaves = std::vector<std::uint64_t>;

/// The same tree with every k moved up.
SumTree moved(SumTree tree, std::uint64_t offset) {
  if (tree.leaf()) tree.k += offset;
  for (SumTree& child : tree.children) child = moved(std::move(child), offset);
  return tree;
}

/// Two leaves that meet at the root and nowhere below.
std::pair<std::uint64_t, std::uint64_t> apart(const SumTree& tree) {
  return {tree.children.front().least(), tree.children.back().least()};
}

class TreeSearch {
 public:
  explicit TreeSearch(MaskedGemm& gemm) : gemm_(gemm) {}

  /// The tree of these leaves as if there were no others, told from the sums that the first or the last leaf
  /// is in.
  SumTree build(const Leaves& leaves, bool from_last = false) {
    const std::uint64_t pivot = from_last ? leaves.back() : leaves.front();
    SumTree sum{pivot, {}};
    if (leaves.size() == 1 || !why.empty()) return sum;
    Leaves joined{pivot}, before;
    SumTree part;
    bool fused = false;
    const std::map<std::uint64_t, Leaves> groups = groups_of(leaves, pivot);
    // A pivot that joins last says nothing of the others: the leaf at their other end may join first.
    const bool turn = groups.size() == 1 && !from_last;
    for (const auto& [size, group] : groups) {
      if (size != joined.size() + group.size()) {
        why = gemm_.leaf_name(pivot) + " meets " + gemm_.leaf_name(group.front()) + " in a sum of " +
              std::to_string(size) + " addends, but " + std::to_string(joined.size() + group.size()) +
              " addends meet it there or before";
        return sum;
      }
      // Groups of one shape are taken for one: the random products at the end would show another.
      const std::uint64_t offset = before.empty() ? 0 : group.front() - before.front();
      if (offset != 0 && same_shape(before, group, offset)) {
        part = moved(std::move(part), offset);
      } else {
        part = build(group, turn);
        fused = !part.leaf() && loses(apart(part), joined);
      }
      std::vector<SumTree> together{std::move(sum)};
      if (fused)
        together.insert(together.end(), part.children.begin(), part.children.end());
      else
        together.push_back(part);
      sum = sum_of(std::move(together));
      joined.insert(joined.end(), group.begin(), group.end());
      before = group;
    }
    return sum;
  }

  std::string why;

 private:
  static bool same_shape(const Leaves& x, const Leaves& y, std::uint64_t offset) {
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [offset](std::uint64_t first, std::uint64_t second) {
             return first + offset == second;
           });
  }
  /// The other leaves by the number of addends of the least sum that has them and the pivot.
  std::map<std::uint64_t, Leaves> groups_of(const Leaves& leaves, std::uint64_t pivot) {
    std::vector<Mask> masks;
    masks.reserve(leaves.size());
    for (const std::uint64_t leaf : leaves)
      if (leaf != pivot) masks.push_back({pivot, leaf});
    const auto counts = gemm_.left(masks, leaves);
    std::map<std::uint64_t, Leaves> groups;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!counts[i]) {
        why = "masks of " + gemm_.leaf_name(pivot) + " and " + gemm_.leaf_name(masks[i].minus) +
              " leave a D that is no sum of small values";
        return {};
      }
      groups[leaves.size() - *counts[i]].push_back(masks[i].minus);
    }
    return groups;
  }
  /// Whether the small values are in the running sum before the large ones cancel.
  bool loses(std::pair<std::uint64_t, std::uint64_t> large, const Leaves& small) {
    const auto count = gemm_.left({{large.first, large.second}}, {small.front()}).front();
    if (!count)
      why = "a mask of " + gemm_.leaf_name(large.first) + " leaves a D that is no sum of small values";
    return count && *count == 0;
  }

  MaskedGemm& gemm_;
};

SumTree searched(MaskedGemm& gemm, const Leaves& all, std::string& why) {
  // Where D does not hold every small value once, what masks leave of them means nothing.
  const auto sum = gemm.left({Mask{}}, all).front();
  if (!sum || *sum != all.size()) {
    const bool with_c = gemm.leaf_name(all.back()) == "c";
    why = "the sum of " + std::to_string(all.size() - (with_c ? 1 : 0)) + " equal products" +
          (with_c ? " and a c as large as each" : "") + " is " +
          (sum ? std::to_string(*sum) + " of them" : "no whole number of them");
    return {};
  }
  TreeSearch search(gemm);
  SumTree tree = search.build(all);
  why = search.why;
  return tree;
}

}  // namespace

std::optional<SumTree> measured_tree(MaskedGemm& gemm, std::uint64_t leaves, std::string& why) {
  Leaves all(leaves);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  gemm.forget_digest();
  SumTree tree = searched(gemm, all, why);
  if (why.empty()) return tree;
  const std::uint64_t digest = gemm.digest();
  gemm.forget_digest();
  std::string again;
  searched(gemm, all, again);
  if (gemm.digest() != digest) why = "calls with the same operands give other bits";
  return std::nullopt;
}

}  // namespace mmaudit::probe
