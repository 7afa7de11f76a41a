/* The same numbers as headers.cpp, through the C interface. */
#include <mmaudit/mmaudit.h>
#include <stdio.h>

int main(void) {
  uint8_t a[64] = {0x7E, 0, 0, 0, 0, 0x21}, b[64] = {0x38, 0, 0, 0, 0, 0x2C};
  uint32_t d = 0;
  mmaudit_product work = {0};
  work.size = sizeof work;
  work.arch = "h100";
  work.inst = "wgmma.m64n8k32.f32.e4m3.e4m3";
  work.batch = work.m = work.n = 1;
  work.k = sizeof a;
  work.split_k = 1;
  work.a.data = a;
  work.a.bytes = sizeof a;
  work.b.data = b;
  work.b.bytes = sizeof b;
  work.d.data = &d;
  work.d.bytes = sizeof d;
  if (mmaudit_abi() != MMAUDIT_ABI || mmaudit_matmul(&work) != MMAUDIT_OK) {
    fprintf(stderr, "%s\n", mmaudit_last_error());
    return 2;
  }
  printf("0x%08x by mmaudit %s\n", (unsigned)d, mmaudit_version());
  work.k = 65;
  return d == 0x43E00400U && mmaudit_matmul(&work) == MMAUDIT_BAD_INPUT ? 0 : 1;
}
