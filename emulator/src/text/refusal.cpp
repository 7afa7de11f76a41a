
#include <vector>

#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "model/not_modelled.hpp"

namespace mmaudit {
namespace {

void add(std::string& list, std::string_view item) { list.append(list.empty() ? "" : ", ").append(item); }

/// With everything that is allowed, and `why` it is refused or else which of it was probably meant.
std::string refused(std::string_view name, const std::vector<std::string>& allowed,
                    const std::string& why = {}) {
  std::string list;
  for (const std::string& one : allowed) add(list, one);
  return "found \"" + printable(name) + "\"" + (why.empty() ? did_you_mean(name, allowed) : why) +
         ", allowed: " + list;
}

}  // namespace

std::string why_no_architecture(std::string_view name, std::string_view own) {
  std::vector<std::string> allowed;
  for (const Architecture& row : architectures()) {
    allowed.emplace_back(row.name);
    allowed.insert(allowed.end(), row.aliases.begin(), row.aliases.end());
  }
  if (!own.empty()) allowed.emplace_back(own);
  return refused(name, allowed, not_modelled(name, kGpusNotModelled));
}

std::string why_no_format(std::string_view name) {
  if (const std::string_view meaning = meaning_of(name); !meaning.empty())
    return "found \"" + printable(name) + "\", allowed: one format (this is " + std::string(meaning) + ")";
  std::vector<std::string> allowed;
  for (const NamedFormat& row : kFormats) allowed.emplace_back(row.name);
  return refused(name, allowed);
}

std::string why_no_datapath(const Architecture& architecture, const Instruction& instruction) {
  constexpr std::size_t kMost = 8;  // more than a line holds: point at the list
  // The nearest that it has: of the same kind and types, else of the same types, else all.
  std::vector<std::string> near, same, all;
  for (const Instruction& other : kInstructions) {
    if (!find_datapath(architecture, other)) continue;
    all.push_back(name_of(other));
    if (other.a != instruction.a || other.b != instruction.b) continue;
    same.push_back(name_of(other));
    if (other.op == instruction.op) near.push_back(name_of(other));
  }
  const std::vector<std::string>& instead = !near.empty() ? near : !same.empty() ? same : all;
  std::string allowed;
  if (instead.size() > kMost)
    allowed = "an instruction of `mmaudit list --arch " + std::string(architecture.name) + "`";
  else
    for (const std::string& name : instead) add(allowed, name);
  std::string having;
  for (const Architecture& other : architectures())
    if (find_datapath(other, instruction)) add(having, other.name);
  return "found " + name_of(instruction) + ", which " + std::string(architecture.name) + " lacks" +
         (having.empty() ? "" : " (it is in " + having + ")") + ", allowed: " + allowed;
}

}  // namespace mmaudit
