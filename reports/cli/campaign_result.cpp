#include "campaign_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "campaign_json.hpp"
#include "common.hpp"
#include "mmaudit/corpus/bounded_json.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "mmaudit.campaign/1";

/// Of every part of the plan how much it is and how much is done; "here": its counts are in this result.
json parts_of(const CampaignPlan& plan, const CampaignTally& tally, const CampaignPart& part,
              const std::string& ended) {
  const std::vector<CampaignItem> items = items_of(plan);
  json parts = json::array();
  for (std::size_t p = 0; p < part.of; ++p) {
    std::uint64_t stretches = 0, done = 0, dots = 0, dots_done = 0;
    std::optional<std::size_t> first;
    for (std::size_t i = p; i < items.size(); i += part.of) {
      ++stretches;
      dots += dots_of(plan, items[i]);
      if (p == part.index && tally.done(items[i])) {
        ++done;
        dots_done += dots_of(plan, items[i]);
      } else if (!first) {
        first = i;
      }
    }
    json one = {{"here", p == part.index}, {"stretches", stretches},
                {"stretches_done", done},  {"dots", dots},
                {"dots_done", dots_done},  {"ended", p == part.index ? ended : "no result of this part"}};
    if (first) {
      one["first_not_done"] = *first;
      one["first_instruction"] = name_of(plan.instructions[items[*first].instruction].instruction);
      one["first_family"] = gen::name_of(plan.families[items[*first].family]);
    }
    parts.push_back(std::move(one));
  }
  return parts;
}

/// What follows from "parts": what is missing, by part, and whether anything is.
void list_not_done(json& result) {
  json missing = json::array();
  const std::size_t of = result.at("parts").size();
  for (std::size_t p = 0; p < of; ++p) {
    json& part = result.at("parts").at(p);
    const auto stretches = part.at("stretches").get<std::uint64_t>(),
               done = part.at("stretches_done").get<std::uint64_t>();
    if (stretches == done) {
      part["ended"] = "done";
      continue;
    }
    missing.push_back(
        {{"part", p},
         {"of", of},
         {"stretches", stretches - done},
         {"of_stretches", stretches},
         {"dots", part.at("dots").get<std::uint64_t>() - part.at("dots_done").get<std::uint64_t>()},
         {"first", part.at("first_not_done")},
         {"first_instruction", part.at("first_instruction")},
         {"first_family", part.at("first_family")},
         {"why", part.at("ended")}});
  }
  result["complete"] = missing.empty();
  result["not_done"] = std::move(missing);
}

std::string sealed(json result) {
  result["checksum"] = checksum_of(result);
  return result.dump(1) + "\n";
}

/// The content, without its checksum, which was right.
json opened(const std::string& text, const std::string& file) {
  json result = corpus::parse_bounded(text, file);
  if (result.at("schema") != kSchema)
    throw InputError(
        fmt::format("{}: schema: found {}, allowed: \"{}\"", file, result.at("schema").dump(), kSchema));
  const auto sum = result.at("checksum").get<std::string>();
  result.erase("checksum");
  if (checksum_of(result) != sum)
    throw InputError(fmt::format("{}: checksum: found {}, allowed: {}, which its content has", file, sum,
                                 checksum_of(result)));
  return result;
}

InputError no_result(const std::string& file) {
  return InputError(
      fmt::format("{}: found no result of a campaign, allowed: what `mmaudit campaign` wrote", file));
}

void add(json& to, const json& from) { to = to.get<std::uint64_t>() + from.get<std::uint64_t>(); }

/// Different answers side by side: parts may have run on different machines.
void join(json& to, const json& from) {
  auto text = to.get<std::string>();
  const auto other = from.get<std::string>();
  if ((", " + text + ", ").find(", " + other + ", ") == std::string::npos) to = text + ", " + other;
}

void add_instruction(json& to, const json& from) {
  for (const char* count : {"dots", "mismatches"}) add(to.at(count), from.at(count));
  to.at("seconds") = to.at("seconds").get<double>() + from.at("seconds").get<double>();
  for (const auto& [family, counts] : from.at("families").items()) {
    json& into = to.at("families")[family];
    if (into.is_null()) {
      into = counts;
      continue;
    }
    for (const char* count : {"dots", "mismatches"}) add(into.at(count), counts.at(count));
  }
}

/// Adds one result to another of the same plan.
void merge(json& to, const json& from, const std::string& file) {
  const auto refuse = [&](const char* field, const json& found, const json& allowed) {
    return InputError(fmt::format("{}: {}: found {}, allowed: {}, as the first file has", file, field,
                                  found.dump(), allowed.dump()));
  };
  if (from.at("plan") != to.at("plan")) throw refuse("plan", from.at("plan"), to.at("plan"));
  json& parts = to.at("parts");
  if (from.at("parts").size() != parts.size()) throw refuse("parts", from.at("parts").size(), parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const json& part = from.at("parts").at(p);
    if (!part.at("here").get<bool>()) continue;
    if (parts[p].at("here").get<bool>())
      throw InputError(fmt::format("{}: part: found {} of {}, allowed: one that no other file has", file, p,
                                   parts.size()));
    parts[p] = part;
  }
  for (const char* count : {"dots", "mismatches", "gpus"}) add(to.at(count), from.at(count));
  for (const char* fact : {"gpu", "driver", "cuda", "version", "revision"}) join(to.at(fact), from.at(fact));
  to.at("date") = std::max(to.at("date").get<std::string>(), from.at("date").get<std::string>());
  json& rows = to.at("instructions");
  if (rows.size() != from.at("instructions").size())
    throw refuse("instructions", from.at("instructions").size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) add_instruction(rows[i], from.at("instructions")[i]);
  for (const json& example : from.at("examples"))
    if (to.at("examples").size() < kMostExamples) to.at("examples").push_back(example);
}

std::string not_done_text(const json& result) {
  std::string text;
  for (const json& one : result.value("not_done", json::array()))
    text += fmt::format(
        "not done: part {} of {}: {} of {} stretches, {} dot products, from stretch {} ({}, {}) on: {}\n",
        one.at("part").get<std::uint64_t>(), one.at("of").get<std::uint64_t>(),
        one.at("stretches").get<std::uint64_t>(), one.at("of_stretches").get<std::uint64_t>(),
        one.at("dots").get<std::uint64_t>(), one.at("first").get<std::uint64_t>(),
        one.at("first_instruction").get<std::string>(), one.at("first_family").get<std::string>(),
        one.at("why").get<std::string>());
  return text;
}

}  // namespace

CampaignFacts facts_without_gpu() {
  return {"none (the model against itself)", "none", "none", kVersion, kGitRevision, today(), 0};
}

std::string campaign_json(const CampaignPlan& plan, const CampaignTally& tally, const CampaignFacts& facts,
                          const CampaignPart& part, const std::string& ended) {
  json rows = json::array();
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    json families = json::object();
    CampaignCount sum;
    for (std::size_t f = 0; f < plan.families.size(); ++f) {
      const auto found = tally.counts().find({i, f});
      if (found == tally.counts().end()) continue;
      families[std::string(gen::name_of(plan.families[f]))] = {{"dots", found->second.dots},
                                                               {"mismatches", found->second.mismatches}};
      sum.dots += found->second.dots;
      sum.mismatches += found->second.mismatches;
      sum.seconds += found->second.seconds;
    }
    const CampaignInstruction& one = plan.instructions[i];
    rows.push_back({{"instruction", name_of(one.instruction)},
                    {"engine", one.engine},
                    {"dots", sum.dots},
                    {"mismatches", sum.mismatches},
                    {"seconds", sum.seconds},
                    {"families", families}});
  }
  json examples = json::array();
  for (const auto& [instruction, example] : tally.examples()) {
    json entry = example_json(example);
    entry["instruction"] = name_of(plan.instructions[instruction].instruction);
    examples.push_back(entry);
  }
  const CampaignCount total = tally.total();
  json result = {{"schema", kSchema},
                 {"on", plan.on()},
                 {"seed", plan.seed},
                 {"generator", gen::kGeneratorVersion},
                 {"plan", plan.identity()},
                 {"dots_asked", plan.dots},
                 {"dots", total.dots},
                 {"mismatches", total.mismatches},
                 {"architecture", plan.architecture},
                 {"gpu", facts.gpu},
                 {"gpus", facts.gpus},
                 {"driver", facts.driver},
                 {"cuda", facts.cuda},
                 {"version", facts.version},
                 {"revision", facts.revision},
                 {"date", facts.date},
                 {"parts", parts_of(plan, tally, part, ended)},
                 {"instructions", rows},
                 {"examples", examples}};
  list_not_done(result);
  return sealed(std::move(result));
}

std::string merge_campaigns(const std::vector<std::pair<std::string, std::string>>& files) {
  std::optional<json> all;
  for (const auto& [file, text] : files) {
    try {
      json one = opened(text, file);
      if (!one.contains("parts"))
        throw InputError(
            fmt::format("{}: parts: found none, allowed: a result of `mmaudit campaign --part`", file));
      if (all)
        merge(*all, one, file);
      else
        all = std::move(one);
    } catch (const json::exception&) {
      throw no_result(file);
    }
  }
  if (!all) throw InputError("--merge: found no file, allowed: results of `mmaudit campaign --part`");
  list_not_done(*all);
  return sealed(std::move(*all));
}

CampaignVerdict campaign_verdict(const std::string& text, const std::string& file) {
  try {
    const json result = opened(text, file);
    return {result.at("complete").get<bool>(), result.at("mismatches").get<std::uint64_t>()};
  } catch (const json::exception&) {
    throw no_result(file);
  }
}

std::string campaign_text(const std::string& text, const std::string& file) {
  try {
    const json result = opened(text, file);
    const bool model = result.value("on", "hardware") == "model";
    std::string out =
        model
            ? fmt::format("MODEL AGAINST ITSELF, no hardware: {}, {}, seed {}, generator {}",
                          result.at("architecture").get<std::string>(), result.at("date").get<std::string>(),
                          result.at("seed").get<std::uint64_t>(), result.at("generator").get<std::string>())
            : fmt::format("{} on {}, driver {}, CUDA {}, {}, seed {}, generator {}",
                          result.at("architecture").get<std::string>(), result.at("gpu").get<std::string>(),
                          result.at("driver").get<std::string>(), result.at("cuda").get<std::string>(),
                          result.at("date").get<std::string>(), result.at("seed").get<std::uint64_t>(),
                          result.at("generator").get<std::string>());
    out += result.at("complete").get<bool>() ? "\n\n" : ", NOT COMPLETE\n\n";
    out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", "instruction", "engine", "dot products", "mismatches");
    for (const json& row : result.at("instructions"))
      out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", row.at("instruction").get<std::string>(),
                         row.at("engine").get<std::string>(), row.at("dots").get<std::uint64_t>(),
                         row.at("mismatches").get<std::uint64_t>());
    return out + "\n" + not_done_text(result) +
           fmt::format("{} instructions, {} dot products, {} mismatches\n", result.at("instructions").size(),
                       result.at("dots").get<std::uint64_t>(), result.at("mismatches").get<std::uint64_t>());
  } catch (const json::exception&) {
    throw no_result(file);
  }
}

}  // namespace mmaudit::cli
