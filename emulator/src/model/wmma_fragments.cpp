#include "mmaudit/wmma_fragments.hpp"

#include <algorithm>
#include <iterator>

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

namespace {

constexpr WmmaFragments kPublished[] = {
    {"volta",
     "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f32.f16.f16.f16 wmma.m16n16k16.f16.f16.f16.f32 "
     "wmma.m16n16k16.f16.f16.f16.f16 ",
     Evidence::literature, "Raihan, Goli, Aamodt (ISPASS 2019), accumulators: PTX ISA 9.0, mma.m8n8k4", true,
     volta::fragment_a, volta::fragment_b, volta::fragment_accumulator},
    {"turing", "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f16.f16.f16.f16 ", Evidence::literature,
     "Raihan, Goli, Aamodt (ISPASS 2019): each element once, consecutive groups of four lanes hold "
     "consecutive rows; registers as of mma.m16n8k8, PTX ISA 9.0, which is the HMMA behind it",
     true, [](volta::Layout) { return hmma16::fragment_a(1); },
     [](volta::Layout) { return hmma16::fragment_b(1); },
     [](Format) { return hmma16::fragment_accumulator(); }},
    {"hopper", "wmma.m16n16k16.f32.f16.f16.f32 ", Evidence::recorded,
     "read off an NVIDIA H200 (driver 580.159.04) by `explain layout --discover`", false,
     [](volta::Layout) { return hmma16::fragment_a(2); }, [](volta::Layout) { return hmma16::fragment_b(2); },
     [](Format) { return hmma16::fragment_accumulator(); }},
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

}  // namespace mmaudit
