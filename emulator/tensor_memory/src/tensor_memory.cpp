#include "mmaudit/tensor_memory/tensor_memory.hpp"

#include <algorithm>

#include "mmaudit/name_in.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {

std::string refuse(const Rule& rule, std::string_view found) {
  return refusal("{}: found {}, allowed: {} (PTX ISA 9.0, {})", rule.field, found, rule.allowed,
                 rule.section);
}

std::string not_modelled(const Gap& gap) {
  return std::string("not modelled: ").append(gap.what).append(" (").append(gap.why).append(")");
}

const Rule& rule(std::string_view name) { return *find_named(kRules, name); }

const Gap& gap(std::string_view name) { return *find_named(kGaps, name); }

TensorMemory::TensorMemory()
    : words_(std::size_t{kLanes} * kColumns), written_(std::size_t{kLanes} * kColumns) {}

std::string TensorMemory::allocate(std::uint32_t columns, std::uint32_t& address) {
  const std::string found = std::to_string(columns);
  if (relinquished_) return refuse(rule("alloc_permit"), "one of " + found + " columns");
  if (columns < 32 || columns > kColumns || (columns & (columns - 1)) != 0)
    return refuse(rule("alloc_columns"), found);
  if (columns > last_columns_)
    return refuse(rule("alloc_growth"), found + " after " + std::to_string(last_columns_));
  for (std::uint32_t first = 0; first < kColumns; first += columns) {
    auto* const begin = owner_.data() + first;
    if (std::any_of(begin, begin + columns, [](int owner) { return owner != 0; })) continue;
    std::fill(begin, begin + columns, ++allocations_);
    last_columns_ = columns;
    address = first;
    return {};
  }
  return refuse(rule("alloc_blocks"), found + " columns asked for");
}

std::string TensorMemory::deallocate(std::uint32_t address, std::uint32_t columns) {
  const std::uint32_t end = address + columns;
  bool whole = columns != 0 && end > address && end <= kColumns && owner_[address] != 0;
  const int owner = whole ? owner_[address] : 0;
  whole = whole && std::count(owner_.begin(), owner_.end(), owner) == static_cast<std::ptrdiff_t>(columns) &&
          owner_[end - 1] == owner;
  if (!whole)
    return refuse(rule("dealloc_match"),
                  std::to_string(columns) + " columns at address " + std::to_string(address));
  std::fill(owner_.begin() + address, owner_.begin() + end, 0);
  for (int lane = 0; lane < kLanes; ++lane)
    std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(index(lane, static_cast<int>(address))),
                columns, std::uint8_t{0});
  return {};
}

std::string TensorMemory::why_not_empty() const {
  const auto left = kColumns - std::count(owner_.begin(), owner_.end(), 0);
  return left == 0 ? "" : refuse(rule("dealloc_exit"), std::to_string(left) + " columns still allocated");
}

std::string TensorMemory::why_not(Region region) const {
  const int last = region.first_column + region.columns - 1;
  const std::string found = std::to_string(region.first_column) + " to " + std::to_string(last);
  if (last >= kColumns) return refuse(rule("columns_end"), found);
  for (int column = region.first_column; column <= last; ++column)
    if (!allocated(column)) return refuse(rule("columns_allocated"), found);
  return {};
}

void TensorMemory::shift_down(int lane, int column) {
  for (int row = lane; row < lane + kWarpLanes - 1; ++row) {
    for (int c = column; c < column + kShiftColumns; ++c) {
      words_[index(row, c)] = words_[index(row + 1, c)];
      written_[index(row, c)] = written_[index(row + 1, c)];
    }
  }
}

}  // namespace mmaudit::tmem
