// 448 * 1 + 0.140625 * 0.375: FP8 wgmma keeps 13 bits below the largest exponent, so that the second product
// loses 0.021484375 (the example of the README).
#include <cstdint>
#include <cstdio>
#include <vector>

#include <mmaudit/emulate.hpp>
#include <mmaudit/matmul.hpp>

int main() {
  const auto instruction = mmaudit::find_instruction("wgmma.m64n8k32.f32.e4m3.e4m3");
  const auto* hopper = mmaudit::find_architecture("sm_90a");
  if (!instruction || hopper == nullptr) return 2;
  const auto* entry = mmaudit::find_datapath(*hopper, *instruction);
  std::vector<std::uint8_t> a(64), b(64);
  a[0] = 0x7E, b[0] = 0x38;  // 448 * 1
  a[5] = 0x21, b[5] = 0x2C;  // 0.140625 * 0.375
  std::uint32_t d = 0;
  mmaudit::Matmul problem;
  problem.m = problem.n = 1;
  problem.k = 64;
  problem.a = a.data();
  problem.b = b.data();
  problem.d = &d;
  mmaudit::matmul(*instruction, entry->datapath, problem);
  std::printf("0x%08x\n", d);
  return d == 0x43E00400U ? 0 : 1;
}
