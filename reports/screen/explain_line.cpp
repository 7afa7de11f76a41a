// A finding as a command line of `mmaudit explain`.
#include <fmt/format.h>

#include "mmaudit/explain.hpp"
#include "mmaudit/value_text.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

/// "0x3c00,0xbc01": raw bits.
std::string list_text(const std::vector<std::uint64_t>& elements, Format format) {
  std::string text;
  for (const std::string& hex : hex_texts(elements, format))
    text += fmt::format("{}0x{}", text.empty() ? "" : ",", hex);
  return text;
}

}  // namespace

std::string explain_line(const Finding& finding, const Architecture& architecture) {
  const Instruction& is = finding.work.instruction;
  const DatapathEntry* entry = find_datapath(architecture, is);
  if (entry == nullptr) return {};
  const TileBatch tiles = make_operands(is, entry->datapath, finding.work.inputs);
  DotCase dot =
      dot_at(is, tiles.filled(), static_cast<std::size_t>(finding.tile), finding.row, finding.column);
  for (int step = 1; step < kSteps; ++step) dot.c = explain(is, entry->datapath, dot).result;
  std::string text =
      fmt::format("mmaudit explain --arch {} --inst {} --a {} --b {} --c {}", architecture.name, name_of(is),
                  list_text(dot.a, is.a), list_text(dot.b, is.b), list_text({dot.c}, is.c));
  if (dot.metadata.empty()) return text;
  text += " --metadata ";
  for (std::size_t i = 0; i < dot.metadata.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", dot.metadata[i]);
  return text;
}

}  // namespace mmaudit::screen
