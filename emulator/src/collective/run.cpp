// The bits of a sum over ranks.
#include <algorithm>
#include <bit>

#include "mmaudit/collective.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/functions/binary32.hpp"

namespace mmaudit {
namespace {

/// In binary64, whose sum, product and quotient of such numbers is rounded once more without harm: 53 bits
/// are two more than twice 24 and more (Figueroa, "When is double rounding innocuous?", 1995).
class Adder {
 public:
  Adder(const FormatSpec& format, bool gpu)
      : format_(format), gpu_(gpu), decode_(format), cast_(format, {}) {}

  [[nodiscard]] std::uint32_t sum(std::uint32_t a, std::uint32_t b) const {
    const double value = decode_(a) + decode_(b);
    return value == value ? bits(value) : nan(a, b);
  }
  [[nodiscard]] std::uint32_t product(std::uint32_t a, std::uint32_t b) const {
    const double value = decode_(a) * decode_(b);
    return value == value ? bits(value) : nan(a, b);
  }
  /// a * b + c with one rounding: products of the types are exact in binary64.
  [[nodiscard]] std::uint32_t fused(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const double value = functions::odd_sum(decode_(a) * decode_(b), decode_(c));
    return value == value ? bits(value) : nan(a, c);
  }
  [[nodiscard]] std::uint32_t quotient(std::uint32_t a, double by) const {
    const double value = decode_(a) / by;
    if (value == value) return bits(value);
    return format_.id == Format::bf16 ? 0xFFFF : nan(a, a);  // torch's vector code
  }
  [[nodiscard]] std::uint32_t bits(double value) const {
    if (format_.id == Format::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return static_cast<std::uint32_t>(cast_(value));
  }

 private:
  /// A GPU's NaN has all bits but the sign. An x86 processor keeps the first NaN of its operands, quiet, and
  /// makes a negative one; torch's conversion keeps the sign of an f16 and nothing of a bf16.
  [[nodiscard]] std::uint32_t nan(std::uint32_t a, std::uint32_t b) const {
    const auto fraction = static_cast<std::uint32_t>((1U << format_.fraction_bits) - 1);
    const auto sign = static_cast<std::uint32_t>(format_.sign_bit());
    const std::uint32_t infinity = (sign - 1) & ~fraction, quiet = infinity | (fraction + 1) / 2;
    if (gpu_) return sign - 1;
    if (format_.id == Format::bf16) return quiet;
    const auto is_nan = [&](std::uint32_t x) { return (x & (sign - 1)) > infinity; };
    const std::uint32_t kept = is_nan(a) ? a : is_nan(b) ? b : sign | quiet;
    return format_.id == Format::f32 ? kept | quiet : (kept & sign) | quiet;
  }

  FormatSpec format_;
  bool gpu_;
  FastDecode decode_;
  FastCast cast_;
};

}  // namespace

void run_collective(const CollectiveProblem& problem, const CollectivePlan& plan, const void* x, void* y) {
  constexpr std::uint64_t kBlock = 4096;
  const FormatSpec format = spec_of(problem.type);
  const std::size_t bytes = format.storage_bytes();
  const Adder adder(format, plan.library->gpu);
  const bool averages = problem.operation == CollectiveOperation::average;
  const bool multiplied = averages && plan.library->multiplied;
  const std::uint32_t factor =
      adder.bits(static_cast<double>(static_cast<float>(1.0 / static_cast<double>(problem.ranks))));
  std::vector<std::vector<std::uint32_t>> values(problem.ranks, std::vector<std::uint32_t>(kBlock));
  for (const CollectivePiece& piece : plan.pieces) {
    const CollectiveOrder& order = plan.orders[piece.order];
    for (std::uint64_t done = 0; done < piece.count; done += kBlock) {
      const std::uint64_t first = piece.first + done, some = std::min(kBlock, piece.count - done);
      for (std::uint64_t rank = 0; rank < problem.ranks; ++rank)
        for (std::uint64_t i = 0; i < some; ++i)
          values[rank][i] = static_cast<std::uint32_t>(load_word(x, bytes, rank * problem.count + first + i));
      std::vector<bool> own(problem.ranks, multiplied);  // not multiplied yet
      for (const CollectiveJoin& join : order) {
        const auto to = static_cast<std::size_t>(join.into), sender = static_cast<std::size_t>(join.from);
        std::vector<std::uint32_t>&into = values[to], &from = values[sender];
        for (std::uint64_t i = 0; i < some; ++i) {
          if (own[sender]) from[i] = adder.product(from[i], factor);
          into[i] = own[to] ? adder.fused(into[i], factor, from[i]) : adder.sum(into[i], from[i]);
        }
        own[to] = own[sender] = false;
      }
      const std::vector<std::uint32_t>& sums = values[static_cast<std::size_t>(order.back().into)];
      for (std::uint64_t i = 0; i < some; ++i)
        store_word(
            y, bytes, first + i,
            averages && !multiplied ? adder.quotient(sums[i], static_cast<double>(problem.ranks)) : sums[i]);
    }
  }
}

}  // namespace mmaudit
