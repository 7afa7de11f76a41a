// mmaudit: the one binary.
#include "common.hpp"

int main(int argc, char** argv) { return mmaudit::cli::program(argc, argv); }
