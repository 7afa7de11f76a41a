#include "mmaudit/campaign/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "campaign/json.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::campaign {
namespace {

constexpr std::string_view kAllowedFiles = "what `mmaudit verify campaign` wrote";
constexpr std::string_view kSchema = "mmaudit.campaign/1";
constexpr ProvenanceKey kProvenanceKeys[] = {
    {"gpu", &Provenance::gpu},         {"driver", &Provenance::driver},     {"cuda", &Provenance::cuda},
    {"version", &Provenance::version}, {"revision", &Provenance::revision}, {"date", &Provenance::date}};

/// Per shard of the schedule: how much it is and how much is done; "here": this result has its counts.
Json shards_of(const Schedule& schedule, const Tally& tally, const Shard& shard) {
  const std::vector<WorkItem> items = items_of(schedule);
  Json shards = Json::array();
  for (std::size_t s = 0; s < shard.of; ++s) {
    const bool here = s == shard.index;
    std::uint64_t count = 0, done = 0, dots = 0, dots_done = 0;
    const WorkItem* first = nullptr;
    for (std::size_t i = s; i < items.size(); i += shard.of) {
      ++count;
      dots += dots_of(schedule, items[i]);
      if (here && tally.done(items[i])) {
        ++done;
        dots_done += dots_of(schedule, items[i]);
      } else if (first == nullptr) {
        first = &items[i];
      }
    }
    Json one = {{"here", here},           {"stretches", count},
                {"stretches_done", done}, {"dots", dots},
                {"dots_done", dots_done}, {"ended", here ? "stopped" : "no result of this part"}};
    if (first != nullptr) {
      one["first_not_done"] = first - items.data();
      one["first_instruction"] = name_of(schedule.instructions[first->instruction].instruction);
      one["first_family"] = gen::name_of(schedule.input_classes[first->input_class]);
    }
    shards.push_back(std::move(one));
  }
  return shards;
}

/// Derives "complete" and "not_done" from "parts".
void list_not_done(Json& result) {
  Json missing = Json::array();
  const std::size_t of = result.at("parts").size();
  for (std::size_t s = 0; s < of; ++s) {
    Json& shard = result.at("parts").at(s);
    const auto left = [&](const char* all, const char* done) {
      return shard.at(all).get<std::uint64_t>() - shard.at(done).get<std::uint64_t>();
    };
    if (left("stretches", "stretches_done") == 0) {
      shard["ended"] = "done";
      continue;
    }
    missing.push_back({{"part", s},
                       {"of", of},
                       {"stretches", left("stretches", "stretches_done")},
                       {"of_stretches", shard.at("stretches")},
                       {"dots", left("dots", "dots_done")},
                       {"first", shard.at("first_not_done")},
                       {"first_instruction", shard.at("first_instruction")},
                       {"first_family", shard.at("first_family")},
                       {"why", shard.at("ended")}});
  }
  result["complete"] = missing.empty();
  result["not_done"] = std::move(missing);
}

std::string sealed(Json result) {
  list_not_done(result);
  result["checksum"] = checksum_of(result);
  return document(result, 1);
}

Mismatch example_from(const Json& one, const std::string& file) {
  const auto name = one.at("instruction").get<std::string>();
  const auto instruction = find_instruction(name);
  if (!instruction)
    throw InputError(fmt::format("{}: examples: instruction: {}", file, why_no_instruction(name)));
  return mismatch_from(one, *instruction, file);
}

constexpr std::uint64_t kAny = UINT64_MAX;
constexpr auto kClassNames = [] {
  std::array<std::string_view, gen::kInputClasses> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = gen::name_of(static_cast<gen::InputClass>(i));
  return names;
}();

/// Refuses counts that are not the sums of their parts, a complete result with less than was asked for, and
/// what is there twice: a checksum finds damage, not a file that was made.
void check(const Json& result, const std::string& file) {
  const auto count = [&](const Json& of, const char* key) {
    std::uint64_t value = 0;
    read_exactly(of.at(key), value, fmt::format("{}: {}", file, key));
    return value;
  };
  const auto require = [&](const char* field, std::uint64_t found, std::uint64_t least, std::uint64_t most) {
    if (found < least || found > most)
      refuse("{}: {}: found {}, allowed: {} to {}", file, field, found, least, most);
  };
  /// The counts of `of` are the sums over `parts`.
  const auto require_sums = [&](const Json& of, const Json& parts) {
    for (const char* key : {"dots", "mismatches"}) {
      std::uint64_t sum = 0;
      const auto add_part = [&](const Json& part) {
        require(key, count(part, key), 0, count(of, key) - sum);
        sum += count(part, key);
      };
      if (parts.is_object())
        for (const auto& [name, part] : parts.items()) add_part(part);
      else
        for (const Json& part : parts) add_part(part);
      require(key, sum, count(of, key), count(of, key));
    }
    require("mismatches", count(of, "mismatches"), 0, count(of, "dots"));
  };
  require_sums(result, result.at("instructions"));
  const auto complete = result.at("complete").get<bool>();
  std::set<std::string> names;
  for (const Json& one : result.at("instructions")) {
    require_sums(one, one.at("families"));
    for (const auto& [name, counts] : one.at("families").items())
      if (std::find(std::begin(kClassNames), std::end(kClassNames), name) == std::end(kClassNames))
        refuse("{}: families: found {}, allowed: {}", file, in_quotes(name), names_of(kClassNames));
    const auto name = one.at("instruction").get<std::string>();
    if (!names.insert(name).second)
      refuse("{}: instructions: found {} twice, allowed: once", file, in_quotes(name));
    if (complete) require("dots of a complete result", count(one, "dots"), count(result, "dots_asked"), kAny);
  }
  require("instructions", names.size(), 1, kAny);
  require("examples", result.at("examples").size(), count(result, "mismatches") == 0 ? 0 : 1,
          std::min<std::uint64_t>(count(result, "mismatches"), kMostExamples));
  for (const Json& one : result.at("examples")) {
    static_cast<void>(example_from(one, file));
    if (const auto name = one.at("instruction").get<std::string>(); !names.contains(name))
      refuse("{}: examples: instruction: found {}, allowed: one of the result", file, in_quotes(name));
  }
  if (!result.contains("parts")) return;  // old results
  std::uint64_t done = 0;
  for (const Json& part : result.at("parts")) {
    require("parts: stretches_done", count(part, "stretches_done"), 0, count(part, "stretches"));
    require("parts: dots_done", count(part, "dots_done"), 0, count(part, "dots"));
    require("parts: dots_done", count(part, "dots_done"), 0, count(result, "dots") - done);
    done += count(part, "dots_done");
  }
  require("parts: dots_done", done, count(result, "dots"), count(result, "dots"));
  Json derived = result;
  list_not_done(derived);
  for (const char* field : {"complete", "not_done"})
    if (derived.at(field).sorted() != result.at(field).sorted())
      refuse("{}: {}: found {}, allowed: {}, as the parts say", file, field,
             printable(result.at(field).ascii(), 40), printable(derived.at(field).ascii(), 40));
}

/// Calls `use` with the content of a result file, whose checksum is right.
template <typename Use>
auto with_result(const std::string& text, const std::string& file, const Use& use) {
  try {
    Json result = corpus::parse_bounded(text, file, kAllowedFiles);
    if (result.at("schema") != kSchema)
      refuse("{}: schema: found {}, allowed: \"{}\"", file, printable(result.at("schema").dump(), 40),
             kSchema);
    const auto sum = result.at("checksum").get<std::string>();
    result.erase("checksum");
    if (checksum_of(result) != sum)
      refuse("{}: checksum: found {}, allowed: the checksum of its content (the file was changed)", file,
             printable(sum, 40));
    check(result, file);
    return use(std::move(result));
  } catch (const JsonError&) {
    refuse("{}: found no result of a campaign, allowed: {}", file, kAllowedFiles);
  }
}

void add(Json& to, const Json& from, std::initializer_list<const char*> counts) {
  for (const char* count : counts)
    to.at(count) = to.at(count).get<std::uint64_t>() + from.at(count).get<std::uint64_t>();
}

/// Lists different answers side by side: shards may have run on different machines.
void join(Json& to, const Json& from) {
  const auto text = to.get<std::string>(), other = from.get<std::string>();
  if ((", " + text + ", ").find(", " + other + ", ") == std::string::npos) to = text + ", " + other;
}

void add_instruction(Json& to, const Json& from) {
  add(to, from, {"dots", "mismatches"});
  to.at("seconds") = to.at("seconds").get<double>() + from.at("seconds").get<double>();
  for (const auto& [name, counts] : from.at("families").items()) {
    Json& into = to.at("families")[name];
    if (into.is_null())
      into = counts;
    else
      add(into, counts, {"dots", "mismatches"});
  }
}

/// Adds one result to another of the same schedule.
void merge(Json& to, const Json& from, const std::string& file) {
  const auto require_same = [&](const char* field, const Json& found, const Json& allowed) {
    if (found != allowed)
      refuse("{}: {}: found {}, allowed: {}, as the first file has", file, field, found.dump(),
             allowed.dump());
  };
  require_same("plan", from.at("plan"), to.at("plan"));
  Json& shards = to.at("parts");
  require_same("parts", from.at("parts").size(), shards.size());
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const Json& shard = from.at("parts").at(s);
    if (!shard.at("here").get<bool>()) continue;
    if (shards[s].at("here").get<bool>())
      refuse("{}: part: found {} of {}, allowed: one that no other file has", file, s, shards.size());
    shards[s] = shard;
  }
  add(to, from, {"dots", "mismatches", "gpus"});
  for (const char* fact : {"gpu", "driver", "cuda", "version", "revision"}) join(to.at(fact), from.at(fact));
  to.at("date") = std::max(to.at("date").get<std::string>(), from.at("date").get<std::string>());
  Json& instructions = to.at("instructions");
  require_same("instructions", from.at("instructions").size(), instructions.size());
  for (std::size_t i = 0; i < instructions.size(); ++i)
    add_instruction(instructions[i], from.at("instructions")[i]);
  for (const Json& example : from.at("examples"))
    if (to.at("examples").size() < kMostExamples) to.at("examples").push_back(example);
}

/// "shard 1 of 3: 4 of 9 work items, ...": a part that is not done.
std::string not_done_text(const Json& one) {
  const auto count = [&](const char* key) { return one.at(key).get<std::uint64_t>(); };
  const auto word = [&](const char* key) { return one.at(key).get<std::string>(); };
  return fmt::format(
      "shard {} of {}: {} of {} work items, {} dot products, from work item {} ({}, {}) on: {}",
      count("part"), count("of"), count("stretches"), count("of_stretches"), count("dots"), count("first"),
      word("first_instruction"), word("first_family"), word("why"));
}

/// Errors: JsonError where a field is missing or of another type.
CampaignResult result_from(const Json& from, const std::string& file) {
  const auto word = [](const Json& of, const char* key) { return of.at(key).get<std::string>(); };
  const auto count = [](const Json& of, const char* key) { return of.at(key).get<std::uint64_t>(); };
  CampaignResult out{.on_model = from.contains("on") && from.at("on") == "model",
                     .complete = from.at("complete").get<bool>(),
                     .architecture = word(from, "architecture"),
                     .generator = word(from, "generator"),
                     .dots = count(from, "dots"),
                     .mismatches = count(from, "mismatches")};
  read_fields(from, kProvenanceKeys, out.provenance);
  out.provenance.seed = count(from, "seed");
  for (const Json& one : from.at("instructions"))
    out.instructions.push_back(
        {word(one, "instruction"), word(one, "engine"), count(one, "dots"), count(one, "mismatches")});
  if (from.contains("not_done"))  // old results lack it
    for (const Json& one : from.at("not_done")) out.not_done.push_back(not_done_text(one));
  if (const Json& examples = from.at("examples"); !examples.empty())
    out.example = {word(examples.front(), "instruction"), example_from(examples.front(), file)};
  return out;
}

}  // namespace

std::string campaign_json(const Schedule& schedule, const Tally& tally, const Provenance& provenance,
                          std::size_t gpus, const Shard& shard) {
  Json instructions = Json::array();
  for (std::size_t i = 0; i < schedule.instructions.size(); ++i) {
    Json input_classes = Json::object();
    Count sum;
    for (std::size_t c = 0; c < schedule.input_classes.size(); ++c) {
      const auto found = tally.counts().find({i, c});
      if (found == tally.counts().end()) continue;
      const Count& count = found->second;
      input_classes[std::string(gen::name_of(schedule.input_classes[c]))] = {
          {"dots", count.dots}, {"mismatches", count.mismatches}};
      sum += count;
    }
    instructions.push_back({{"instruction", name_of(schedule.instructions[i].instruction)},
                            {"engine", schedule.instructions[i].engine},
                            {"dots", sum.dots},
                            {"mismatches", sum.mismatches},
                            {"seconds", sum.seconds},
                            {"families", input_classes}});
  }
  Json examples = Json::array();
  for (const auto& [instruction, example] : tally.examples()) {
    examples.push_back(to_json(example));
    examples.back()["instruction"] = name_of(schedule.instructions[instruction].instruction);
  }
  const Count total = tally.total();
  Json result = {{"schema", kSchema},
                 {"on", schedule.on()},
                 {"seed", schedule.seed},
                 {"generator", gen::kGeneratorVersion},
                 {"plan", schedule.identity()},
                 {"dots_asked", schedule.dots},
                 {"dots", total.dots},
                 {"mismatches", total.mismatches},
                 {"architecture", schedule.architecture},
                 {"gpus", gpus},
                 {"parts", shards_of(schedule, tally, shard)},
                 {"instructions", instructions},
                 {"examples", examples}};
  write_fields(provenance, kProvenanceKeys, result);
  return sealed(std::move(result));
}

std::string merge_campaigns(const std::vector<std::pair<std::string, std::string>>& files) {
  std::optional<Json> all;
  for (const auto& [file, text] : files)
    with_result(text, file, [&, &file = file](Json one) {
      static_cast<void>(result_from(one, file));  // what can't be shown is not merged
      if (!one.contains("parts"))
        refuse("{}: parts: found none, allowed: a result of `mmaudit verify campaign --part`", file);
      if (all)
        merge(*all, one, file);
      else
        all = std::move(one);
    });
  if (!all) refuse("--merge: found no file, allowed: results of `mmaudit verify campaign --part`");
  return sealed(std::move(*all));
}

CampaignResult read_campaign(const std::string& text, const std::string& file) {
  return with_result(text, file, [&file](const Json& result) { return result_from(result, file); });
}

}  // namespace mmaudit::campaign
