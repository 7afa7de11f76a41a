// mmaudit-bench: what measures or predicts time, and what keeps a GPU busy. `mmaudit` runs it.
#include "programs.hpp"

int main(int argc, char** argv) { return mmaudit::cli::start(argc, argv, mmaudit::cli::bench_program()); }
