#include "mmaudit/architecture.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace mmaudit {
namespace {

/// Start of the row of a fused dot-add datapath with binary32 results, rounded toward zero.
constexpr AccumulatorModel to_f32(int block, int fraction_bits, int floor) {
  AccumulatorModel row;
  row.block = static_cast<std::int16_t>(block);
  row.fraction_bits = static_cast<std::int16_t>(fraction_bits);
  row.floor = static_cast<std::int16_t>(floor);
  return row;
}

/// The same with binary16 results, rounded to nearest even.
constexpr AccumulatorModel to_f16(int block, int fraction_bits, int floor) {
  AccumulatorModel row = to_f32(block, fraction_bits, floor);
  row.output.format = Format::f16;
  row.output.fraction_bits = 10;
  row.output.rounding = Rounding::nearest_even;
  return row;
}

/// Only `kept` fraction bits survive in the container.
constexpr AccumulatorModel keeping(AccumulatorModel row, int kept) {
  row.output.fraction_bits = static_cast<std::uint8_t>(kept);
  return row;
}

/// FP8 that runs as f16 products on the f16 datapath: pairs of bytes widened, c added last by an ordinary
/// add.
constexpr AccumulatorModel widened_to_f16(AccumulatorModel row) {
  row.widen_to = Format::f16;
  row.order = KOrder::pairs_of_four;
  row.addend = AddendPlace::after_last_nearest;
  return row;
}

constexpr AccumulatorModel ieee_f64() {
  AccumulatorModel row;
  row.arithmetic = Arithmetic::fma_chain;
  row.block = 1;
  row.fraction_bits = 0;
  row.floor = 0;
  row.output = {Format::f64,        52, Rounding::nearest_even, Overflow::infinity, false, ZeroSign::ieee,
                NanRule::ieee_quiet};
  return row;
}

/// Exact integers; .satfinite clamps once.
constexpr AccumulatorModel exact_s32() {
  AccumulatorModel row;
  row.arithmetic = Arithmetic::integer;
  row.output.format = Format::s32;
  row.output.fraction_bits = 32;
  return row;
}

constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200", "h800", "gh200", "h20"};
constexpr DatapathRow kHopper[] = {
    {Datapath::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::mma_fp8, Format::f16, widened_to_f16(to_f16(16, 25, -21)), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::wgmma_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature,
     "PTX ISA 9.0, mma and wgmma.mma_async, .satfinite"},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature,
     "PTX ISA 9.0, mma and wgmma.mma_async, .satfinite"},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature,
     "PTX ISA 9.0, mma and wgmma.mma_async, .satfinite"},
    {Datapath::wgmma_i8, Format::s32, exact_s32(), Evidence::literature,
     "PTX ISA 9.0, mma and wgmma.mma_async, .satfinite"},
    {Datapath::wgmma_b1, Format::s32, exact_s32(), Evidence::literature,
     "PTX ISA 9.0, mma and wgmma.mma_async, .satfinite"},
};

constexpr Architecture kArchitectures[] = {
    {"hopper", kHopperAliases, 90, kHopper},
};

bool equal_ignoring_case(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char p, unsigned char q) { return std::tolower(p) == std::tolower(q); });
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (equal_ignoring_case(row.name, name)) return &row;
    for (const std::string_view alias : row.aliases)
      if (equal_ignoring_case(alias, name)) return &row;
  }
  return nullptr;
}

const DatapathRow* find_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (architecture.compute_capability < instruction.min_compute_capability) return nullptr;
  for (const DatapathRow& row : architecture.datapaths)
    if (row.path == instruction.path && row.output == instruction.d) return &row;
  return nullptr;
}

std::string_view name_of(Datapath path) {
  switch (path) {
    case Datapath::mma_f16:
      return "mma.f16";
    case Datapath::mma_tf32:
      return "mma.tf32";
    case Datapath::mma_fp8:
      return "mma.fp8";
    case Datapath::mma_f64:
      return "mma.f64";
    case Datapath::wgmma_f16:
      return "wgmma.f16";
    case Datapath::wgmma_tf32:
      return "wgmma.tf32";
    case Datapath::wgmma_fp8:
      return "wgmma.fp8";
    case Datapath::mma_i8:
      return "mma.int8";
    case Datapath::mma_i4:
      return "mma.int4";
    case Datapath::mma_b1:
      return "mma.b1";
    case Datapath::wgmma_i8:
      return "wgmma.int8";
    case Datapath::wgmma_b1:
      return "wgmma.b1";
  }
  return "unknown";
}

std::string_view name_of(Evidence evidence) {
  switch (evidence) {
    case Evidence::recorded:
      return "recorded";
    case Evidence::replayed:
      return "replayed";
    case Evidence::literature:
      return "literature";
  }
  return "unknown";
}

}  // namespace mmaudit
