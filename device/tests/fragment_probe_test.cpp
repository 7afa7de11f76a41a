// The fragment probe, tried on the model: it must see what is there, and a wrong map.
#include "mmaudit/device/fragment_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {
namespace {

Instruction instruction(const char* name) { return find_instruction(name).value(); }

Backend hopper() { return model_backend(*find_architecture("hopper")); }

TEST(FragmentProbe, TheModelShowsTheDeclaredMaps) {
  for (const char* name :
       {"mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k4.f32.tf32.tf32.f32", "mma.m8n8k4.f64.f64.f64.f64",
        "mma.m8n8k16.s32.u8.s8.s32", "mma.m8n8k32.satfinite.s32.s4.s4.s32",
        "mma.m8n8k128.s32.b1.b1.s32.xor.popc", "mma.m8n8k128.s32.b1.b1.s32.and.popc"}) {
    const Instruction inst = instruction(name);
    EXPECT_TRUE(probe_fragments(inst, 0, hopper()) == declared_meetings(inst)) << name;
  }
}

TEST(FragmentProbe, EverySlotOfAMeetsOneOfBInEachColumn) {
  const FragmentMeetings declared = declared_meetings(instruction("mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_EQ(declared.slots_a, 256);
  EXPECT_EQ(declared.slots_b, 128);
  EXPECT_EQ(declared.slots_d, 128);
  const auto slots = static_cast<std::ptrdiff_t>(declared.slots_d);
  for (auto at = declared.partner.begin(); at != declared.partner.end(); at += slots)
    EXPECT_EQ(std::count_if(at, at + slots, [](std::int32_t b) { return b >= 0; }), 8);
}

// Hardware whose layout differs from the declared one: here, with two k of B exchanged, or two elements of D.
TEST(FragmentProbe, AnotherLayoutShows) {
  const Instruction inst = instruction("mma.m16n8k8.f32.f16.f16.f32");
  const Backend model = hopper();
  Backend other = model;
  other.run = [&](const Instruction&, const TileView& batch) {
    std::vector<std::uint16_t> b(batch.tiles * 64);
    std::memcpy(b.data(), batch.b, b.size() * sizeof b[0]);
    for (std::size_t tile = 0; tile < batch.tiles; ++tile)
      for (std::size_t n = 0; n < 8; ++n) std::swap(b[tile * 64 + n], b[tile * 64 + 40 + n]);
    TileView changed = batch;
    changed.b = b.data();
    model.run(inst, changed);
  };
  EXPECT_FALSE(probe_fragments(inst, 0, other) == declared_meetings(inst));
  Backend moved = model;
  moved.run = [&](const Instruction&, const TileView& batch) {
    model.run(inst, batch);
    auto* d = static_cast<std::uint32_t*>(batch.d);
    for (std::size_t tile = 0; tile < batch.tiles; ++tile) std::swap(d[tile * 128 + 3], d[tile * 128 + 90]);
  };
  EXPECT_FALSE(probe_fragments(inst, 0, moved) == declared_meetings(inst));
}

TEST(FragmentProbe, RefusesWhatWouldNotFit) {
  EXPECT_THROW(declared_meetings(instruction("wgmma.m64n256k256.s32.b1.b1.and.popc")), InputError);
}

}  // namespace
}  // namespace mmaudit::device
