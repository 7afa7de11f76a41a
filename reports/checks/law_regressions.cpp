#include "law_check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/value_text.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::checks {
namespace {

template <typename Number = std::uint64_t>
std::vector<Number> hex_list(const Json& json, const char* field, std::size_t count, int bits,
                             const std::string& where) {
  if (!json.contains(field) || !json[field].is_array())
    refuse("{}: {}: found no list, allowed: a list of hex strings", where, field);
  const Json& list = json[field];
  if (list.size() != count)
    refuse("{}: {}: found {} elements, allowed: {}", where, field, list.size(), count);
  std::vector<Number> out;
  for (const Json& one : list) {
    const auto value = whole_number<std::uint64_t>(one.is_string() ? one.get<std::string>() : "", 16);
    if (!value || (bits < 64 && *value >> bits != 0))
      refuse("{}: {}: found {}, allowed: hex digits of {} bits", where, field, printable(one.dump(), 40),
             bits);
    out.push_back(static_cast<Number>(*value));
  }
  return out;
}

}  // namespace

RegressionFile::RegressionFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  constexpr std::uint64_t kMostBytes = 64U << 20;
  std::istringstream file(corpus::text_of_file(path_, kMostBytes));
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    text_ += line + "\n";
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", path_, number);
    const Json json = corpus::parse_bounded(line, where, "a JSON object per line");
    if (!json.is_object()) refuse("{}: found no JSON object, allowed: a JSON object per line", where);
    const auto word = [&](const char* field) {
      if (!json.contains(field) || !json[field].is_string())
        refuse("{}: {}: found none, allowed: a string", where, field);
      return json[field].get<std::string>();
    };
    const auto is = find_instruction(word("instruction"));
    if (!is) throw InputError(where + ": instruction: " + why_no_instruction(word("instruction")));
    const auto stored = static_cast<std::size_t>(is->stored_k());
    Entry entry{word("law"), *is, {}};
    entry.dot.a = hex_list(json, "a", stored, spec_of(is->a).storage_bits, where);
    entry.dot.b = hex_list(json, "b", static_cast<std::size_t>(is->k), spec_of(is->b).storage_bits, where);
    entry.dot.c = hex_list(json, "c", 1, spec_of(is->c).storage_bits, where)[0];
    entry.dot.salt = hex_list(json, "salt", 1, 64, where)[0];
    entry.dot.modifiers = hex_list<std::uint8_t>(json, "modifiers", 1, 7, where)[0];
    if (is_sparse(is->op)) {
      entry.dot.metadata = hex_list<std::uint8_t>(json, "metadata", stored, 8, where);
      Instruction one_row = *is;
      one_row.m = 1;
      if (const std::string reason = why_bad_metadata(one_row, entry.dot.metadata, 1); !reason.empty())
        throw InputError(fmt::format("{}: metadata: {}", where, reason));
    }
    if (is->scale != Format::none) {
      const auto blocks = static_cast<std::size_t>(scales_of(*is));
      entry.dot.scale_a = hex_list<std::uint8_t>(json, "scale_a", blocks, 8, where);
      entry.dot.scale_b = hex_list<std::uint8_t>(json, "scale_b", blocks, 8, where);
    }
    entries_.push_back(std::move(entry));
  }
}

std::vector<laws::Dot> RegressionFile::dots(std::string_view law, const Instruction& instruction) const {
  std::vector<laws::Dot> found;
  for (const Entry& entry : entries_)
    if (entry.law == law && entry.instruction == instruction) found.push_back(entry.dot);
  return found;
}

void RegressionFile::add(const laws::Failure& failure, const Architecture& architecture) {
  if (path_.empty()) return;
  const Instruction& inst = failure.instruction;
  Json line = {{"law", failure.law},
               {"instruction", name_of(inst)},
               {"architecture", architecture.name},
               {"a", hex_texts(failure.dot.a, inst.a)},
               {"b", hex_texts(failure.dot.b, inst.b)},
               {"c", hex_texts({failure.dot.c}, inst.c)},
               {"salt", {hex_text(failure.dot.salt, 64)}},
               {"modifiers", {fmt::format("{:x}", failure.dot.modifiers)}}};
  for (const auto& [field, bytes] : {std::pair{"metadata", &failure.dot.metadata},
                                     {"scale_a", &failure.dot.scale_a},
                                     {"scale_b", &failure.dot.scale_b}})
    if (!bytes->empty()) line[field] = hex_texts({bytes->begin(), bytes->end()}, Format::u8);
  const std::string text = line.sorted().dump() + "\n";
  if (text_.find(text) != std::string::npos) return;
  text_ += text;
  changed_ = true;
}

void RegressionFile::save() const {
  if (changed_) corpus::write_file_atomically(path_, std::string_view(text_));
}

}  // namespace mmaudit::checks
