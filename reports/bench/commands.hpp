#pragma once
// The commands of `mmaudit-bench`.
#include "options.hpp"

namespace mmaudit::cli {

void add_screen(Command& app);
void add_sweep(Command& app);
void add_time(Command& app);

}  // namespace mmaudit::cli
