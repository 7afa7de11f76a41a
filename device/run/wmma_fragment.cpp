#include "mmaudit/device/wmma_fragment.hpp"

#include <algorithm>
#include <bit>

#include "kernels/wmma_layout.hpp"

namespace mmaudit::device {
namespace {

/// Memory of one operand and the registers of a warp, both as bits.
class Places {
 public:
  Places(const Instruction& instruction, WmmaOperand operand, bool column_major)
      : matrix_(wmma_matrix(instruction, operand)),
        column_major_(column_major),
        bits_(static_cast<std::size_t>(matrix_.bits)),
        image_(static_cast<std::size_t>(matrix_.bytes(column_major))) {
    const std::size_t each = std::max<std::size_t>(32, bits_);
    const auto count = static_cast<std::size_t>(wmma_registers(instruction, operand));
    values_ = static_cast<int>(count * each / bits_);
    registers_.resize(kWarpLanes * count * each / 8);
  }

  [[nodiscard]] int rows() const { return matrix_.rows; }
  [[nodiscard]] int cols() const { return matrix_.cols; }
  [[nodiscard]] int values() const { return values_; }
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(matrix_.rows) * static_cast<std::size_t>(matrix_.cols);
  }
  [[nodiscard]] std::size_t slots() const { return kWarpLanes * static_cast<std::size_t>(values_); }
  std::vector<std::uint8_t>& image() { return image_; }
  std::vector<std::uint8_t>& registers() { return registers_; }

  void write_element(std::size_t element, bool one) { write(image_, image_bit(element), one); }
  void write_slot(std::size_t slot, bool one) { write(registers_, slot * bits_, one); }
  [[nodiscard]] std::uint64_t element(std::size_t element) const { return read(image_, image_bit(element)); }
  [[nodiscard]] std::uint64_t slot(std::size_t slot) const { return read(registers_, slot * bits_); }

 private:
  [[nodiscard]] std::size_t image_bit(std::size_t element) const {
    const auto cols = static_cast<std::size_t>(matrix_.cols);
    const std::size_t row = element / cols, col = element % cols;
    const std::size_t line = column_major_ ? col : row, position = column_major_ ? row : col;
    return line * static_cast<std::size_t>(matrix_.pitch(column_major_)) * 8 + position * bits_;
  }
  static void write(std::vector<std::uint8_t>& bytes, std::size_t bit, bool one) {
    const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
    bytes[bit / 8] = static_cast<std::uint8_t>(one ? bytes[bit / 8] | mask : bytes[bit / 8] & ~mask);
  }
  [[nodiscard]] std::uint64_t read(const std::vector<std::uint8_t>& bytes, std::size_t bit) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bits_; ++i)
      value |= static_cast<std::uint64_t>(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
    return value;
  }

  WmmaMatrix matrix_;
  bool column_major_;
  std::size_t bits_;
  int values_ = 0;
  std::vector<std::uint8_t> image_, registers_;
};

/// Numbers that places spell, bit by bit, in pairs of a pattern and its complement.
class Spelled {
 public:
  explicit Spelled(std::size_t count) : numbers_(count) {}

  template <typename Read>
  void take(int bit, const Read& pattern) {
    first_.clear();
    for (std::size_t i = 0; i < numbers_.size(); ++i) first_.push_back(pattern(i));
    bit_ = bit;
  }
  template <typename Read>
  void take_complement(const Read& complement) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const std::uint64_t one = first_[i], other = complement(i);
      if (one > 1 || other > 1 || one == other)
        numbers_[i] = WmmaFragment::kNone;
      else if (numbers_[i] != WmmaFragment::kNone)
        numbers_[i] |= static_cast<std::int32_t>(one) << bit_;
    }
  }
  [[nodiscard]] const std::vector<std::int32_t>& numbers() const { return numbers_; }

 private:
  std::vector<std::int32_t> numbers_;
  std::vector<std::uint64_t> first_;
  int bit_ = 0;
};

void require_layout(const Instruction& instruction, WmmaOperand operand, bool column_major) {
  if (instruction.op != Op::wmma)
    refuse("--inst: found {}, allowed: an instruction of wmma", name_of(instruction));
  if (wmma_any_layout(instruction)) return;
  if (operand == WmmaOperand::a && column_major)
    refuse("--layout-a: found col, allowed: row: {} has no other", name_of(instruction));
  if (operand == WmmaOperand::b && !column_major)
    refuse("--layout-b: found row, allowed: col: {} has no other", name_of(instruction));
}

}  // namespace

int multiplicity(const WmmaFragment& fragment) {
  std::vector<int> times(static_cast<std::size_t>(fragment.rows) * static_cast<std::size_t>(fragment.cols));
  for (const std::int32_t element : fragment.element)
    if (element != WmmaFragment::kNone) ++times.at(static_cast<std::size_t>(element));
  const bool same = std::all_of(times.begin(), times.end(), [&](int x) { return x == times.front(); });
  return same && !times.empty() ? times.front() : 0;
}

WmmaFragment read_wmma_fragment(const Instruction& instruction, WmmaOperand operand, bool column_major,
                                const MoveFragment& move) {
  require_layout(instruction, operand, column_major);
  Places places(instruction, operand, column_major);
  const bool stores = operand == WmmaOperand::d;
  const std::size_t sources = stores ? places.slots() : places.elements();
  Spelled spelled(stores ? places.elements() : places.slots());
  const auto seen = [&](std::size_t at) { return stores ? places.element(at) : places.slot(at); };
  const auto run = [&](int bit, bool complement) {
    for (std::size_t source = 0; source < sources; ++source) {
      const bool one = ((source >> bit & 1) != 0) != complement;
      stores ? places.write_slot(source, one) : places.write_element(source, one);
    }
    move(places.image(), places.registers());
  };
  for (int bit = 0; bit < static_cast<int>(std::bit_width(sources - 1)); ++bit) {
    run(bit, false);
    spelled.take(bit, seen);
    run(bit, true);
    spelled.take_complement(seen);
  }

  WmmaFragment fragment{places.rows(), places.cols(), kWarpLanes, places.values(), spelled.numbers()};
  for (std::int32_t& number : fragment.element)
    if (number >= static_cast<std::int32_t>(sources)) number = WmmaFragment::kNone;
  if (!stores) return fragment;
  std::vector<std::int32_t> by_slot(places.slots(), WmmaFragment::kNone);
  for (std::size_t element = 0; element < fragment.element.size(); ++element)
    if (fragment.element[element] != WmmaFragment::kNone)
      by_slot[static_cast<std::size_t>(fragment.element[element])] = static_cast<std::int32_t>(element);
  fragment.element = std::move(by_slot);
  return fragment;
}

}  // namespace mmaudit::device
