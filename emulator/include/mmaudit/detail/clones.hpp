#pragma once
// A function compiled once per level of the processor; the program picks a clone when it starts. By level,
// since "arch=haswell" is that processor alone and no newer one.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define MMAUDIT_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define MMAUDIT_CLONES
#endif
