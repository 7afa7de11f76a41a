// mmaudit: which bits, and what they cost in error. mmaudit-bench has its other commands.
#include "programs.hpp"

int main(int argc, char** argv) { return mmaudit::cli::start(argc, argv, mmaudit::cli::main_program()); }
