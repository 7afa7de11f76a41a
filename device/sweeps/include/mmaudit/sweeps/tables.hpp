#pragma once
// What the console, Markdown and the page all print.
#include <string>
#include <vector>

#include "mmaudit/sweeps/result.hpp"

namespace mmaudit::sweeps {

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

/// Tables without rows are left out.
std::vector<Table> tables_of(const SweepResult& result);
/// One line each: device, clock, method.
std::vector<std::string> facts_of(const SweepResult& result);

}  // namespace mmaudit::sweeps
