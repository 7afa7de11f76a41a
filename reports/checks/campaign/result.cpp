#include "campaign/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "campaign/campaign_json.hpp"
#include "mmaudit/corpus/bounded_json.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::campaign {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "mmaudit.campaign/1";

/// Per shard of the plan: how much it is and how much is done; "here": this result has its counts.
json shards_of(const Plan& plan, const Tally& tally, const Shard& shard) {
  const std::vector<WorkItem> items = items_of(plan);
  json shards = json::array();
  for (std::size_t s = 0; s < shard.of; ++s) {
    const bool here = s == shard.index;
    std::uint64_t count = 0, done = 0, dots = 0, dots_done = 0;
    const WorkItem* first = nullptr;
    for (std::size_t i = s; i < items.size(); i += shard.of) {
      ++count;
      dots += dots_of(plan, items[i]);
      if (here && tally.done(items[i])) {
        ++done;
        dots_done += dots_of(plan, items[i]);
      } else if (first == nullptr) {
        first = &items[i];
      }
    }
    json one = {{"here", here},           {"stretches", count},
                {"stretches_done", done}, {"dots", dots},
                {"dots_done", dots_done}, {"ended", here ? "stopped" : "no result of this part"}};
    if (first != nullptr) {
      one["first_not_done"] = first - items.data();
      one["first_instruction"] = name_of(plan.instructions[first->instruction].instruction);
      one["first_family"] = gen::name_of(plan.input_classes[first->input_class]);
    }
    shards.push_back(std::move(one));
  }
  return shards;
}

/// Derives "complete" and "not_done" from "parts".
void list_not_done(json& result) {
  json missing = json::array();
  const std::size_t of = result.at("parts").size();
  for (std::size_t s = 0; s < of; ++s) {
    json& shard = result.at("parts").at(s);
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

std::string sealed(json result) {
  list_not_done(result);
  result["checksum"] = checksum_of(result);
  return result.dump(1) + "\n";
}

/// Calls `use` with the content of a result file, whose checksum is right.
template <typename Use>
auto with_result(const std::string& text, const std::string& file, const Use& use) {
  try {
    json result = corpus::parse_bounded(text, file);
    if (result.at("schema") != kSchema)
      throw InputError(
          fmt::format("{}: schema: found {}, allowed: \"{}\"", file, result.at("schema").dump(), kSchema));
    const auto sum = result.at("checksum").get<std::string>();
    result.erase("checksum");
    if (checksum_of(result) != sum)
      throw InputError(fmt::format("{}: checksum: found {}, allowed: {}, the checksum of its content", file,
                                   sum, checksum_of(result)));
    return use(std::move(result));
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{}: found no result of a campaign, allowed: what `mmaudit campaign` wrote", file));
  }
}

void add(json& to, const json& from, std::initializer_list<const char*> counts) {
  for (const char* count : counts)
    to.at(count) = to.at(count).get<std::uint64_t>() + from.at(count).get<std::uint64_t>();
}

/// Lists different answers side by side: shards may have run on different machines.
void join(json& to, const json& from) {
  const auto text = to.get<std::string>(), other = from.get<std::string>();
  if ((", " + text + ", ").find(", " + other + ", ") == std::string::npos) to = text + ", " + other;
}

void add_instruction(json& to, const json& from) {
  add(to, from, {"dots", "mismatches"});
  to.at("seconds") = to.at("seconds").get<double>() + from.at("seconds").get<double>();
  for (const auto& [name, counts] : from.at("families").items()) {
    json& into = to.at("families")[name];
    if (into.is_null())
      into = counts;
    else
      add(into, counts, {"dots", "mismatches"});
  }
}

/// Adds one result to another of the same plan.
void merge(json& to, const json& from, const std::string& file) {
  const auto refuse = [&](const char* field, const json& found, const json& allowed) {
    return InputError(fmt::format("{}: {}: found {}, allowed: {}, as the first file has", file, field,
                                  found.dump(), allowed.dump()));
  };
  if (from.at("plan") != to.at("plan")) throw refuse("plan", from.at("plan"), to.at("plan"));
  json& shards = to.at("parts");
  if (from.at("parts").size() != shards.size()) throw refuse("parts", from.at("parts").size(), shards.size());
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const json& shard = from.at("parts").at(s);
    if (!shard.at("here").get<bool>()) continue;
    if (shards[s].at("here").get<bool>())
      throw InputError(fmt::format("{}: part: found {} of {}, allowed: one that no other file has", file, s,
                                   shards.size()));
    shards[s] = shard;
  }
  add(to, from, {"dots", "mismatches", "gpus"});
  for (const char* fact : {"gpu", "driver", "cuda", "version", "revision"}) join(to.at(fact), from.at(fact));
  to.at("date") = std::max(to.at("date").get<std::string>(), from.at("date").get<std::string>());
  json& instructions = to.at("instructions");
  if (instructions.size() != from.at("instructions").size())
    throw refuse("instructions", from.at("instructions").size(), instructions.size());
  for (std::size_t i = 0; i < instructions.size(); ++i)
    add_instruction(instructions[i], from.at("instructions")[i]);
  for (const json& example : from.at("examples"))
    if (to.at("examples").size() < kMostExamples) to.at("examples").push_back(example);
}

std::string not_done_text(const json& result) {
  std::string text;
  for (const json& one : result.value("not_done", json::array()))
    text += fmt::format(
        "not done: shard {} of {}: {} of {} work items, {} dot products, from work item {} ({}, {}) on: {}\n",
        one.at("part").get<std::uint64_t>(), one.at("of").get<std::uint64_t>(),
        one.at("stretches").get<std::uint64_t>(), one.at("of_stretches").get<std::uint64_t>(),
        one.at("dots").get<std::uint64_t>(), one.at("first").get<std::uint64_t>(),
        one.at("first_instruction").get<std::string>(), one.at("first_family").get<std::string>(),
        one.at("why").get<std::string>());
  return text;
}

}  // namespace

std::string campaign_json(const Plan& plan, const Tally& tally, const Provenance& provenance,
                          std::size_t gpus, const Shard& shard) {
  json instructions = json::array();
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    json input_classes = json::object();
    Count sum;
    for (std::size_t c = 0; c < plan.input_classes.size(); ++c) {
      const auto found = tally.counts().find({i, c});
      if (found == tally.counts().end()) continue;
      const Count& count = found->second;
      input_classes[std::string(gen::name_of(plan.input_classes[c]))] = {{"dots", count.dots},
                                                                         {"mismatches", count.mismatches}};
      sum += count;
    }
    instructions.push_back({{"instruction", name_of(plan.instructions[i].instruction)},
                            {"engine", plan.instructions[i].engine},
                            {"dots", sum.dots},
                            {"mismatches", sum.mismatches},
                            {"seconds", sum.seconds},
                            {"families", input_classes}});
  }
  json examples = json::array();
  for (const auto& [instruction, example] : tally.examples()) {
    examples.push_back(to_json(example));
    examples.back()["instruction"] = name_of(plan.instructions[instruction].instruction);
  }
  const Count total = tally.total();
  json result = {{"schema", kSchema},
                 {"on", plan.on()},
                 {"seed", plan.seed},
                 {"generator", gen::kGeneratorVersion},
                 {"plan", plan.identity()},
                 {"dots_asked", plan.dots},
                 {"dots", total.dots},
                 {"mismatches", total.mismatches},
                 {"architecture", plan.architecture},
                 {"gpu", provenance.gpu},
                 {"gpus", gpus},
                 {"driver", provenance.driver},
                 {"cuda", provenance.cuda},
                 {"version", provenance.version},
                 {"revision", provenance.revision},
                 {"date", provenance.date},
                 {"parts", shards_of(plan, tally, shard)},
                 {"instructions", instructions},
                 {"examples", examples}};
  return sealed(std::move(result));
}

std::string merge_campaigns(const std::vector<std::pair<std::string, std::string>>& files) {
  std::optional<json> all;
  for (const auto& [file, text] : files)
    with_result(text, file, [&, &file = file](json one) {
      if (!one.contains("parts"))
        throw InputError(
            fmt::format("{}: parts: found none, allowed: a result of `mmaudit campaign --part`", file));
      if (all)
        merge(*all, one, file);
      else
        all = std::move(one);
    });
  if (!all) throw InputError("--merge: found no file, allowed: results of `mmaudit campaign --part`");
  return sealed(std::move(*all));
}

Verdict campaign_verdict(const std::string& text, const std::string& file) {
  return with_result(text, file, [](const json& result) {
    Verdict verdict{result.at("complete").get<bool>(), result.at("mismatches").get<std::uint64_t>(), {}};
    if (!result.at("examples").empty()) {
      const json& first = result.at("examples").at(0);
      verdict.example = {first.at("instruction").get<std::string>(), mismatch_from(first)};
    }
    return verdict;
  });
}

std::string campaign_text(const std::string& text, const std::string& file) {
  return with_result(text, file, [](const json& result) {
    const auto field = [&](const char* key) { return result.at(key).get<std::string>(); };
    std::string out = result.value("on", "hardware") == "model"
                          ? fmt::format("MODEL AGAINST ITSELF, no hardware: {}", field("architecture"))
                          : fmt::format("{} on {}, driver {}, CUDA {}", field("architecture"), field("gpu"),
                                        field("driver"), field("cuda"));
    out += fmt::format(", {}, seed {}, generator {}", field("date"), result.at("seed").get<std::uint64_t>(),
                       field("generator"));
    out += result.at("complete").get<bool>() ? "\n\n" : ", NOT COMPLETE\n\n";
    out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", "instruction", "engine", "dot products", "mismatches");
    for (const json& one : result.at("instructions"))
      out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", one.at("instruction").get<std::string>(),
                         one.at("engine").get<std::string>(), one.at("dots").get<std::uint64_t>(),
                         one.at("mismatches").get<std::uint64_t>());
    return out + "\n" + not_done_text(result) +
           fmt::format("{} instructions, {} dot products, {} mismatches\n", result.at("instructions").size(),
                       result.at("dots").get<std::uint64_t>(), result.at("mismatches").get<std::uint64_t>());
  });
}

}  // namespace mmaudit::campaign
