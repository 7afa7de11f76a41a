// mmaudit: which bits, and what they cost in error. Its other commands are those of mmaudit-bench.
#include "programs.hpp"

int main(int argc, char** argv) { return mmaudit::cli::start(argc, argv, mmaudit::cli::main_program()); }
