#pragma once
// Names of kernels in the two spellings that tools print: mangled, and as a declaration of C++.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit {

/// `text` cut at `separator` outside of brackets.
inline std::vector<std::string_view> outside_brackets(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && text.substr(i, separator.size()) == separator) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + separator.size();
    }
    const bool opens = text[i] == '<' || text[i] == '(', closes = text[i] == '>' || text[i] == ')';
    depth += opens ? 1 : closes ? -1 : 0;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// An argument of a template as it is mangled; empty where it is neither a number, a truth value nor a name.
inline std::string mangled_argument(std::string_view text) {
  constexpr std::string_view kTypes[][2] = {{"int", "i"},        {"long", "l"},      {"float", "f"},
                                            {"double", "d"},     {"false", "Lb0E"},  {"true", "Lb1E"},
                                            {"(bool)0", "Lb0E"}, {"(bool)1", "Lb1E"}};
  for (const auto& [word, code] : kTypes)
    if (text == word) return std::string(code);
  if (constexpr std::string_view kCast = "(int)"; text.substr(0, kCast.size()) == kCast)
    text.remove_prefix(kCast.size());
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (text.empty()) return {};
  if (std::all_of(text.begin(), text.end(), digit)) return "Li" + std::string(text) + "E";
  if (digit(text[0]) || !std::all_of(text.begin(), text.end(),
                                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }))
    return {};
  return std::to_string(text.size()) + std::string(text);
}

/// A declaration, "void cublasLt::splitKreduce_kernel<32, 16, int, __half>(...)" as torch's profiler prints
/// it or with "(int)32" as Nsight does, as the begin of its mangled name: up to the first argument that can't
/// be read. Any other text stays as it is.
inline std::string mangled(std::string_view name) {
  if (name.find('<') == std::string_view::npos) return std::string(name);
  const std::string_view with_type = outside_brackets(name, "(").front();
  std::string out = "_ZN";
  for (const std::string_view part : outside_brackets(outside_brackets(with_type, " ").back(), "::")) {
    const std::size_t open = part.find('<');
    const std::string_view word = part.substr(0, open);
    out += std::to_string(word.size()) + std::string(word);
    if (open == std::string_view::npos) continue;
    out += 'I';
    std::string_view arguments = part.substr(open + 1);
    if (!arguments.empty() && arguments.back() == '>') arguments.remove_suffix(1);
    for (std::string_view argument : outside_brackets(arguments, ",")) {
      while (!argument.empty() && argument.front() == ' ') argument.remove_prefix(1);
      const std::string code = mangled_argument(argument);
      if (code.empty()) return out;
      out += code;
    }
    out += 'E';
  }
  return out;
}

/// Whether the name is whole: nvjet's last words say how the kernel sums, CUTLASS's what its tile is.
inline bool whole_kernel_name(std::string_view name) {
  if (name.find("nvjet_") != std::string_view::npos) {
    const std::string_view layout = name.substr(name.rfind('_') + 1);
    return layout.size() == 3 && layout.find_first_not_of("NT") == std::string_view::npos;
  }
  return name.find("cutlass_") == std::string_view::npos || name.find("_align") != std::string_view::npos;
}

}  // namespace mmaudit
