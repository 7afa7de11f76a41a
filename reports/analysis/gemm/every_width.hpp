#pragma once
// Wider vectors where there are any: the same operations, so the same results.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MMAUDIT_EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MMAUDIT_EVERY_WIDTH
#endif
