// The tcgen05 instructions but mma. Source: PTX ISA 9.0, 9.7.16.7 to 9.7.16.12.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "mmaudit/name_in.hpp"
#include "mmaudit/tensor_memory/data_movement.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "state.hpp"

namespace mmaudit::tmem {
namespace {

std::string columns_text(Region region) {
  return "columns " + std::to_string(region.first_column) + " to " +
         std::to_string(region.first_column + region.columns - 1);
}

/// What reading or writing this many words takes at least. Source: P. Luo's note on Blackwell, 1.1.
std::string cycles_text(int words) {
  return "; " + std::to_string(words / kWordsPerCycle) + " cycles at the " + std::to_string(kWordsPerCycle) +
         " words per clock of P. Luo's note";
}

}  // namespace

void Interpreter::State::tcgen05() {
  struct Handler {
    std::string_view name;
    void (State::*run)();
    std::array<std::string_view, 4>
        needs;  ///< qualifiers that can't be left out, "cta_group" with either number
  };
  static constexpr Handler kHandlers[] = {
      {"alloc", &State::allocate, {"cta_group", "sync", "aligned", "b32"}},
      {"dealloc", &State::deallocate, {"cta_group", "sync", "aligned", "b32"}},
      {"relinquish_alloc_permit", &State::relinquish, {"cta_group", "sync", "aligned"}},
      {"ld", &State::load_store, {"sync", "aligned", "b32"}},
      {"st", &State::load_store, {"sync", "aligned", "b32"}},
      {"wait::ld", &State::wait, {"sync", "aligned"}},
      {"wait::st", &State::wait, {"sync", "aligned"}},
      {"fence::before_thread_sync", &State::fence, {}},
      {"fence::after_thread_sync", &State::fence, {}},
      {"commit", &State::commit, {"cta_group", "b64"}},
      {"cp", &State::copy, {"cta_group"}},
      {"shift", &State::shift, {"cta_group"}},
      {"mma", &State::mma, {"cta_group"}},
  };
  const std::string_view name =
      instruction->opcode.size() > 1 ? std::string_view(instruction->opcode[1]) : std::string_view();
  const Handler* const handler = find_named(kHandlers, name);
  if (handler == nullptr) return fail("qualifier", "tcgen05." + std::string(name));
  if (const std::string_view group = instruction->after("cta_group::");
      !group.empty() && group != "1" && group != "2")
    return fail("qualifier", ".cta_group::" + std::string(group));
  for (const std::string_view needed : handler->needs)
    if (!needed.empty() && !instruction->has(needed) && !instruction->has("red") &&
        (needed != "cta_group" || instruction->after("cta_group::").empty()))
      return fail("qualifier", "no ." + std::string(needed));
  // Of .kind, .cta_group, .collector and so on there is one each.
  std::set<std::string_view> seen;
  for (const std::string& part : instruction->opcode)
    if (!seen.insert(std::string_view(part).substr(0, part.find("::"))).second)
      return fail("qualifier", "two of ." + part.substr(0, part.find("::")));
  if (instruction->has("global") || (name == "commit" && instruction->has("shared::cta")))
    return fail("qualifier", "another state space");
  (this->*handler->run)();
}

void Interpreter::State::paint(int cta, Region region, char letter, int first_quarter, int quarters) {
  for (int quarter = first_quarter; quarter < first_quarter + quarters; ++quarter)
    for (int column = region.first_column; column < region.first_column + region.columns; ++column)
      letters[static_cast<std::size_t>(cta)][static_cast<std::size_t>(quarter)]
             [static_cast<std::size_t>(column)] = letter;
  step.tensor_memory = true;
}

void Interpreter::State::allocate() {
  const Operand where = operand_of(0, Operand::Kind::address), wanted = operand(1);
  for (const auto& [cta, warp] : warps()) {
    const int thread = cta * kThreads + warp * kWarpLanes;
    const std::uint64_t at =
        uniform(thread, "uniform_operand", "several addresses", [&](int of) { return address(of, where); });
    const std::uint64_t asked = uniform_value(thread, wanted);
    if (asked >> 32 != 0) fail("alloc_columns", std::to_string(asked));
    const auto columns_wanted = static_cast<std::uint32_t>(asked);
    if (failed()) return;
    Cta& mine = *ctas[static_cast<std::size_t>(cta)];
    std::uint32_t first = 0;
    fail(mine.memory.allocate(columns_wanted, first));
    if (at % 4 != 0 || at > mine.shared.size() - 4) fail("shared_end", std::to_string(at));
    if (failed()) return;
    for (int i = 0; i < 4; ++i)
      mine.shared[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(first >> 8 * i);
    mine.mark_written(at, 4);
    const Region region{static_cast<int>(first), static_cast<int>(columns_wanted)};
    paint(cta, region, 0);
    step.what = columns_text(region);
  }
}

void Interpreter::State::deallocate() {
  for (const auto& [cta, warp] : warps()) {
    const int thread = cta * kThreads + warp * kWarpLanes;
    const auto at = static_cast<std::uint32_t>(uniform_value(thread, operand(0))),
               size = static_cast<std::uint32_t>(uniform_value(thread, operand(1)));
    if (failed()) return;
    const Region region{static_cast<int>(at), static_cast<int>(size)};
    if (at < kColumns && size <= kColumns - at) check_synchronous(cta, region, true);
    if (!failed()) fail(ctas[static_cast<std::size_t>(cta)]->memory.deallocate(at, size));
    if (failed()) return;
    paint(cta, region, 0);
    step.what = columns_text(region);
  }
}

void Interpreter::State::relinquish() {
  for (const auto& [cta, warp] : warps()) ctas[static_cast<std::size_t>(cta)]->memory.relinquish();
}

void Interpreter::State::load_store() {
  const bool load = instruction->opcode[1] == "ld";
  if (instruction->has("red")) return fail(not_modelled(gap("ld_red")));
  const auto* const shape = std::find_if(std::begin(kLoadShapes), std::end(kLoadShapes),
                                         [&](const LoadShape& x) { return instruction->has(x.name); });
  int number = 0;
  for (int candidate = 1; candidate <= 128; candidate *= 2)
    if (instruction->has("x" + std::to_string(candidate))) number = candidate;
  if (shape == std::end(kLoadShapes) || number == 0 || number > shape->most)
    return fail("ld_shape", "another");
  const bool packed = instruction->has(load ? "pack::16b" : "unpack::16b");
  const Operand where = operand_of(load ? 1 : 0, Operand::Kind::address);
  const std::size_t wanted = shape->split ? 3 : 2;
  if (instruction->operands.size() != wanted)
    return fail("ld_split", std::to_string(instruction->operands.size()) + " operands");
  const Operand data = operand_of(load ? 0 : wanted - 1, Operand::Kind::vector);
  const int half =
      shape->split ? static_cast<int>(operand_of(load ? 2 : 1, Operand::Kind::immediate).value) : 0;
  if (failed()) return;
  const int each = number * shape->registers, wide = packed ? 2 : 1;
  if (data.elements.size() != static_cast<std::size_t>(each))
    return fail("ld_registers", std::to_string(data.elements.size()));
  if (half < 0 || half >= kColumns) return fail("columns_end", std::to_string(half));

  for (const auto& [cta, warp] : warps()) {
    const int first_thread = cta * kThreads + warp * kWarpLanes;
    const auto raw =
        static_cast<std::uint32_t>(uniform(first_thread, "uniform_address", "several", [&](int thread) {
          return static_cast<std::uint32_t>(address(thread, where));
        }));
    const Address base = Address::of(raw);
    const int within = base.lane - warp * kWarpLanes;
    if (within < 0 || within + shape->lanes > kWarpLanes)
      fail("warp_lanes", std::to_string(base.lane) + " to " + std::to_string(base.lane + shape->lanes - 1) +
                             " by warp " + std::to_string(warp));
    else if (within % 16 != 0)
      fail(not_modelled(gap("ld_half_lane")));
    Cta& mine = *ctas[static_cast<std::size_t>(cta)];
    const int columns_used = number * shape->columns * wide;
    const Region regions[] = {{base.column, columns_used},
                              {base.column + half, shape->split ? columns_used : 0}};
    for (const Region& region : regions) {
      if (region.columns == 0 || failed()) continue;
      fail(mine.memory.why_not(region));
      if (!failed()) check_synchronous(cta, region, !load, 1U << warp);
    }
    if (failed()) return;
    for (int thread = 0; thread < kWarpLanes; ++thread) {
      for (int r = 0; r < each; ++r) {
        Place place = place_of(*shape, thread, r);
        place.lane += base.lane;
        place.column = base.column + place.column * wide + (shape->split && thread >= 16 ? half : 0);
        const Operand& element = data.elements[static_cast<std::size_t>(r)];
        if (load) {
          std::uint32_t word = mine.memory.at(place.lane, place.column);
          bool known = mine.memory.written(place.lane, place.column);
          if (packed) {
            word = (word & 0xFFFFU) | mine.memory.at(place.lane, place.column + 1) << 16;
            known = known && mine.memory.written(place.lane, place.column + 1);
          }
          assign(first_thread + thread, element, word,
                 known ? RegisterState::loading : RegisterState::undefined);
        } else {
          const auto word = static_cast<std::uint32_t>(value(first_thread + thread, element));
          if (failed()) return;
          if (packed) {
            for (int i = 0; i < 2; ++i)
              mine.memory.set(
                  place.lane, place.column + i,
                  (mine.memory.at(place.lane, place.column + i) & 0xFFFF0000U) | (word >> 16 * i & 0xFFFFU));
          } else {
            mine.memory.set(place.lane, place.column, word);
          }
        }
      }
    }
    for (const Region& region : regions) {
      for (int column = region.first_column; column < region.first_column + region.columns; ++column) {
        ColumnState& state = columns[static_cast<std::size_t>(cta)][static_cast<std::size_t>(column)];
        (load ? state.loads : state.stores) |= static_cast<std::uint8_t>(1U << warp);
      }
      if (!load && region.columns != 0) paint(cta, region, 's', warp, 1);
    }
    step.what = columns_text(regions[0]) + (load ? " into " : " from ") + std::to_string(each) +
                " registers per thread" + cycles_text(each * wide * kThreads);
  }
}

void Interpreter::State::copy() {
  if (single_thread() < 0) return;
  const int thread = active.front();
  if (instruction->has("b8x16")) return fail(not_modelled(gap("decompress")));
  if (instruction->has("4x256b")) return fail(not_modelled(gap("cp4")));
  std::string_view multicast = instruction->after("warpx");
  const bool known = std::any_of(std::begin(kCopyShapes), std::end(kCopyShapes),
                                 [&](const CopyShape& x) { return instruction->has(x.name); });
  if (!known) return fail("cp_shape", "another");
  const auto* const shape =
      std::find_if(std::begin(kCopyShapes), std::end(kCopyShapes), [&](const CopyShape& x) {
        return instruction->has(x.name) &&
               (x.multicast.empty() ? multicast.empty() : instruction->has(x.multicast));
      });
  if (shape == std::end(kCopyShapes)) return fail("cp_multicast", multicast.empty() ? "none" : "another");
  const Address base =
      Address::of(static_cast<std::uint32_t>(address(thread, operand_of(0, Operand::Kind::address))));
  const std::uint64_t bits = value(thread, operand(1));
  MatrixDescriptor matrix;
  if (!failed()) fail(decode(bits, matrix));
  if (!failed() && base.lane != 0) fail(not_modelled(gap("cp_lane")));
  const Region region{base.column, shape->bytes / 4};
  const bool pair = instruction->has("cta_group::2");
  for (int cta = 0; cta < count && !failed(); ++cta) {
    if (!pair && cta != thread / kThreads) continue;
    Cta& mine = *ctas[static_cast<std::size_t>(cta)];
    fail(mine.memory.why_not(region));
    if (!failed()) check_asynchronous(cta, region, 'c', true);
    for (int row = 0; row < shape->rows && !failed(); ++row) {
      for (int column = 0; column < region.columns; ++column) {
        const std::uint32_t at = k_major_byte(matrix, row, 4 * column);
        if (at + 4 > mine.shared.size()) return fail("shared_end", std::to_string(at));
        std::uint32_t word = 0;
        for (std::uint32_t i = 0; i < 4; ++i) word |= std::uint32_t{mine.shared[at + i]} << 8 * i;
        for (int copy_number = 0; copy_number < shape->copies; ++copy_number)
          mine.memory.set(shape->lane_of(row, copy_number), base.column + column, word, mine.written(at, 4));
      }
    }
    if (failed()) return;
    mark_written(cta, region, 'c');
    paint(cta, region, 'c');
  }
  step.what = std::to_string(shape->rows) + " rows of " + std::to_string(shape->bytes) + " bytes to " +
              columns_text(region) + cycles_text(region.columns * kLanes);
}

void Interpreter::State::shift() {
  if (single_thread() < 0) return;
  const int thread = active.front();
  if (!instruction->has("down")) return fail("qualifier", "no .down");
  const Address base =
      Address::of(static_cast<std::uint32_t>(address(thread, operand_of(0, Operand::Kind::address))));
  if (failed()) return;
  if (base.lane % kWarpLanes != 0 || base.lane >= kLanes)
    return fail("shift_lane", std::to_string(base.lane));
  const Region region{base.column, kShiftColumns};
  const bool pair = instruction->has("cta_group::2");
  for (int cta = 0; cta < count; ++cta) {
    if (!pair && cta != thread / kThreads) continue;
    fail(ctas[static_cast<std::size_t>(cta)]->memory.why_not(region));
    if (!failed()) check_asynchronous(cta, region, 's', true);
    if (failed()) return;
    ctas[static_cast<std::size_t>(cta)]->memory.shift_down(base.lane, base.column);
    mark_written(cta, region, 's');
    paint(cta, region, '>', base.lane / kWarpLanes, 1);
  }
  step.what = "lanes " + std::to_string(base.lane) + " to " + std::to_string(base.lane + kWarpLanes - 1) +
              ", " + columns_text(region) + ": every lane but the last takes the words of the lane after it;";
  for (const BankOrganisation& banks : kBankOrganisations)
    step.what += " " + std::to_string(access_cycles(banks, base.column, kShiftColumns)) +
                 " cycles if it has " + std::to_string(banks.banks) + " banks of " +
                 std::to_string(banks.depth) + " words,";
  step.what += " a hypothesis";
}

}  // namespace mmaudit::tmem
