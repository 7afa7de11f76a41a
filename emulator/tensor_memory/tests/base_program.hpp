#pragma once
// A program with a copy, a store, an MMA, a commit and a load, and its variants: what the tests change a line
// of.
#include <string>

#include "programs.hpp"

namespace mmaudit::tmem::test {

// The lines that the cases change. A lies at 0x1000, B at 0x3000, scales and metadata at 0x8000.
inline constexpr const char* kAlloc =
    "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 128;";
inline constexpr const char* kDealloc = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;";
inline constexpr const char* kMma = "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3;";
inline constexpr const char* kLoad = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6];";
inline constexpr const char* kStore = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r6+64], {%r1, %r2};";
inline constexpr const char* kCopy = "@%p2 tcgen05.cp.cta_group::1.128x128b [%r3+100], %rd3;";
inline constexpr const char* kCommit =
    "@%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+8];";
inline constexpr const char* kFence = "tcgen05.fence::after_thread_sync;\n";
inline constexpr const char* kIdesc = "mov.b32 %r4, 0x08100010;";  // f16, D f32, M = 128, N = 64
inline constexpr const char* kADesc = "mov.b64 %rd1, 0x0000400800800100;";
inline constexpr const char* kBDesc = "mov.b64 %rd2, 0x0000400800400300;";

/// The base: a copy, a store, an MMA, a commit and its wait, a load.
inline std::string base() {
  std::string text = kZeros + test::prologue();
  for (const char* const line : {kADesc, kBDesc, "mov.b64 %rd3, 0x0000400800800800;", kIdesc})
    text += std::string(line) + "\n";
  text += std::string(kStore) + "\ntcgen05.wait::st.sync.aligned;\n" + kCopy + "\n" + kMma + "\n" +
          test::commit_and_wait() + kLoad + "\ntcgen05.wait::ld.sync.aligned;\nadd.u32 %r22, %r20, %r21;\n" +
          test::epilogue();
  return text;
}

/// A base with another MMA: `extra` copies beside it, its own descriptor.
inline std::string with_mma(const std::string& mma, const std::string& idesc, const std::string& extra = "") {
  std::string text = base();
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(kIdesc, "mov.b32 %r4, " + idesc + ";");
  replace(kMma, extra + mma);
  // M = 64 leaves half of the lanes unwritten: what a load of them gives may not be used.
  if (idesc.starts_with("0x04")) replace("add.u32 %r22, %r20, %r21;\n", "");
  return text;
}

inline const std::string kScaleCopies =
    "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+80], %rd3;\n@%p2 "
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+84], %rd3;\n";
inline const std::string kScaled =
    "@%p2 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r3], %rd1, %rd2, %r4, "
    "[%r3+80], [%r3+84], %p3;";
inline const std::string kFours =
    "@%p2 tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X [%r3], %rd1, %rd2, %r4, "
    "[%r3+80], [%r3+84], %p3;";
inline const std::string kSparse =
    "@%p2 tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd1, %rd2, [%r3+100], %r4, %p3;";
inline const std::string kStationary =
    "@%p2 tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3;";
// M = 64: lanes 64 to 127 hold the second copy of the metadata.
inline const std::string kStationarySparse =
    "mov.b32 %r7, 0x44444444;\nsetp.ge.u32 %p7, %r1, 128;\n@%p7 mov.b32 %r7, 0x88888888;\n"
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6+66], {%r7};\ntcgen05.wait::st.sync.aligned;\n"
    "@%p2 tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r3], %rd1, %rd2, [%r3+66], %r4, %p3;";
// 128 metadata words 0x44444444 stand where the copy of 128x128b reads.
inline const std::string kMetadataFill = "//! shared words 0x8000 u8 1x2048 = metadata\n";

inline std::string metadata_base(const std::string& mma) {
  std::string text = with_mma(mma, "0x08100014");
  text.insert(kZeros.size(), kMetadataFill);
  return text;
}

/// The metadata of the base: every group has its first two elements.
inline std::string run_case(std::string text) {
  const bool fills = text.find("= metadata") != std::string::npos;
  if (fills) text.replace(text.find("= metadata"), 10, "= zero");
  PtxProgram program;
  std::string reason = parse_ptx(text, program);
  if (!reason.empty()) return reason;
  if (fills) program.fills.back().elements.assign(2048, 0x44);
  Interpreter interpreter(program, test::blackwell());
  return interpreter.run();
}

}  // namespace mmaudit::tmem::test
