// What people write for a diff: tokens of A and of B, names of modules.
#include "trace/tokens.hpp"

#include <charconv>
#include <set>
#include <string_view>

#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::checks {
namespace {

/// "3", "0:16", "1.0:16": tokens of one entry.
std::vector<TraceToken> tokens_of(std::string_view text, const std::string& whole) {
  const auto number = [&](std::string_view part) {
    std::uint64_t out = 0;
    const auto found = std::from_chars(part.data(), part.data() + part.size(), out);
    if (part.empty() || found.ec != std::errc{} || found.ptr != part.data() + part.size() || out > (1U << 30))
      refuse(
          "--row: found {}, allowed: TOKEN=TOKEN, FIRST:LAST=FIRST:LAST, with the entry of a batch as 2.0:16",
          whole);
    return out;
  };
  TraceToken first;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    first.entry = number(text.substr(0, dot));
    text.remove_prefix(dot + 1);
  }
  const std::size_t colon = text.find(':');
  first.position = number(text.substr(0, colon));
  const std::uint64_t end =
      colon == std::string_view::npos ? first.position + 1 : number(text.substr(colon + 1));
  if (end > first.position + kMostTokens)
    refuse("--row: found {} tokens, allowed: up to {}", end - first.position, kMostTokens);
  std::vector<TraceToken> out;
  for (std::uint64_t at = first.position; at < end; ++at) out.push_back({first.entry, at});
  return out;
}

std::vector<TraceToken> all_tokens(const Trace& trace) {
  std::vector<TraceToken> out;
  for (const TraceCall& call : trace.calls)
    for (std::uint64_t entry = 0; entry < call.batch; ++entry)
      for (std::uint64_t i = 0; i < call.tokens; ++i) out.push_back({entry, call.past + i});
  return out;
}

}  // namespace

std::size_t call_of(const Trace& trace, TraceToken token) {
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const TraceCall& call = trace.calls[i];
    if (token.entry < call.batch && token.position >= call.past && token.position < call.past + call.tokens)
      return i;
  }
  return kNone;
}

std::vector<TokenPair> pairs_of(const Trace& a, const Trace& b, const std::vector<std::string>& rows) {
  std::vector<TokenPair> out;
  if (rows.empty())
    for (const TraceToken& token : all_tokens(a))
      if (call_of(b, token) != kNone) out.push_back({token, token});
  for (const std::string& row : rows) {
    const std::size_t equals = row.find('=');
    const auto of_a = tokens_of(std::string_view(row).substr(0, equals), row);
    const auto of_b =
        tokens_of(equals == std::string::npos ? "" : std::string_view(row).substr(equals + 1), row);
    if (of_a.size() != of_b.size()) refuse("--row: found {}, allowed: as many tokens on both sides", row);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      if (call_of(a, of_a[i]) == kNone || call_of(b, of_b[i]) == kNone)
        refuse("--row: found {}, allowed: tokens that both traces have", row);
      out.push_back({of_a[i], of_b[i]});
    }
  }
  return out;
}

void require_maps(const Trace& a, const Trace& b, const std::vector<std::string>& maps) {
  for (const std::string& map : maps) {
    const std::size_t equals = map.find('=');
    if (equals == std::string::npos) refuse("--map: found {}, allowed: FROM=TO, beginnings of names", map);
    for (const auto& [trace, from] : {std::pair{&a, map.substr(0, equals)}, {&b, map.substr(equals + 1)}}) {
      std::set<std::string> begins;
      bool any = false;
      for (const TraceOperation& each : trace->operations) {
        const std::string& module = each.module;
        any = any || module.starts_with(from);
        for (std::size_t dot = module.find('.');; dot = module.find('.', dot + 1)) {
          begins.insert(module.substr(0, dot == std::string::npos ? dot : dot + 1));
          if (dot == std::string::npos) break;
        }
      }
      begins.erase("");
      if (!any)
        refuse("--map: found {} in {}, allowed: how names of modules of {} begin, such as {}", from, map,
               trace->file, allowed_near(from, {begins.begin(), begins.end()}));
    }
  }
}

}  // namespace mmaudit::checks
