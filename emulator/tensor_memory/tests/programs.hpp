#pragma once
// Programs for the tests, put together from lines: every test says only what it is about.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mmaudit/tensor_memory/interpreter.hpp"

namespace mmaudit::tmem::test {

inline const Architecture& blackwell() { return *find_architecture("blackwell"); }

/// What stands around every kernel: thread 0 is %p2, warp 0 is %p1, %p3 is false, %p4 true.
inline std::string prologue(const std::string& columns = "128", const std::string& group = "1") {
  return ".version 8.7\n.target sm_100a\n.address_size 64\n"
         ".visible .entry kernel()\n{\n"
         ".reg .b32 %r<300>;\n.reg .b64 %rd<40>;\n.reg .pred %p<10>;\n"
         ".shared .align 1024 .b8 smem[65536];\n"
         "mov.u32 %r1, %tid.x;\n"
         "shr.u32 %r2, %r1, 5;\n"
         "setp.eq.u32 %p1, %r2, 0;\n"
         "setp.eq.u32 %p2, %r1, 0;\n"
         "setp.ne.u32 %p3, %r1, %r1;\n"
         "setp.eq.u32 %p4, %r1, %r1;\n"
         "mov.u32 %r10, %cluster_ctarank;\n"
         "setp.eq.u32 %p5, %r10, 0;\n"
         "selp.b32 %r11, %r1, 1, %p5;\n"
         "setp.eq.u32 %p6, %r11, 0;\n"  // thread 0 of CTA 0
         "@%p2 mbarrier.init.shared::cta.b64 [smem+8], 1;\n"
         "@%p1 tcgen05.alloc.cta_group::" +
         group + ".sync.aligned.shared::cta.b32 [smem], " + columns +
         ";\n"
         "bar.sync 0;\n"
         "ld.shared.b32 %r3, [smem];\n"
         "shl.b32 %r5, %r2, 21;\n"
         "add.u32 %r6, %r3, %r5;\n";
}

/// What matrices, scales and copies read is written: zeros.
inline const std::string kZeros = "//! shared words 0x1000 u8 1x32768 = zero\n";

inline std::string commit_and_wait(const std::string& group = "1") {
  const std::string pair = group == "2" ? ".multicast::cluster" : "", mask = group == "2" ? ", 3" : "";
  return "@%p6 tcgen05.commit.cta_group::" + group + ".mbarrier::arrive::one.shared::cluster" + pair +
         ".b64 [smem+8]" + mask +
         ";\n"
         "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p9, [smem+8], 0;\n@!%p9 bra wait;\n"
         "tcgen05.fence::after_thread_sync;\n";
}

inline std::string epilogue(const std::string& columns = "128", const std::string& group = "1") {
  return "@%p1 tcgen05.dealloc.cta_group::" + group + ".sync.aligned.b32 %r3, " + columns +
         ";\n"
         "@%p1 tcgen05.relinquish_alloc_permit.cta_group::" +
         group + ".sync.aligned;\nret;\n}\n";
}

/// "{%r20, %r21, ...}".
inline std::string vector_of(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "%r" : ", %r") + std::to_string(first + i);
  return text + "}";
}

/// Runs a text; the refusal, empty when it ran to its end.
inline std::string run_text(const std::string& text, PtxProgram* keep = nullptr) {
  PtxProgram program;
  std::string reason = parse_ptx(text, program);
  if (reason.empty()) {
    Interpreter interpreter(program, blackwell());
    reason = interpreter.run();
  }
  if (keep != nullptr) *keep = program;
  return reason;
}

/// A descriptor without swizzle, for rows of 16-byte pieces: piece p of row r at (r % 8) * 16 + r / 8 * 128 +
/// p * rows * 16.
inline std::uint64_t plain_descriptor(std::uint32_t start, int rows) {
  return std::uint64_t{start >> 4} | std::uint64_t(rows) << 16 | std::uint64_t{8} << 32 |
         std::uint64_t{1} << 46;
}
inline std::size_t plain_byte(int row, int byte, int rows) {
  const int at = row % 8 * 16 + row / 8 * 128 + byte / 16 * rows * 16 + byte % 16;
  return static_cast<std::size_t>(at);
}

inline std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace mmaudit::tmem::test
