// Bytes as one or two results of campaigns, 0xff between them. The first byte says whether their checksums
// are made right first. What is shown is shown wholly, and what --merge writes is accepted by --show.

#include "mmaudit/campaign/result.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/json.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

/// The text with its checksum made right.
std::string sealed(std::string_view text) {
  Json result;
  if (!accepted([&] { result = parse_json(text).sorted(); }) || !result.is_object()) return std::string(text);
  result.erase("checksum");
  result["checksum"] = corpus::checksum_of(result.dump());
  return result.dump();
}

bool shown(const std::string& text) {
  return accepted([&] { campaign::read_campaign(text, "x"); });
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const bool seal = bytes.byte() % 2 != 0;
  std::vector<std::pair<std::string, std::string>> files;
  std::string_view rest = bytes.text();
  for (std::size_t end = 0; files.size() < 2 && end != std::string_view::npos; rest.remove_prefix(end + 1)) {
    end = rest.find('\xff');
    const std::string_view one = rest.substr(0, end);
    files.emplace_back("x", seal ? sealed(one) : std::string(one));
    if (end == std::string_view::npos) break;
  }
  for (const auto& [name, text] : files) shown(text);
  std::string merged;
  if (accepted([&] { merged = campaign::merge_campaigns(files); }) && !shown(merged))
    fail("a merged result that its reader refuses");
}
