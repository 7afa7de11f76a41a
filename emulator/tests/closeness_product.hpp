#pragma once
// A product for tests of closeness: its operands, its D by the model, and the same in another order.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/tolerance.hpp"

namespace mmaudit {

enum class Numbers {
  normal,
  channels,  ///< one k in 16 is 64 times larger: few products dominate
  heavy,     ///< exp(2 N(0, 1)) of either sign
  whole      ///< -15 to 15: sums that are exact, or nearly
};

struct TrialProduct {
  TrialProduct(std::string_view architecture, std::string_view name, std::uint64_t k,
               std::uint64_t promote = 0, std::uint64_t size = 48, Numbers kind = Numbers::normal,
               std::uint64_t seed = 7)
      : instruction(*find_instruction(name)),
        datapath(find_datapath(*find_architecture(architecture), instruction)->datapath),
        d(size * size * spec_of(instruction.d).storage_bytes()),
        numbers(kind),
        random(static_cast<std::mt19937::result_type>(seed)) {
    problem.m = problem.n = size, problem.k = k, problem.promote = promote;
    const std::uint64_t stored = stored_k(instruction, problem);
    fill(a, spec_of(instruction.a), size * stored, [&](std::uint64_t i) { return i % stored; });
    fill(b, spec_of(instruction.b), size * k, [&](std::uint64_t i) { return i / size; });
    const std::uint64_t blocks = scale_blocks(instruction, problem);
    for (auto* scales : {&scale_a, &scale_b})
      for (std::uint64_t s = 0; s < size * blocks; ++s)
        scales->push_back(static_cast<std::uint8_t>(one_bits(spec_of(instruction.scale)) + random() % 4));
    problem.a = a.data(), problem.b = b.data(), problem.d = d.data();
    if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
    if (is_sparse(instruction.op)) {
      const Sparsity sparsity = sparsity_of(instruction);
      metadata.resize(size * k / 2);
      for (std::size_t at = 0; at < metadata.size(); at += static_cast<std::size_t>(sparsity.kept))
        write_pattern(sparsity, static_cast<int>(random() % static_cast<unsigned>(patterns(sparsity))),
                      metadata.data() + at);
      problem.metadata = metadata.data();
    }
    compute();
  }

  template <typename Depth>
  void fill(std::vector<std::byte>& x, const FormatSpec& format, std::uint64_t count, const Depth& k_of) {
    std::normal_distribution<double> normal;
    x.resize(count * format.storage_bytes());
    for (std::uint64_t i = 0; i < count; ++i) {
      double number = normal(random);
      if (numbers == Numbers::channels && (k_of(i) * 0x9E3779B97F4A7C15U) >> 60 == 0) number *= 8;
      if (numbers == Numbers::heavy) number = std::copysign(std::exp(2 * normal(random)), number);
      if (numbers == Numbers::whole) number = static_cast<double>(random() % 31) - 15;
      store_word(x.data(), format.storage_bytes(), i, encode_nearest_even(number, format, true));
    }
  }
  /// D of what the operands are now; the check then gets the operands of before.
  void compute() { matmul(instruction, datapath, problem); }
  [[nodiscard]] GemmCloseness check(double false_alarm = 1e-6) const {
    return check_gemm_close(instruction, datapath, problem, {false_alarm, 1});
  }

  /// k of A and B in another order inside every `length` of k; of a sparse A its groups.
  void shuffle(std::uint64_t length) {
    const Sparsity sparsity = sparsity_of(instruction);
    const auto group = static_cast<std::uint64_t>(sparsity.group),
               kept = static_cast<std::uint64_t>(sparsity.kept);
    std::vector<std::uint64_t> order(problem.k / group);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint64_t first = 0; first < order.size(); first += length / group)
      std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first),
                   order.begin() + static_cast<std::ptrdiff_t>(first + length / group), random);
    const std::size_t of_a = spec_of(instruction.a).storage_bytes(),
                      of_b = spec_of(instruction.b).storage_bytes();
    const std::vector<std::byte> old_a = a, old_b = b;
    const std::vector<std::uint8_t> old_metadata = metadata;
    const std::uint64_t stored = order.size() * kept;
    for (std::uint64_t at = 0; at < order.size(); ++at)
      for (std::uint64_t i = 0; i < problem.m; ++i) {
        for (std::uint64_t x = 0; x < kept; ++x) {
          const std::uint64_t to = i * stored + at * kept + x, from = i * stored + order[at] * kept + x;
          store_word(a.data(), of_a, to, load_word(old_a.data(), of_a, from));
          if (!metadata.empty()) metadata[to] = old_metadata[from];
        }
        for (std::uint64_t x = 0; x < group; ++x)
          store_word(b.data(), of_b, (at * group + x) * problem.n + i,
                     load_word(old_b.data(), of_b, (order[at] * group + x) * problem.n + i));
      }
  }

  Instruction instruction;
  Datapath datapath;
  std::vector<std::byte> a, b, d;
  Numbers numbers;
  std::mt19937 random;
  std::vector<std::uint8_t> scale_a, scale_b, metadata;
  Matmul problem;
};

}  // namespace mmaudit
