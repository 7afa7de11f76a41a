// Bytes as one or two baselines, 0xff between them, or as results changed in a baseline recorded here. A
// baseline that is accepted comes back from its own JSON, is no different from itself, and a difference names
// every result that was changed.

#include "baseline.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/json.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

using checks::Baseline;

constexpr unsigned kAsItIs = 0, kSealed = 1;  ///< of three; else changed

/// Makes every hash fit its bits.
void seal(Json& value) {
  if (value.is_array())
    for (Json& each : value) seal(each);
  if (value.is_object())
    for (const auto& [key, each] : value.items()) seal(value[key]);
  if (!value.is_object() || !value.contains("d") || !value["d"].is_string()) return;
  const auto digits = value["d"].get<std::string>();
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::strtoul(digits.substr(i, 2).c_str(), nullptr, 16)));
  value["hash"] = corpus::checksum_of(bytes);
}

std::string sealed(std::string_view text) {
  Json json;
  if (!accepted([&] { json = parse_json(text); }) || !json.is_object()) return std::string(text);
  seal(json);
  return json.dump();
}

void compare(const Baseline& before, const Baseline& after) {
  accepted([&] {
    const checks::BaselineDiff diff = diff_baselines(before, after);
    if (report_of(diff).headline.empty() || parse_json(to_json(diff)).at("same") != diff.same())
      fail("a difference that is not told");
  });
}

Baseline recorded() {
  Baseline out;
  checks::Progress progress(true);
  const Architecture& hopper = *find_architecture("hopper");
  record_baseline(hopper, 8, {"mma.m8n8k16.s32.s8.s8.s32", "mma.m8n8k4.f64"}, model_backend(hopper), progress,
                  out);
  return out;
}

/// Changes results as the bytes say and counts them in the difference.
void change(Bytes bytes) {
  static const Baseline before = recorded();
  Baseline after = before;
  for (int left = 8; left > 0 && !bytes.rest().empty(); --left) {
    auto& one = after.instructions[bytes.byte() % after.instructions.size()];
    auto& family = one.families[bytes.byte() % one.families.size()];
    family.d[bytes.word(2) % family.d.size()] ^= static_cast<std::byte>(bytes.byte());
    family.hash = corpus::checksum_of(family.d);
  }
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < before.instructions.size(); ++i)
    for (std::size_t f = 0; f < before.instructions[i].families.size(); ++f) {
      const std::size_t width = spec_of(before.instructions[i].instruction.d).storage_bytes();
      const auto &was = before.instructions[i].families[f].d, &is = after.instructions[i].families[f].d;
      for (std::size_t e = 0; e < was.size() / width; ++e)
        changed += load_bits(was, width, e) == load_bits(is, width, e) ? 0 : 1;
    }
  const checks::BaselineDiff diff = diff_baselines(before, after);
  std::uint64_t told = 0;
  for (const checks::BaselineChange& each : diff.changes) told += each.differing;
  if (told != changed || diff.same() != (changed == 0))
    fail("a difference of other results than were changed");
  compare(after, before);
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const unsigned how = bytes.byte() % 3U;
  if (how != kAsItIs && how != kSealed) {
    change(bytes);
    return;
  }
  std::vector<Baseline> read;
  const std::string_view text = bytes.text();
  const std::size_t end = text.find('\xff');
  for (const std::string_view one :
       {text.substr(0, end), end == std::string_view::npos ? std::string_view() : text.substr(end + 1)}) {
    if (one.empty()) continue;
    accepted([&] { read.push_back(checks::baseline_of_json(how == kSealed ? sealed(one) : one, "x")); });
  }
  for (const Baseline& each : read) {
    const std::string json = to_json(each);
    if (to_json(checks::baseline_of_json(json, "again")) != json) fail("a baseline that does not come back");
    accepted([&] {
      if (!diff_baselines(each, each).same()) fail("a baseline that differs from itself");
    });
    compare(each, each);
  }
  if (read.size() == 2) compare(read[0], read[1]);
}
