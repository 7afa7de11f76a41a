// What a campaign consists of, its journal, and its result file: without a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "campaign/result.hpp"
#include "campaign/workers.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::campaign {
namespace {

Provenance on_a_gpu() {
  Provenance provenance;
  provenance.gpu = "GPU";
  provenance.date = "2026-01-01";
  return provenance;
}

Plan small_plan(std::uint64_t dots = 1'000'000'000'000) {
  Plan plan;
  plan.seed = 7;
  plan.dots = dots;
  const Architecture& hopper = *find_architecture("hopper");
  plan.architecture = hopper.name;
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.s32.s8.s8.s32"}) {
    const Instruction instruction = *find_instruction(name);
    plan.instructions.push_back(plan_on_gpu(instruction, *find_datapath(hopper, instruction)));
  }
  plan.input_classes = {gen::InputClass::random_bits, gen::InputClass::normal};
  return plan;
}

std::filesystem::path fresh_file(const char* name) {
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(file);
  return file;
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(CampaignPlan, ItsItemsCoverEveryChunkOnce) {
  const Plan plan = small_plan();
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> next;
  for (const WorkItem& item : items_of(plan)) {
    EXPECT_EQ(item.first_batch, (next[{item.instruction, item.input_class}]));
    next[{item.instruction, item.input_class}] += item.batches;
  }
  EXPECT_EQ(next.size(), 4U);
}

TEST(CampaignPlan, TheFirstRoundMeetsEverythingOnce) {
  const Plan plan = small_plan();
  const std::vector<WorkItem> items = items_of(plan);
  ASSERT_GT(items.size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(items[i], (WorkItem{i / 2, i % 2, 0, 1}));
  EXPECT_GT(items[4].batches, 1U);
}

TEST(CampaignPlan, AFlippedRuleIsAnotherPlan) {
  const Plan plan = small_plan();
  Plan other = plan;
  DatapathEntry entry = *plan.instructions[0].entry;
  entry.datapath.fraction_bits = 24;
  other.instructions[0].entry = &entry;
  EXPECT_NE(plan.identity(), other.identity());
}

TEST(CampaignJournal, GoesOnWhereItEnded) {
  const Plan plan = small_plan();
  const std::vector<WorkItem> items = items_of(plan);
  const auto file = fresh_file("goes_on.jsonl");
  Mismatch example;
  example.dot.input_class = "normal";
  example.dot.modifiers = 8;
  example.found = 6;
  {
    Journal journal(file, plan);
    journal.add(items[0], {dots_of(plan, items[0]), 0, 0.5}, {});
    journal.add(items[1], {dots_of(plan, items[1]), 1, 0.5}, {example});
  }
  {
    std::ofstream torn(file, std::ios::app);
    torn << R"({"instruction":1,"fam)";  // what a kill leaves
  }
  const Journal reread(file, plan);
  const Tally& again = reread.tally();
  EXPECT_TRUE(again.done(items[0]));
  EXPECT_TRUE(again.done(items[1]));
  EXPECT_FALSE(again.done(items[2]));
  EXPECT_EQ(again.total().dots, dots_of(plan, items[0]) + dots_of(plan, items[1]));
  EXPECT_EQ(again.total().mismatches, 1U);
  ASSERT_EQ(again.examples().size(), 1U);
  EXPECT_EQ(again.examples()[0].second.found, 6U);
  EXPECT_EQ(again.examples()[0].second.dot.modifiers, 8U);
  EXPECT_EQ(content(file).find("fam\"", content(file).size() - 8), std::string::npos);
}

TEST(CampaignJournal, LeavesAloneWhatIsNone) {
  const Plan plan = small_plan();
  for (const char* text : {"my precious notes", "{\"a\":1}"}) {
    const auto file = fresh_file("notes.txt");
    std::ofstream(file) << text;
    EXPECT_THROW(Journal(file, plan), InputError);
    EXPECT_EQ(content(file), text);
  }
  EXPECT_THROW(Journal(testing::TempDir(), plan), InputError);
  const auto torn = fresh_file("torn.jsonl");
  std::ofstream(torn) << journal_header(plan, {}).substr(0, 20);  // killed while it wrote its first line
  EXPECT_EQ(Journal(torn, plan).tally().total().dots, 0U);
}

TEST(CampaignJournal, RefusesCountsThatAreNotThoseOfItsChunks) {
  const Plan plan = small_plan();
  const WorkItem first = items_of(plan)[0];
  const auto file = fresh_file("changed.jsonl");
  Journal(file, plan).add(first, {dots_of(plan, first), 0, 0.5}, {});
  std::string text = content(file);
  const std::string dots = "\"dots\":" + std::to_string(dots_of(plan, first));
  text.replace(text.rfind(dots) + 7, 1, "9");
  std::ofstream(file) << text;
  EXPECT_THROW(Journal(file, plan), InputError);
}

TEST(CampaignJournal, RefusesAnotherPlansFile) {
  const auto file = fresh_file("another.jsonl");
  Plan plan = small_plan();
  { const Journal journal(file, plan); }
  EXPECT_THROW(Journal(file, plan, {0, 2}), InputError);
  plan.seed = 8;
  EXPECT_THROW(Journal(file, plan), InputError);
}

TEST(CampaignResult, AChangedDigitIsSeen) {
  const Plan plan = small_plan();
  Journal journal(fresh_file("result.jsonl"), plan);
  const WorkItem first = items_of(plan)[0];
  const std::string dots = std::to_string(dots_of(plan, first));
  journal.add(first, {dots_of(plan, first), 0, 0.5}, {});
  const std::string good = campaign_json(plan, journal.tally(), on_a_gpu(), 1);
  EXPECT_NE(campaign_text(good, "x").find(dots + " dot products, 0 mismatches"), std::string::npos);
  EXPECT_NE(campaign_text(good, "x").find("NOT COMPLETE"), std::string::npos);
  std::string bad = good;
  bad.replace(bad.find(dots), 1, "9");
  EXPECT_THROW(static_cast<void>(campaign_text(bad, "x")), InputError);
  EXPECT_THROW(static_cast<void>(campaign_text("[]", "x")), InputError);
}

/// The result of a part that has done its first `done` items.
std::string part_result(const Plan& plan, const Shard& part, std::size_t done) {
  Tally tally(plan);
  const std::vector<WorkItem> items = items_of(plan);
  const auto file = fresh_file("part.jsonl");
  Journal journal(file, plan, part);
  for (std::size_t i = part.index; i < items.size() && done > 0; i += part.of, --done)
    journal.add(items[i], {dots_of(plan, items[i]), 0, 0.25}, {});
  return campaign_json(plan, journal.tally(), on_a_gpu(), 1, part);
}

TEST(CampaignParts, TogetherAreTheWhole) {
  const Plan plan = small_plan();
  const std::size_t items = items_of(plan).size();
  const std::string whole = part_result(plan, {}, items);
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t p : {2U, 0U, 1U}) files.emplace_back("x", part_result(plan, {p, 3}, items));
  for (const auto& [name, text] : files) EXPECT_FALSE(campaign_verdict(text, name).complete);
  const std::string merged = merge_campaigns(files);
  EXPECT_TRUE(campaign_verdict(merged, "merged").complete);
  auto a = nlohmann::json::parse(whole), b = nlohmann::json::parse(merged);
  EXPECT_EQ(a.at("instructions"), b.at("instructions"));
  for (const char* same : {"dots", "mismatches", "plan", "on", "gpu"})
    EXPECT_EQ(a.at(same), b.at(same)) << same;
  EXPECT_EQ(b.at("gpus"), 3);
  EXPECT_TRUE(b.at("not_done").empty());
}

TEST(CampaignParts, WhatIsMissingIsNotDone) {
  const Plan plan = small_plan();
  const std::vector<WorkItem> items = items_of(plan);
  const std::string merged =
      merge_campaigns({{"a", part_result(plan, {0, 3}, items.size())}, {"c", part_result(plan, {2, 3}, 5)}});
  const auto result = nlohmann::json::parse(merged);
  EXPECT_FALSE(result.at("complete").get<bool>());
  ASSERT_EQ(result.at("not_done").size(), 2U);
  EXPECT_EQ(result.at("not_done")[0].at("part"), 1);
  EXPECT_EQ(result.at("not_done")[0].at("why"), "no result of this part");
  EXPECT_EQ(result.at("not_done")[0].at("stretches"), result.at("not_done")[0].at("of_stretches"));
  EXPECT_EQ(result.at("not_done")[1].at("first"), 2 + 3 * 5);
  std::uint64_t missing = 0, all = 0;
  for (const auto& one : result.at("not_done")) missing += one.at("dots").get<std::uint64_t>();
  for (const WorkItem& item : items) all += dots_of(plan, item);
  EXPECT_EQ(missing + result.at("dots").get<std::uint64_t>(), all);
  const std::string text = campaign_text(merged, "merged");
  EXPECT_NE(text.find("NOT COMPLETE"), std::string::npos);
  EXPECT_NE(text.find("not done: shard 1 of 3"), std::string::npos);
}

TEST(CampaignParts, WhatDoesNotBelongTogetherIsRefused) {
  const Plan plan = small_plan(), other = small_plan(1'000'000);
  const std::string a = part_result(plan, {0, 2}, 3);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"again", a}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"other", part_result(other, {1, 2}, 3)}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"thirds", part_result(plan, {1, 3}, 3)}}), InputError);
  EXPECT_THROW(merge_campaigns({{"a", a}, {"none", "{}"}}), InputError);
}

}  // namespace
}  // namespace mmaudit::campaign
