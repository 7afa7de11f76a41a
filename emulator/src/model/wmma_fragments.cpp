#include "mmaudit/wmma_fragments.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace mmaudit {
namespace volta {
namespace {

constexpr int kGroupLanes = 4;
// Steps of a lane's threadgroup number, bit by bit: octets 1 and 3 lie lower, 2 and 3 to the right; the
// second threadgroup of an octet has its lower rows and its right columns.
constexpr Mode kRowsOfOctet{2, 8, 0}, kColumnsOfOctet{2, 0, 8}, kLowerRows{2, 4, 0}, kRightColumns{2, 0, 4};
constexpr Mode kCopies{2, 0, 0};

FragmentMap square(int values) {
  return {.rows = kSide, .cols = kSide, .lanes = kWarpLanes, .values = values, .lane = {}, .value = {}};
}

}  // namespace

FragmentMap fragment_a(Layout layout) {
  FragmentMap map = square(kSide);
  const Mode lanes = layout == Layout::row ? Mode{kGroupLanes, 1, 0} : Mode{kGroupLanes, 0, 1};
  const Mode modes[] = {lanes, kRowsOfOctet, kCopies, kLowerRows};
  std::copy(std::begin(modes), std::end(modes), map.lane);
  if (layout == Layout::row) {
    map.value[0] = {kSide, 0, 1};
  } else {
    map.value[0] = {4, 1, 0};
    map.value[1] = {4, 0, 4};
  }
  return map;
}

FragmentMap fragment_b(Layout layout) {
  FragmentMap map = square(kSide);
  const Mode lanes = layout == Layout::column ? Mode{kGroupLanes, 0, 1} : Mode{kGroupLanes, 1, 0};
  const Mode modes[] = {lanes, kCopies, kColumnsOfOctet, kRightColumns};
  std::copy(std::begin(modes), std::end(modes), map.lane);
  if (layout == Layout::column) {
    map.value[0] = {kSide, 1, 0};
  } else {
    map.value[0] = {4, 0, 1};
    map.value[1] = {4, 4, 0};
  }
  return map;
}

FragmentMap fragment_accumulator(Format format) {
  FragmentMap map = square(8);
  if (spec_of(format).storage_bits == 16) {
    const Mode modes[] = {{kGroupLanes, 1, 0}, kRowsOfOctet, kColumnsOfOctet, kLowerRows};
    std::copy(std::begin(modes), std::end(modes), map.lane);
    map.value[0] = {8, 0, 1};
    return map;
  }
  const Mode modes[] = {{2, 1, 0}, {2, 0, 2}, kRowsOfOctet, kColumnsOfOctet, kLowerRows};
  std::copy(std::begin(modes), std::end(modes), map.lane);
  const Mode values[] = {{2, 0, 1}, {2, 2, 0}, {2, 0, 4}};
  std::copy(std::begin(values), std::end(values), map.value);
  return map;
}

}  // namespace volta

namespace hmma {
namespace {

bool is_half(const Instruction& wmma) { return spec_of(wmma.a).storage_bits == 16; }
bool swaps(const Instruction& wmma) { return is_half(wmma) && wmma.m == 8; }

}  // namespace

FragmentMap fragment_a(const Instruction& wmma, int copies) {
  return fragment(wmma.m, wmma.k, false, elements_per_register(wmma.a), !swaps(wmma), copies);
}
FragmentMap fragment_b(const Instruction& wmma, int copies) {
  return fragment(wmma.k, wmma.n, true, elements_per_register(wmma.b), swaps(wmma), copies);
}
FragmentMap fragment_accumulator(const Instruction& wmma) {
  return fragment(wmma.m, wmma.n, swaps(wmma), 2, true);
}

}  // namespace hmma

namespace {

constexpr WmmaFragments kPublished[] = {
    {"volta",
     "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f32.f16.f16.f16 wmma.m16n16k16.f16.f16.f16.f32 "
     "wmma.m16n16k16.f16.f16.f16.f16 ",
     Evidence::literature, "Raihan, Goli, Aamodt (ISPASS 2019), accumulators: PTX ISA 9.0, mma.m8n8k4", false,
     true, [](const Instruction&, volta::Layout layout) { return volta::fragment_a(layout); },
     [](const Instruction&, volta::Layout layout) { return volta::fragment_b(layout); },
     [](const Instruction&, Format format) { return volta::fragment_accumulator(format); }},
    {"turing",
     "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f16.f16.f16.f16 wmma.m32n8k16.f32.f16.f16.f32 "
     "wmma.m32n8k16.f16.f16.f16.f16 wmma.m8n32k16.f32.f16.f16.f32 wmma.m8n32k16.f16.f16.f16.f16 "
     "wmma.m16n16k16.s32.s8.s8.s32 wmma.m32n8k16.s32.s8.s8.s32 wmma.m8n32k16.s32.s8.s8.s32 "
     "wmma.m8n8k32.s32.s4.s4.s32 ",
     Evidence::literature,
     "Raihan, Goli, Aamodt (ISPASS 2019): each element once, consecutive groups of four lanes hold "
     "consecutive rows; registers as ptxas 13.0 compiles wmma.load for sm_75",
     true, true, [](const Instruction& wmma, volta::Layout) { return hmma::fragment_a(wmma); },
     [](const Instruction& wmma, volta::Layout) { return hmma::fragment_b(wmma); },
     [](const Instruction& wmma, Format) { return hmma::fragment_accumulator(wmma); }},
    {"hopper", "wmma.m16n16k16.f32.f16.f16.f32 ", Evidence::recorded,
     "read off an NVIDIA H200 (driver 580.159.04) by `explain layout --discover`", true, false,
     [](const Instruction& wmma, volta::Layout) { return hmma::fragment_a(wmma, 2); },
     [](const Instruction& wmma, volta::Layout) { return hmma::fragment_b(wmma, 2); },
     [](const Instruction& wmma, Format) { return hmma::fragment_accumulator(wmma); }},
};

}  // namespace

std::span<const WmmaFragments> published_wmma_fragments() { return kPublished; }

bool WmmaFragments::holds(const Instruction& instruction) const {
  return instructions.find(name_of(instruction) + " ") != std::string_view::npos;
}

const WmmaFragments* find_wmma_fragments(std::string_view architecture, const Instruction& instruction) {
  const auto* found = std::find_if(
      std::begin(kPublished), std::end(kPublished),
      [&](const WmmaFragments& one) { return one.architecture == architecture && one.holds(instruction); });
  return found == std::end(kPublished) ? nullptr : found;
}

FragmentAccesses accesses_of(const FragmentMap& map, int element_bits, bool by_columns, bool transposes) {
  constexpr int kMostBits = 128, kSectorBits = 32 * 8, kPart = 8;
  FragmentMap moved = map;
  if (const Coord next = map.at(0, 1);
      transposes && element_bits == 16 && (by_columns ? next.row : next.col) == 0)
    for (Mode* modes : {moved.lane, moved.value})
      for (int i = 0; i < FragmentMap::kModes; ++i)
        if (Mode& mode = modes[i]; mode.row_stride < kPart && mode.col_stride < kPart)
          std::swap(mode.row_stride, mode.col_stride);
  const auto place = [&](int lane, int value) {
    const Coord at = moved.at(lane, value);
    return by_columns ? at.col * map.rows + at.row : at.row * map.cols + at.col;
  };
  int run = 1;
  while (run < map.values && place(0, run) == place(0, run - 1) + 1) ++run;
  FragmentAccesses accesses;
  accesses.bits = std::min(kMostBits, run * element_bits);
  const int values = accesses.bits / element_bits;
  accesses.count = map.values / values;
  for (int access = 0; access < accesses.count; ++access) {
    std::set<int> sectors;
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int value = 0; value < values; ++value)
        sectors.insert(place(lane, access * values + value) * element_bits / kSectorBits);
    accesses.sectors += static_cast<int>(sectors.size());
  }
  return accesses;
}

}  // namespace mmaudit
