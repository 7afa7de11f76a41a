#pragma once
// What the property tests share: every instruction with its datapath, and single dot products cut out of
// tiles.
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::test {

inline constexpr std::uint64_t kSeed = 20251121;

struct Probe {
  Instruction instruction;
  Datapath datapath;
};

/// Block-scaled instructions whose formats differ. All others of their kind, mma and tcgen05, have the same
/// models: see Tcgen05HasTheSameModelsAsMma.
inline std::vector<Probe> scaled_probes() {
  std::vector<Probe> probes;
  for (const char* name : {"mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.f32.ue8m0",
                           "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e5m2.e5m2.f32.ue8m0",
                           "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e2m3.e3m2.f32.ue8m0",
                           "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e2m1.e2m1.f32.ue8m0",
                           "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
                           "tcgen05.m128n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue8m0",
                           "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3",
                           "mma.sp.m16n8k64.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.f32.ue8m0",
                           "mma.sp.m16n8k128.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
                           "mma.sp.m16n8k128.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"}) {
    Instruction instruction = find_instruction(name).value();
    const char* architecture = is_tcgen05(instruction.op) ? "blackwell" : "blackwell_rtx";
    const DatapathEntry* entry = find_datapath(*find_architecture(architecture), instruction);
    instruction.m = 16;  // rows are alike, and 128 of them eight times the work
    probes.push_back({instruction, entry->datapath});
  }
  return probes;
}

/// Every instruction with its Hopper datapath; wgmma with the least n.
inline std::vector<Probe> all_probes() {
  std::vector<Probe> probes;
  const Architecture* hopper = find_architecture("hopper");
  for (Instruction instruction : kInstructions) {
    if (instruction.n == 0) instruction.n = kWgmmaMinN;
    const DatapathEntry* entry = find_datapath(*hopper, instruction);
    if (entry != nullptr) probes.push_back({instruction, entry->datapath});
  }
  return probes;
}

struct OneDot : DotCase {
  std::uint64_t d = 0;
};

/// Element (i, j) of a tile; d is what `tiles` holds, 0 before the first view().
inline OneDot cut(const TileBatch& tiles, std::size_t tile, std::size_t i, std::size_t j) {
  const int row = static_cast<int>(i), column = static_cast<int>(j);
  OneDot one{dot_at(tiles.instruction, tiles.filled(), tile, row, column)};
  if (!tiles.d.empty()) one.d = d_at(tiles.instruction, tiles.filled(), tile, row, column);
  return one;
}

/// The element of B that element `k` of A, stored or dense, is multiplied by.
inline std::uint64_t met(const Instruction& instruction, const OneDot& dot, std::size_t k) {
  if (!is_sparse(instruction.op)) return dot.b[k];
  return dot.b[static_cast<std::size_t>(selected_k(sparsity_of(instruction), MetadataRule::selected,
                                                   dot.metadata.data(), static_cast<int>(k)))];
}

inline std::uint64_t model_dot(const Probe& probe, const OneDot& dot) {
  const DotSpec spec = make_dot_spec(probe.instruction, probe.datapath);
  const Strided<std::uint64_t> load_a{dot.a.data()}, load_b{dot.b.data()};
  const ScaleBytes scales{{dot.scale_a.data()}, {dot.scale_b.data()}, one_bits(spec.scale)};
  if (!is_sparse(probe.instruction.op))
    return mmaudit::dot(spec, load_a, load_b, dot.c, dot.modifiers, scales);
  const Gathered<Strided<std::uint64_t>> gathered{spec.sparsity, spec.datapath.metadata, spec.b,
                                                  dot.metadata.data(), load_b};
  return mmaudit::dot(spec, load_a, gathered, dot.c, dot.modifiers, scales);
}

inline std::string text_of(const Instruction& instruction, const OneDot& dot) {
  std::ostringstream text;
  text << name_of(instruction) << std::hex << " modifiers " << int{dot.modifiers} << " c=" << dot.c << " a=[";
  for (const std::uint64_t x : dot.a) text << ' ' << x;
  text << " ] b=[";
  for (const std::uint64_t x : dot.b) text << ' ' << x;
  text << " ]";
  for (const auto* scales : {&dot.scale_a, &dot.scale_b}) {
    text << " scales [";
    for (const unsigned x : *scales) text << ' ' << x;
    text << " ]";
  }
  for (const std::uint8_t position : dot.metadata) text << ' ' << int{position};
  return text.str();
}

}  // namespace mmaudit::test
