// The C interface: one line for what it refuses, nothing written before that.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "c_interface.hpp"
#include "mmaudit/emulate.hpp"

namespace mmaudit {
namespace {

/// Every refusal, with D as it was.
TEST(CInterface, RefusesInOneLineAndWritesNothing) {
  const std::vector<std::uint16_t> a(std::size_t{16} * 16), b(std::size_t{16} * 8);
  std::vector<std::uint32_t> d(std::size_t{16} * 8, 0x12345678);
  const auto untouched = d;
  mmaudit_tiles good = zeroed<mmaudit_tiles>();
  good.inst = kF16;
  good.tiles = 1;
  good.a = in(a);
  good.b = in(b);
  good.d = out(d);
  const std::vector<std::uint8_t> byte = {1};
  struct Case {
    void (*spoil)(mmaudit_tiles&, const std::vector<std::uint8_t>&);
    const char* line;
  };
  const Case cases[] = {
      {[](mmaudit_tiles& x, const auto&) { x.arch = "hoper"; },
       "arch: found \"hoper\" (did you mean hopper?), allowed: hopper, "},
      {[](mmaudit_tiles& x, const auto&) { x.arch = "volta"; },
       "inst: found mma.m16n8k16.f32.f16.f16.f32, which volta lacks"},
      {[](mmaudit_tiles& x, const auto&) { x.inst = "mma"; }, "inst: found \"mma\", allowed"},
      {[](mmaudit_tiles& x, const auto&) { x.inst = nullptr; }, "inst: found nothing"},
      {[](mmaudit_tiles& x, const auto&) { x.tiles = 2; },
       "a: found 512 bytes, allowed: 1024 bytes, (tiles, m, k) = (2, 16, 16) of f16"},
      {[](mmaudit_tiles& x, const auto&) { x.tiles = SIZE_MAX / 2; }, "a: found (tiles, m, k)"},
      {[](mmaudit_tiles& x, const auto&) { x.b.data = nullptr; }, "b: found null"},
      {[](mmaudit_tiles& x, const auto&) { x.b.bytes -= 1; }, "b: found 255 bytes"},
      {[](mmaudit_tiles& x, const auto&) { x.c = x.b; }, "c: found 256 bytes, allowed: 512 bytes"},
      {[](mmaudit_tiles& x, const auto&) { x.d.bytes += 1; }, "d: found 513 bytes"},
      {[](mmaudit_tiles& x, const auto& y) { x.modifiers = in(y); }, "modifiers: found with mma.m16"},
      {[](mmaudit_tiles& x, const auto& y) { x.scale_a = in(y); }, "scale_a: found with mma.m16"},
      {[](mmaudit_tiles& x, const auto& y) { x.metadata = in(y); }, "metadata: found some with mma.m16"},
      {[](mmaudit_tiles& x, const auto&) {
         x.a = {x.d.data, x.d.bytes};
       },
       "a: found memory that the result shares"},
      {[](mmaudit_tiles& x, const auto&) { x.size = 3; }, "size: found 3"}};
  for (const Case& one : cases) {
    mmaudit_tiles work = good;
    one.spoil(work, byte);
    EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT) << one.line;
    EXPECT_EQ(std::string(mmaudit_last_error()).rfind(one.line, 0), 0U) << mmaudit_last_error();
    EXPECT_EQ(std::string(mmaudit_last_error()).find('\n'), std::string::npos);
    EXPECT_EQ(d, untouched) << one.line;
  }
  EXPECT_EQ(mmaudit_emulate(nullptr), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(mmaudit_emulate(&good), MMAUDIT_OK);
  EXPECT_NE(d, untouched);

  auto product = zeroed<mmaudit_product>();
  product.inst = kSparse;
  product.split_k = 1;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
  product.inst = kF16;
  product.split_k = 0;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(std::string(mmaudit_last_error()),
            std::string("split_k: found 0, allowed: 1 or more with ") + kF16);
  product.split_k = 1;
  product.batch = product.m = product.k = SIZE_MAX / 4;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, RefusesModifiersThatItLacks) {
  const auto a = bits<std::uint16_t>(std::size_t{64} * 16, 1),
             b = bits<std::uint16_t>(std::size_t{16} * 8, 2);
  std::vector<std::uint32_t> d(std::size_t{64} * 8);
  std::vector<std::uint8_t> modifiers = {kScaleDZero | kNegateB};
  auto work = zeroed<mmaudit_tiles>();
  work.inst = "wgmma.m64n8k16.f32.f16.f16";
  work.tiles = 1;
  work.a = in(a);
  work.b = in(b);
  work.d = out(d);
  work.modifiers = in(modifiers);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  for (const std::uint8_t more : {kAFromRegisters, kTransposeA, std::uint8_t{0x80}}) {
    modifiers[0] = kScaleDZero | more;
    EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
    EXPECT_EQ(std::string(mmaudit_last_error()).find("modifiers: found "), 0U) << mmaudit_last_error();
  }
}

TEST(CInterface, SparseNeedsMetadata) {
  const auto a = bits<std::uint16_t>(std::size_t{16} * 16, 1),
             b = bits<std::uint16_t>(std::size_t{32} * 8, 2);
  std::vector<std::uint8_t> metadata(std::size_t{16} * 16);
  for (std::size_t i = 0; i < metadata.size(); ++i) metadata[i] = i % 2 == 0 ? 1 : 3;
  std::vector<std::uint32_t> d(std::size_t{16} * 8);
  auto work = zeroed<mmaudit_tiles>();
  work.inst = kSparse;
  work.tiles = 1;
  work.a = in(a);
  work.b = in(b);
  work.d = out(d);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
  work.metadata = in(metadata);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  metadata[5] = 0;
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, EveryThreadHasItsOwnError) {
  mmaudit_format format = zeroed<mmaudit_format>();
  EXPECT_EQ(mmaudit_find_format("e9m9", &format), MMAUDIT_BAD_INPUT);
  const std::string here = mmaudit_last_error();
  std::string before = "?";
  std::thread([&] {
    before = mmaudit_last_error();
    mmaudit_find_format("other", &format);
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(mmaudit_last_error(), here);
}

}  // namespace
}  // namespace mmaudit
