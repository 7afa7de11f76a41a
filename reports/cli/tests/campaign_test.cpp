// What a campaign consists of, its journal, and its result file: without a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "campaign_record.hpp"
#include "common.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {
namespace {

CampaignPlan small_plan() {
  CampaignPlan plan;
  plan.seed = 7;
  plan.dots = 1'000'000'000'000;
  const Architecture& hopper = require_architecture("hopper");
  plan.architecture = hopper.name;
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.s32.s8.s8.s32"}) {
    const Instruction instruction = require_instruction(name);
    plan.instructions.push_back({instruction, &require_row(hopper, instruction), "fast"});
  }
  plan.families = {gen::Family::random_bits, gen::Family::normal};
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
  const CampaignPlan plan = small_plan();
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> next;
  for (const CampaignItem& item : items_of(plan)) {
    EXPECT_EQ(item.first_chunk, (next[{item.instruction, item.family}]));
    next[{item.instruction, item.family}] += item.chunks;
  }
  EXPECT_EQ(next.size(), 4U);
}

TEST(CampaignPlan, AFlippedRuleIsAnotherPlan) {
  const CampaignPlan plan = small_plan();
  CampaignPlan other = plan;
  DatapathRow row = *plan.instructions[0].row;
  row.model.fraction_bits = 24;
  other.instructions[0].row = &row;
  EXPECT_NE(plan.identity(), other.identity());
}

TEST(CampaignJournal, GoesOnWhereItEnded) {
  const CampaignPlan plan = small_plan();
  const std::vector<CampaignItem> items = items_of(plan);
  const auto file = fresh_file("goes_on.jsonl");
  {
    CampaignJournal journal(file, plan);
    journal.add(items[0], {100, 0, 0.5}, {});
    journal.add(items[1], {200, 1, 0.5}, {Mismatch{"normal", 3, 1, 2, 0, {1}, {2}, 4, 5, 6, {}}});
  }
  {
    std::ofstream torn(file, std::ios::app);
    torn << R"({"instruction":1,"fam)";  // what a kill leaves
  }
  const CampaignJournal again(file, plan);
  EXPECT_TRUE(again.done(items[0]));
  EXPECT_TRUE(again.done(items[1]));
  EXPECT_FALSE(again.done(items[2]));
  EXPECT_EQ(again.total().dots, 300U);
  EXPECT_EQ(again.total().mismatches, 1U);
  ASSERT_EQ(again.examples().size(), 1U);
  EXPECT_EQ(again.examples()[0].second.modelled, 6U);
  EXPECT_EQ(content(file).find("fam\"", content(file).size() - 8), std::string::npos);
}

TEST(CampaignJournal, RefusesAnotherPlansFile) {
  const auto file = fresh_file("another.jsonl");
  CampaignPlan plan = small_plan();
  { const CampaignJournal journal(file, plan); }
  plan.seed = 8;
  EXPECT_THROW(CampaignJournal(file, plan), InputError);
}

TEST(CampaignResult, AChangedDigitIsSeen) {
  const CampaignPlan plan = small_plan();
  CampaignJournal journal(fresh_file("result.jsonl"), plan);
  journal.add(items_of(plan)[0], {123456, 0, 0.5}, {});
  const std::string good =
      campaign_json(plan, journal, {"GPU", "1", "13.0", "0.1", "abc", "2026-01-01", 1, false});
  EXPECT_NE(campaign_text(good, "x").find("123456 dot products, 0 mismatches"), std::string::npos);
  EXPECT_NE(campaign_text(good, "x").find("NOT COMPLETE"), std::string::npos);
  std::string bad = good;
  bad.replace(bad.find("123456"), 6, "923456");
  EXPECT_THROW(static_cast<void>(campaign_text(bad, "x")), InputError);
  EXPECT_THROW(static_cast<void>(campaign_text("[]", "x")), InputError);
}

}  // namespace
}  // namespace mmaudit::cli
