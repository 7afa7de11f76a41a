#pragma once
// Tensor memory of one CTA: 128 lanes x 512 columns of 32 bits, its allocation, and what a shift costs when
// it is built of banks. Source: PTX ISA 9.0, 9.7.16.1 and 9.7.16.7.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mmaudit::tmem {

inline constexpr int kLanes = 128, kColumns = 512, kWarpLanes = 32, kQuarters = kLanes / kWarpLanes;

/// A 32-bit address: lane in the upper half, column in the lower.
struct Address {
  int lane = 0, column = 0;

  static constexpr Address of(std::uint32_t raw) {
    return {static_cast<int>(raw >> 16), static_cast<int>(raw & 0xFFFFU)};
  }
  [[nodiscard]] constexpr std::uint32_t raw() const {
    return static_cast<std::uint32_t>(lane) << 16 | static_cast<std::uint32_t>(column);
  }
};

/// A rectangle of tensor memory that an instruction touches.
struct Region {
  int first_column = 0, columns = 0;
};

/// The words, who owns the columns, and which words were ever written.
class TensorMemory {
 public:
  TensorMemory();

  /// What: allocates `columns` columns, all lanes, at the lowest free multiple of `columns` (the PTX ISA
  /// leaves the place open). Errors: the refusal, empty when it worked; `address` is then set.
  std::string allocate(std::uint32_t columns, std::uint32_t& address);
  /// Errors: the refusal, empty when it worked.
  std::string deallocate(std::uint32_t address, std::uint32_t columns);
  void relinquish() { relinquished_ = true; }
  /// Empty when nothing is allocated any more.
  [[nodiscard]] std::string why_not_empty() const;

  /// Why these columns can't be touched: beyond the end, or not allocated; empty when they can.
  [[nodiscard]] std::string why_not(Region region) const;
  [[nodiscard]] bool allocated(int column) const { return owner_[static_cast<std::size_t>(column)] != 0; }

  [[nodiscard]] std::uint32_t at(int lane, int column) const { return words_[index(lane, column)]; }
  [[nodiscard]] bool written(int lane, int column) const { return written_[index(lane, column)] != 0; }
  /// `known`: false when the word is a copy of what nothing wrote.
  void set(int lane, int column, std::uint32_t word, bool known = true) {
    words_[index(lane, column)] = word;
    written_[index(lane, column)] = known ? 1 : 0;
  }

  /// What: every row of the 32 lanes from `lane` on takes the 8 words at `column` of the row after it; the
  /// last row keeps its words. Source: PTX ISA 9.0, 9.7.16.9.3 (.down, .31x256b); that lane i takes lane
  /// i + 1, and not i - 1, is the reading that a convolution needs.
  void shift_down(int lane, int column);

 private:
  static std::size_t index(int lane, int column) {
    return static_cast<std::size_t>(lane) * kColumns + static_cast<std::size_t>(column);
  }

  std::vector<std::uint32_t> words_;
  std::vector<std::uint8_t> written_;
  std::array<int, kColumns> owner_{};  ///< number of the allocation, 0: none
  int allocations_ = 0;
  std::uint32_t last_columns_ = kColumns;
  bool relinquished_ = false;
};

/// How the author of a note on Blackwell imagines the memory of one 32-lane group: `banks` banks of `depth`
/// words per lane, word c in bank c % banks. A hypothesis: no measurement confirms it.
struct BankOrganisation {
  int banks = 8, depth = 64;
};

/// The two organisations that the note compares. Source: P. Luo's note on Blackwell, 1.1.2.
inline constexpr BankOrganisation kBankOrganisations[] = {{8, 64}, {4, 128}};

/// Words that tensor memory reads or writes per cycle: one per lane. Source: P. Luo's note on Blackwell, 1.1,
/// which concludes it from the lanes; no measurement confirms it.
inline constexpr int kWordsPerCycle = kLanes;

/// Cycles that accessing `columns` neighbouring columns takes, one word per bank, lane and cycle.
constexpr int access_cycles(const BankOrganisation& memory, int first_column, int columns) {
  int most = 0;
  for (int bank = 0; bank < memory.banks; ++bank) {
    int words = 0;
    for (int column = first_column; column < first_column + columns; ++column)
      words += column % memory.banks == bank ? 1 : 0;
    most = words > most ? words : most;
  }
  return most;
}

/// Columns that one tcgen05.shift moves: 32 bytes.
inline constexpr int kShiftColumns = 8;

}  // namespace mmaudit::tmem
