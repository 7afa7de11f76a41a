#pragma once
// One dot product, written as values or bits, through emulate(): every element of a tile is that dot product,
// and they must all come out alike.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::test {

/// The instruction of a name, with a clear failure for a name that does not exist.
inline Instruction instruction_of(std::string_view name) {
  const auto row = find_instruction(name);
  if (!row) throw std::invalid_argument(why_no_instruction(name));
  return *row;
}

inline Datapath hopper_row(const Instruction& instruction) {
  const DatapathEntry* entry = find_datapath(*find_architecture("hopper"), instruction);
  if (entry == nullptr) throw std::invalid_argument("not on hopper: " + name_of(instruction));
  return entry->datapath;
}

/// Raw bits of `value`, which the format must hold exactly.
inline std::uint64_t bits_of(double value, Format format) {
  const std::uint64_t bits = encode_nearest_even(value, spec_of(format));
  const double back = decode_value(bits, spec_of(format));
  if (back != value && value == value)
    throw std::invalid_argument(std::string(name_of(format)) + " does not hold " + std::to_string(value));
  return bits;
}

class Dot {
 public:
  explicit Dot(std::string_view name) : Dot(instruction_of(name)) {}
  explicit Dot(const Instruction& instruction)
      : instruction_(instruction),
        a_(static_cast<std::size_t>(instruction.k)),
        b_(static_cast<std::size_t>(instruction.k)) {}

  Dot& at(int k, double a, double b) {
    return raw(k, bits_of(a, instruction_.a), bits_of(b, instruction_.b));
  }
  Dot& raw(int k, std::uint64_t a, std::uint64_t b) {
    a_.at(static_cast<std::size_t>(k)) = a;
    b_.at(static_cast<std::size_t>(k)) = b;
    return *this;
  }
  /// The same product at k = first .. last.
  Dot& all(int first, int last, double a, double b) {
    for (int k = first; k <= last; ++k) at(k, a, b);
    return *this;
  }
  Dot& c(double value) { return raw_c(bits_of(value, instruction_.c)); }
  Dot& raw_c(std::uint64_t bits) {
    c_ = bits;
    return *this;
  }
  Dot& modifiers(unsigned bits) {
    modifiers_ = static_cast<std::uint8_t>(bits);
    return *this;
  }

  /// D by the Hopper datapath.
  [[nodiscard]] std::uint64_t bits() const { return bits(hopper_row(instruction_)); }
  [[nodiscard]] std::uint64_t bits(const Datapath& datapath) const {
    const auto m = static_cast<std::size_t>(instruction_.m), n = static_cast<std::size_t>(instruction_.n);
    const std::size_t depth = a_.size();
    std::vector<std::byte> a, b, c, d(m * n * spec_of(instruction_.d).storage_bytes());
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t k = 0; k < depth; ++k) append(a, a_[k], instruction_.a);
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t j = 0; j < n; ++j) append(b, b_[k], instruction_.b);
    for (std::size_t e = 0; e < m * n; ++e) append(c, c_, instruction_.c);
    emulate(instruction_, datapath, {1, a.data(), b.data(), c.data(), d.data(), &modifiers_});
    const std::size_t bytes = spec_of(instruction_.d).storage_bytes();
    for (std::size_t e = 1; e < m * n; ++e)
      EXPECT_EQ(std::memcmp(d.data(), d.data() + e * bytes, bytes), 0) << "element " << e << " differs";
    std::uint64_t result = 0;
    std::memcpy(&result, d.data(), bytes);
    return result;
  }

 private:
  static void append(std::vector<std::byte>& buffer, std::uint64_t bits, Format format) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    buffer.resize(buffer.size() + bytes);
    std::memcpy(buffer.data() + buffer.size() - bytes, &bits, bytes);
  }

  Instruction instruction_;
  std::vector<std::uint64_t> a_, b_;
  std::uint64_t c_ = 0;
  std::uint8_t modifiers_ = 0;
};

/// Every entry of kInstructions that Hopper has and for which `wanted` holds, wgmma with the least n. A
/// sparse one is no Dot: sparse_test.cpp has those.
template <typename Wanted>
std::vector<Instruction> instructions_where(Wanted wanted) {
  std::vector<Instruction> rows;
  for (Instruction inst : kInstructions) {
    if (inst.n == 0) inst.n = kWgmmaMinN;
    if (is_sparse(inst.op) || find_datapath(*find_architecture("hopper"), inst) == nullptr) continue;
    if (wanted(inst)) rows.push_back(inst);
  }
  return rows;
}

inline bool is_integer(const Instruction& inst) { return spec_of(inst.a).integer(); }
/// By the tensor core alone: no c or D that is converted beside it, no m8n8k4 that other units compute.
inline bool is_plain(const Instruction& inst) { return inst.c == inst.d && inst.unit != units::mma_884; }
inline bool is_fused_16_bit(const Instruction& inst) {
  return !is_fp8(inst.a) && inst.a != Format::f64 && !is_integer(inst) && is_plain(inst);
}

}  // namespace mmaudit::test
