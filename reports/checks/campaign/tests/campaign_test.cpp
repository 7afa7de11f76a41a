// What a campaign consists of, its journal, and its result file: without a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "campaign/json.hpp"
#include "campaign/workers.hpp"
#include "mmaudit/campaign/result.hpp"
#include "mmaudit/error.hpp"
#include "small_schedule.hpp"

namespace mmaudit::campaign {
namespace {

TEST(CampaignSchedule, ItsItemsCoverEveryChunkOnce) {
  const Schedule schedule = small_schedule();
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> next;
  for (const WorkItem& item : items_of(schedule)) {
    EXPECT_EQ(item.first_batch, (next[{item.instruction, item.input_class}]));
    next[{item.instruction, item.input_class}] += item.batches;
  }
  EXPECT_EQ(next.size(), 4U);
}

TEST(CampaignSchedule, KnowsItsItems) {
  const Schedule schedule = small_schedule();
  for (const WorkItem& item : items_of(schedule)) ASSERT_TRUE(has_item(schedule, item));
  const WorkItem second = items_of(schedule)[4];
  for (const WorkItem& other : {WorkItem{2, 0, 0, 1}, WorkItem{0, 2, 0, 1}, WorkItem{0, 0, 0, 2},
                                WorkItem{0, 0, 1, second.batches + 1}, WorkItem{0, 0, 2, second.batches},
                                WorkItem{0, 0, std::uint64_t{1} << 60, second.batches}})
    EXPECT_FALSE(has_item(schedule, other)) << other.first_batch << ' ' << other.batches;
}

TEST(CampaignSchedule, TheFirstRoundMeetsEverythingOnce) {
  const Schedule schedule = small_schedule();
  const std::vector<WorkItem> items = items_of(schedule);
  ASSERT_GT(items.size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(items[i], (WorkItem{i / 2, i % 2, 0, 1}));
  EXPECT_GT(items[4].batches, 1U);
}

TEST(CampaignSchedule, EveryInstructionGetsTheDotsAskedForAndNoBatchMore) {
  const std::uint64_t batch = small_schedule().instructions[0].batch_dots;
  for (const std::uint64_t dots : {std::uint64_t{1}, 2 * batch, 2 * batch + 1, 6 * batch - 1}) {
    const Schedule schedule = small_schedule(dots);
    std::vector<std::uint64_t> planned(schedule.instructions.size());
    for (const WorkItem& item : items_of(schedule)) planned[item.instruction] += dots_of(schedule, item);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      EXPECT_GE(planned[i], dots);
      EXPECT_LT(planned[i], dots + schedule.input_classes.size() * schedule.instructions[i].batch_dots);
    }
  }
}

TEST(CampaignSchedule, ShardsAreCountedFrom0) {
  EXPECT_EQ(parse_shard(""), (Shard{0, 1}));
  EXPECT_EQ(parse_shard("0/1"), (Shard{0, 1}));
  EXPECT_EQ(parse_shard("2/3"), (Shard{2, 3}));
  for (const char* text : {"3/3", "4/3", "0/0", "-1/3", "1", "1/", "/3", "1/3x", "0/4097"})
    EXPECT_THROW(parse_shard(text), InputError) << text;
}

TEST(CampaignSchedule, AFlippedRuleIsAnotherPlan) {
  const Schedule schedule = small_schedule();
  Schedule other = schedule;
  DatapathEntry entry = *schedule.instructions[0].entry;
  entry.datapath.fraction_bits = 24;
  other.instructions[0].entry = &entry;
  EXPECT_NE(schedule.identity(), other.identity());
}

Mismatch an_example() {
  Mismatch one;
  one.dot.input_class = "normal";
  one.dot.a = one.dot.b = std::vector<std::uint64_t>(16);
  one.found = 1;
  return one;
}

TEST(CampaignRun, EndsAtADifferenceUnlessItShallGoOn) {
  const Schedule schedule = small_schedule(3'000'000);
  const std::size_t all = items_of(schedule).size();
  ASSERT_GT(all, 3U);
  for (const bool keep_going : {false, true}) {
    std::size_t ran = 0;
    Worker worker = [&](const Schedule& of, const WorkItem& item) {
      device::CheckResult result{.dots = dots_of(of, item), .mismatches = 0, .first = {}};
      if (++ran == 2) result.mismatches = 1, result.first = {an_example()};
      return result;
    };
    Journal journal(fresh_file("ends.jsonl"), schedule);
    run_campaign(schedule, {[&] { return worker; }}, journal,
                 {.shard = {}, .seconds = 0, .keep_going = keep_going});
    EXPECT_EQ(ran, keep_going ? all : 2U);
    EXPECT_EQ(journal.tally().total().mismatches, 1U);
  }
}

TEST(CampaignHost, WhatIsNotWrittenDiffers) {
  const Architecture& hopper = *find_architecture("hopper");
  const Instruction instruction = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  const DatapathEntry& entry = *find_datapath(hopper, instruction);
  Schedule schedule = small_schedule(1);
  schedule.instructions = {scheduled_by_model(instruction, entry, entry, false)};
  const WorkItem item{0, 1, 1, 2};
  const Backend writes_nothing = {.name = "nothing",
                                  .why_not = [](const Instruction&, std::uint8_t) { return std::string(); },
                                  .run = [](const Instruction&, const TileView&) {}};
  const device::CheckResult nothing = check_model(writes_nothing, writes_nothing, schedule, item);
  EXPECT_EQ(nothing.dots, dots_of(schedule, item));
  EXPECT_EQ(nothing.mismatches, nothing.dots);
  const device::CheckResult same = check_model(model_backend(hopper), plain_backend(hopper), schedule, item);
  EXPECT_EQ(same.dots, dots_of(schedule, item));
  EXPECT_EQ(same.mismatches, 0U);
}

std::string text_of(const std::string& result) {
  return report::rendered(report_of(read_campaign(result, "x"), true), "text");
}

TEST(CampaignResult, OnlyAWholeOneWithoutADifferencePasses) {
  CampaignResult result{.complete = true, .dots = 4096};
  EXPECT_EQ(report_of(result, true).tone, report::Tone::good);
  EXPECT_EQ(report_of(result, false).tone, report::Tone::bad);
  result.complete = false;
  EXPECT_EQ(report_of(result, true).tone, report::Tone::note) << "a part, done";
  result.mismatches = 1;
  EXPECT_EQ(report_of(result, true).tone, report::Tone::bad);
  EXPECT_EQ(report_of(CampaignResult{.complete = true}, true).tone, report::Tone::note) << "of nothing";
}

TEST(CampaignResult, AChangedDigitIsSeen) {
  const Schedule schedule = small_schedule();
  Journal journal(fresh_file("result.jsonl"), schedule);
  const WorkItem first = items_of(schedule)[0];
  const std::string dots = std::to_string(dots_of(schedule, first));
  journal.add(first, {dots_of(schedule, first), 0, 0.5}, {});
  const std::string good = campaign_json(schedule, journal.tally(), on_a_gpu(), 1);
  const std::string text = text_of(good);
  EXPECT_NE(text.find(dots + " dot products, 0 mismatches"), std::string::npos) << text;
  EXPECT_NE(text.find("NOT COMPLETE"), std::string::npos) << text;
  std::string bad = good;
  bad.replace(bad.find(dots), 1, "9");
  EXPECT_THROW(static_cast<void>(read_campaign(bad, "x")), InputError);
  EXPECT_THROW(static_cast<void>(read_campaign("[]", "x")), InputError);
}

TEST(CampaignResult, CountsThatAreNotTheirSumsAreSeen) {
  const Schedule schedule = small_schedule();
  Journal journal(fresh_file("sums.jsonl"), schedule);
  const WorkItem first = items_of(schedule)[0];
  journal.add(first, {dots_of(schedule, first), 1, 0.5}, {example_of(schedule, first)});
  const auto good = nlohmann::json::parse(campaign_json(schedule, journal.tally(), on_a_gpu(), 1));
  const auto sealed_again = [](nlohmann::json result) {
    result.erase("checksum");
    result["checksum"] = checksum_of(parse_json(result.dump()));
    return result.dump();
  };
  EXPECT_EQ(read_campaign(sealed_again(good), "x").mismatches, 1U);
  // The checksum of what was changed is for the program to know.
  nlohmann::json changed = good;
  changed["gpu"] = "another";
  const std::string right = nlohmann::json::parse(sealed_again(changed)).at("checksum");
  try {
    static_cast<void>(read_campaign(changed.dump(), "x"));
    ADD_FAILURE() << "a wrong checksum passes";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("checksum: found "), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find(right), std::string::npos) << error.what();
  }
  for (const char* change :
       {R"([{"op":"replace","path":"/dots","value":4096000000000}])",
        R"([{"op":"replace","path":"/mismatches","value":0}])",
        R"([{"op":"replace","path":"/complete","value":true}])",
        R"([{"op":"replace","path":"/instructions","value":[]}])",
        R"([{"op":"copy","from":"/instructions/1","path":"/instructions/-"}])",
        R"([{"op":"replace","path":"/instructions/0/instruction","value":"other"}])",
        R"([{"op":"add","path":"/instructions/0/families/other","value":{"dots":0,"mismatches":0}}])",
        R"([{"op":"replace","path":"/not_done","value":[]}])",
        R"([{"op":"replace","path":"/not_done/0/first","value":7}])",
        R"([{"op":"replace","path":"/parts/0/dots_done","value":0}])",
        R"([{"op":"replace","path":"/examples/0/a","value":[]}])",
        R"([{"op":"replace","path":"/examples/0/instruction","value":"mma"}])",
        R"([{"op":"replace","path":"/parts/0/stretches_done","value":-1}])"})
    EXPECT_THROW(
        static_cast<void>(read_campaign(sealed_again(good.patch(nlohmann::json::parse(change))), "x")),
        InputError)
        << change;
}

/// The result of a part that has done its first `done` items.
std::string part_result(const Schedule& schedule, const Shard& part, std::size_t done) {
  Tally tally(schedule);
  const std::vector<WorkItem> items = items_of(schedule);
  const auto file = fresh_file("part.jsonl");
  Journal journal(file, schedule, part);
  for (std::size_t i = part.index; i < items.size() && done > 0; i += part.of, --done)
    journal.add(items[i], {dots_of(schedule, items[i]), 0, 0.25}, {});
  return campaign_json(schedule, journal.tally(), on_a_gpu(), 1, part);
}

TEST(CampaignResult, ACompleteOneHasWhatWasAsked) {
  const Schedule schedule = small_schedule();
  const auto good = nlohmann::json::parse(part_result(schedule, {}, items_of(schedule).size()));
  const auto read = [](nlohmann::json result) {
    result.erase("checksum");
    result["checksum"] = checksum_of(parse_json(result.dump()));
    return read_campaign(result.dump(), "x").complete;
  };
  EXPECT_TRUE(read(good));
  nlohmann::json more = good, none = good;
  more["dots_asked"] = 1'000'000'000'000'000;
  none["instructions"] = nlohmann::json::array();
  none["dots"] = none["parts"][0]["dots"] = none["parts"][0]["dots_done"] = 0;
  EXPECT_THROW(static_cast<void>(read(more)), InputError) << "a thousandth";
  EXPECT_THROW(static_cast<void>(read(none)), InputError) << "of nothing";
}

TEST(CampaignParts, TogetherAreTheWhole) {
  const Schedule schedule = small_schedule();
  const std::size_t items = items_of(schedule).size();
  const std::string whole = part_result(schedule, {}, items);
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t p : {2U, 0U, 1U}) files.emplace_back("x", part_result(schedule, {p, 3}, items));
  for (const auto& [name, text] : files) EXPECT_FALSE(read_campaign(text, name).complete);
  const std::string merged = merge_campaigns(files);
  EXPECT_TRUE(read_campaign(merged, "merged").complete);
  auto a = nlohmann::json::parse(whole), b = nlohmann::json::parse(merged);
  EXPECT_EQ(a.at("instructions"), b.at("instructions"));
  for (const char* same : {"dots", "mismatches", "plan", "on", "gpu"})
    EXPECT_EQ(a.at(same), b.at(same)) << same;
  EXPECT_EQ(b.at("gpus"), 3);
  EXPECT_TRUE(b.at("not_done").empty());
}

TEST(CampaignParts, WhatIsMissingIsNotDone) {
  const Schedule schedule = small_schedule();
  const std::vector<WorkItem> items = items_of(schedule);
  const std::string merged = merge_campaigns(
      {{"a", part_result(schedule, {0, 3}, items.size())}, {"c", part_result(schedule, {2, 3}, 5)}});
  const auto result = nlohmann::json::parse(merged);
  EXPECT_FALSE(result.at("complete").get<bool>());
  ASSERT_EQ(result.at("not_done").size(), 2U);
  EXPECT_EQ(result.at("not_done")[0].at("part"), 1);
  EXPECT_EQ(result.at("not_done")[0].at("why"), "no result of this part");
  EXPECT_EQ(result.at("not_done")[0].at("stretches"), result.at("not_done")[0].at("of_stretches"));
  EXPECT_EQ(result.at("not_done")[1].at("first"), 2 + 3 * 5);
  std::uint64_t missing = 0, all = 0;
  for (const auto& one : result.at("not_done")) missing += one.at("dots").get<std::uint64_t>();
  for (const WorkItem& item : items) all += dots_of(schedule, item);
  EXPECT_EQ(missing + result.at("dots").get<std::uint64_t>(), all);
  const std::string text = text_of(merged);
  EXPECT_NE(text.find("NOT COMPLETE"), std::string::npos);
  EXPECT_NE(text.find("not done: shard 1 of 3"), std::string::npos);
}

TEST(CampaignParts, DifferencesOfEveryPartAreKept) {
  const Schedule schedule = small_schedule();
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::size_t part : {0U, 1U}) {
    Journal journal(fresh_file("differs.jsonl"), schedule, {part, 2});
    const WorkItem item = items_of(schedule)[part];
    journal.add(item, {dots_of(schedule, item), 1, 0.25}, {an_example()});
    files.emplace_back("x", campaign_json(schedule, journal.tally(), on_a_gpu(), 1, {part, 2}));
  }
  const auto merged = nlohmann::json::parse(merge_campaigns(files));
  EXPECT_EQ(merged.at("mismatches"), 2);
  EXPECT_EQ(merged.at("examples").size(), 2U);
}

TEST(CampaignParts, WhatDoesNotBelongTogetherIsRefused) {
  const Schedule schedule = small_schedule(), other = small_schedule(1'000'000);
  const std::string a = part_result(schedule, {0, 2}, 3);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"again", a}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"other", part_result(other, {1, 2}, 3)}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"thirds", part_result(schedule, {1, 3}, 3)}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"none", "{}"}}), InputError);
}

}  // namespace
}  // namespace mmaudit::campaign
