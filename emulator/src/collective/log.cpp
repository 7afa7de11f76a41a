// What NCCL says of its choices: src/graph/rings.cc, src/init.cc, src/enqueue.cc (ncclLaunchPrepare).
#include <algorithm>

#include "mmaudit/collective.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

constexpr int kMost = 1024;  ///< channels and ranks; a plan has fewer

/// What stands behind `word`; nullopt where the line has no such word.
std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at + word.size()));
}

/// The number at the front, after blanks, and the text without it.
std::optional<int> next_number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end =
      std::min(text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0), text.size());
  const auto number = whole_number<int>(text.substr(0, end));
  if (number) text.remove_prefix(end);
  return number;
}

bool skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

/// Channel 00/16 : 0 1 2 3
void read_ring(std::string_view text, CollectiveLog& log) {
  const auto channel = next_number(text);
  if (!channel || *channel < 0 || !skip(text, "/")) return;
  const auto channels = next_number(text);
  if (!channels || *channel >= *channels || !skip(text, " :")) return;
  std::vector<int> ring;
  while (const auto rank = next_number(text)) ring.push_back(*rank);
  if (ring.size() < 2 || text.find_first_not_of(" \r") != std::string_view::npos) return;
  log.several |= log.channels != 0 && log.channels != static_cast<std::uint64_t>(*channels);
  log.channels = static_cast<std::uint64_t>(*channels);
  if (*channels > kMost) return;  // no plan has so many
  log.rings.resize(std::max(log.rings.size(), static_cast<std::size_t>(*channels)));
  std::vector<int>& known = log.rings[static_cast<std::size_t>(*channel)];
  log.several |= !known.empty() && known != ring;
  known = std::move(ring);
}

/// Trees [0] 1/-1/-1->0->-1 [1] ...: children, the rank, its parent; per channel.
void read_trees(std::string_view text, CollectiveLog& log) {
  while (skip(text, " [")) {
    const auto channel = next_number(text);
    std::array<int, 3> down{};
    bool good = channel && *channel >= 0 && *channel < kMost && skip(text, "]");
    for (std::size_t i = 0; i < down.size() && good; ++i) {
      const auto child = next_number(text);
      good = child && skip(text, i + 1 < down.size() ? "/" : "->");
      down[i] = child.value_or(-1);
    }
    const auto rank = good ? next_number(text) : std::nullopt;
    const auto up = rank && skip(text, "->") ? next_number(text) : std::nullopt;
    if (!up || *rank < 0 || *rank >= kMost) return;
    log.trees.resize(std::max(log.trees.size(), static_cast<std::size_t>(*channel) + 1));
    CollectiveTree& tree = log.trees[static_cast<std::size_t>(*channel)];
    const auto at = static_cast<std::size_t>(*rank);
    tree.up.resize(std::max(tree.up.size(), at + 1), -1);
    tree.down.resize(tree.up.size(), {-1, -1, -1});
    constexpr std::array<int, 3> kNone = {-1, -1, -1};
    log.several |=
        (tree.up[at] != -1 || tree.down[at] != kNone) && (tree.up[at] != *up || tree.down[at] != down);
    tree.up[at] = *up;
    tree.down[at] = down;
  }
}

/// AllReduce: 4096 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..3}
void read_call(std::string_view line, CollectiveLog& log) {
  const std::pair<std::string_view, CollectiveKind> kinds[] = {
      {"AllReduce: ", CollectiveKind::all_reduce}, {"ReduceScatter: ", CollectiveKind::reduce_scatter}};
  for (const auto& [word, kind] : kinds) {
    const auto text = behind(line, word);
    if (!text) continue;
    CollectiveLog::Call call{.kind = kind, .bytes = 0, .algorithm = {}, .protocol = {}};
    const auto bytes = whole_number<std::uint64_t>(text->substr(0, text->find(' ')));
    const auto algorithm = behind(*text, "Algo "), protocol = behind(*text, "proto ");
    auto channels = behind(*text, "{Lo..Hi}={");
    if (!bytes || !algorithm || !protocol || !channels) return;
    const auto first = next_number(*channels);
    if (!first || !skip(*channels, "..")) return;
    const auto last = next_number(*channels);
    if (!last || *first < 0 || *last < *first) return;
    call.bytes = *bytes;
    call.algorithm = algorithm->substr(0, algorithm->find(' '));
    call.protocol = protocol->substr(0, protocol->find(' '));
    call.first = static_cast<std::uint64_t>(*first), call.last = static_cast<std::uint64_t>(*last);
    log.calls.push_back(std::move(call));
  }
}

std::string lower(std::string text) {
  for (char& each : text)
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  return text;
}

template <class Enum, std::size_t Count>
bool take_name(const std::string_view (&names)[Count], const std::string& name, Enum& out) {
  const auto* const at = std::find(std::begin(names), std::end(names), lower(name));
  if (at == std::end(names)) return false;
  out = static_cast<Enum>(at - std::begin(names));
  return true;
}

template <class Enum, std::size_t Count>
std::string take_word(const char* field, std::string_view word, const std::string_view (&names)[Count],
                      Enum& out) {
  if (word.empty() || take_name(names, std::string(word), out)) return "";
  return std::string(field) + refusal(": found {}, allowed: {}", in_quotes(word), names_of(names));
}

}  // namespace

CollectiveLog collective_log_of(std::string_view text) {
  CollectiveLog log;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const auto ring = behind(line, "Channel ")) read_ring(*ring, log);
    if (const auto trees = behind(line, "Trees")) read_trees(*trees, log);
    if (line.find(" Bytes -> Algo ") != std::string_view::npos) read_call(line, log);
    if (auto version = behind(line, "NCCL version ")) {
      const auto major = next_number(*version);
      const auto minor = major && skip(*version, ".") ? next_number(*version) : std::nullopt;
      const std::uint64_t before = log.version;
      if (minor && *major >= 0 && *minor >= 0)
        log.version = 100 * static_cast<std::uint64_t>(*major) + static_cast<std::uint64_t>(*minor);
      log.several |= before != 0 && before != log.version;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return log;
}

std::string take_log(const CollectiveLog& log, const CollectiveProblem& problem, CollectiveChoice& choice) {
  if (std::string why = why_no_collective(problem, {}); !why.empty()) return why;  // of any choice
  const auto serves = [&](const CollectiveLibrary& row) {
    return row.first_version != 0 && row.first_version <= log.version && log.version <= row.last_version;
  };
  const auto* const row =
      std::find_if(std::begin(kCollectiveLibraries), std::end(kCollectiveLibraries), serves);
  if (row == std::end(kCollectiveLibraries))
    return refusal("log: found NCCL {}.{}, allowed: 2.27 to 2.30, on the line NCCL version",
                   log.version / 100, log.version % 100);
  choice.library = row->name;
  const std::uint64_t bytes = problem.count * spec_of(problem.type).storage_bytes() /
                              (problem.kind == CollectiveKind::reduce_scatter ? problem.ranks : 1);
  const CollectiveLog::Call* found = nullptr;
  for (const CollectiveLog::Call& call : log.calls) {
    if (call.kind != problem.kind || call.bytes != bytes) continue;
    if (found != nullptr && (found->algorithm != call.algorithm || found->protocol != call.protocol ||
                             found->first != call.first || found->last != call.last))
      return refusal("log: found two choices for {} bytes, allowed: one", bytes);
    found = &call;
  }
  if (found == nullptr)
    return refusal("log: found no {} of {} bytes, allowed: its line of NCCL_DEBUG_SUBSYS=TUNING",
                   name_in(names::kCollectiveKind, problem.kind), bytes);
  if (!take_name(names::kCollectiveAlgorithm, found->algorithm, choice.algorithm))
    return refusal(
        "log: found the algorithm {}, allowed: {} (what sums in a switch or a network is not known)",
        found->algorithm, names_of(names::kCollectiveAlgorithm));
  if (!take_name(names::kCollectiveProtocol, found->protocol, choice.protocol))
    return refusal("log: found the protocol {}, allowed: {}", found->protocol,
                   names_of(names::kCollectiveProtocol));
  if (log.several)
    return refusal("log: found lines of several communicators, allowed: of one (cut it from the log)");
  if (log.channels == 0 ||
      std::any_of(log.rings.begin(), log.rings.end(), [](const auto& ring) { return ring.empty(); }))
    return refusal("log: found rings of {} channels, allowed: of all, as rank 0 prints them in lines Channel",
                   log.channels == 0 ? "no" : "some");
  choice.channels = log.channels;
  choice.rings = log.rings;
  if (choice.algorithm == CollectiveAlgorithm::tree && log.trees.empty())
    return refusal("log: found no line Trees, allowed: the lines of all ranks");
  choice.trees = log.trees;
  if (found->first != 0)
    return refusal("log: found channels {} to {}, allowed: from 0, of a call that is alone in its group",
                   found->first, found->last);
  if (std::string why = why_no_collective(problem, choice); !why.empty()) return why;
  const std::uint64_t channels = collective_plan(problem, choice).channels;
  if (channels != found->last + 1)
    return refusal(
        "log: found {} channels in use, allowed: {}, as the rules say (threads given as NCCL_NTHREADS "
        "has them?)",
        found->last + 1, channels);
  return "";
}

std::string take_words(const CollectiveWords& words, CollectiveProblem& problem, CollectiveChoice& choice) {
  for (std::string why :
       {take_word("kind", words.kind, names::kCollectiveKind, problem.kind),
        take_word("operation", words.operation, names::kCollectiveOperation, problem.operation),
        take_word("algorithm", words.algorithm, names::kCollectiveAlgorithm, choice.algorithm),
        take_word("protocol", words.protocol, names::kCollectiveProtocol, choice.protocol)})
    if (!why.empty()) return why;
  if (!words.library.empty()) choice.library = words.library;
  for (std::string_view text = words.rings; !text.empty();) {
    std::string_view one = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    std::vector<int>& ring = choice.rings.emplace_back();
    while (const auto rank = next_number(one)) ring.push_back(*rank);
    if (one.find_first_not_of(' ') != std::string_view::npos)
      return refusal("rings: found {}, allowed: ranks, with ; between rings", in_quotes(one));
  }
  if (words.log.empty()) return why_no_collective(problem, choice);
  return take_log(collective_log_of(words.log), problem, choice);
}

}  // namespace mmaudit
