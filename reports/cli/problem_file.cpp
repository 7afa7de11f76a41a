#include "problem_file.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::cli {
namespace {

std::vector<GemmProblem> problems_of_text(const std::string& text, const std::string& file) {
  std::string left_out;
  std::vector<GemmProblem> out = corpus::read_gemm_problems(text, file, &left_out);
  if (!left_out.empty())
    std::fputs(fmt::format("mmaudit: {}\n", printable(left_out, std::string::npos)).c_str(), stderr);
  return out;
}

}  // namespace

std::vector<GemmProblem> problems_of_file(const std::string& file) {
  return problems_of_text(corpus::text_of_file(file), file);
}

GemmProblem only_problem(const std::string& file) {
  const std::string text = corpus::text_of_file(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{' && is_json(text))
    return corpus::gemm_problem_of(corpus::parse_bounded(text, file, "a JSON object"), file);
  const std::vector<GemmProblem> found = problems_of_text(text, file);
  if (found.size() != 1) refuse("{}: found {} products, allowed: one", file, found.size());
  return found.front();
}

}  // namespace mmaudit::cli
