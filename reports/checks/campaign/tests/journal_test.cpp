// The journal of a campaign: goes on where it ended, and refuses what no campaign wrote.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "campaign/json.hpp"
#include "mmaudit/error.hpp"
#include "small_schedule.hpp"

namespace mmaudit::campaign {
namespace {

TEST(CampaignJournal, GoesOnWhereItEnded) {
  const Schedule schedule = small_schedule();
  const std::vector<WorkItem> items = items_of(schedule);
  const auto file = fresh_file("goes_on.jsonl");
  const Mismatch example = example_of(schedule, items[1]);
  {
    Journal journal(file, schedule);
    journal.add(items[0], {dots_of(schedule, items[0]), 0, 0.5}, {});
    journal.add(items[1], {dots_of(schedule, items[1]), 1, 0.5}, {example});
  }
  const std::string whole = content(file);
  {
    std::ofstream torn(file, std::ios::app);
    torn << R"({"instruction":1,"fam)";  // what a kill leaves
  }
  const Journal reread(file, schedule);
  const Tally& again = reread.tally();
  EXPECT_TRUE(again.done(items[0]));
  EXPECT_TRUE(again.done(items[1]));
  EXPECT_FALSE(again.done(items[2]));
  EXPECT_EQ(again.total().dots, dots_of(schedule, items[0]) + dots_of(schedule, items[1]));
  EXPECT_EQ(again.total().mismatches, 1U);
  ASSERT_EQ(again.examples().size(), 1U);
  EXPECT_EQ(again.examples()[0].second.found, 6U);
  EXPECT_EQ(again.examples()[0].second.dot.modifiers, 8U);
  EXPECT_EQ(content(file), whole);
}

TEST(CampaignJournal, ARepeatedLineCountsOnce) {
  const Schedule schedule = small_schedule();
  const WorkItem first = items_of(schedule)[0];
  const auto file = fresh_file("repeated.jsonl");
  Journal(file, schedule).add(first, {dots_of(schedule, first), 0, 0.5}, {});
  const std::string text = content(file);
  std::ofstream(file, std::ios::app) << text.substr(text.find('\n') + 1);
  const Count total = Journal(file, schedule).tally().total();
  EXPECT_EQ(total.dots, dots_of(schedule, first));
}

TEST(CampaignJournal, LeavesAloneWhatIsNone) {
  const Schedule schedule = small_schedule();
  for (const char* text : {"my precious notes", "{\"a\":1}"}) {
    const auto file = fresh_file("notes.txt");
    std::ofstream(file) << text;
    EXPECT_THROW(Journal(file, schedule), InputError);
    EXPECT_EQ(content(file), text);
  }
  EXPECT_THROW(Journal(testing::TempDir(), schedule), InputError);
  const auto torn = fresh_file("torn.jsonl");
  std::ofstream(torn) << journal_header(schedule, {}).substr(0, 20);  // killed while it wrote its first line
  EXPECT_EQ(Journal(torn, schedule).tally().total().dots, 0U);
}

TEST(CampaignJournal, RefusesCountsThatAreNotThoseOfItsChunks) {
  const Schedule schedule = small_schedule();
  const WorkItem first = items_of(schedule)[0];
  const auto file = fresh_file("changed.jsonl");
  Journal(file, schedule).add(first, {dots_of(schedule, first), 0, 0.5}, {});
  std::string text = content(file);
  const std::string dots = "\"dots\":" + std::to_string(dots_of(schedule, first));
  text.replace(text.rfind(dots) + 7, 1, "9");
  std::ofstream(file) << text;
  EXPECT_THROW(Journal(file, schedule), InputError);
}

/// What a journal with one line is refused for once `change` has edited the line, its checksum made right
/// again.
std::string refusal_of(const std::function<void(nlohmann::json&)>& change, bool seal = true) {
  const Schedule schedule = small_schedule();
  const WorkItem first = items_of(schedule)[0];
  const auto file = fresh_file("edited.jsonl");
  Journal(file, schedule).add(first, {dots_of(schedule, first), 1, 0.5}, {example_of(schedule, first)});
  const std::string text = content(file);
  const std::size_t cut = text.find('\n') + 1;
  auto line = nlohmann::json::parse(text.substr(cut));
  change(line);
  if (seal) {
    line.erase("checksum");
    line["checksum"] = checksum_of(parse_json(line.dump()));
  }
  std::ofstream(file) << text.substr(0, cut) << line.dump() << '\n';
  try {
    static_cast<void>(Journal(file, schedule));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(CampaignJournal, RefusesALineThatWasEdited) {
  using Json = nlohmann::json;
  EXPECT_EQ(refusal_of([](Json&) {}), "");
  EXPECT_NE(refusal_of([](Json& line) { line["mismatches"] = 5; }, false).find("checksum"),
            std::string::npos);
  for (const auto& [field, value, part] : std::vector<std::tuple<const char*, Json, const char*>>{
           {"chunks", 1'000'000'000, "a work item of this plan"},
           {"first", 7, "a work item of this plan"},
           {"instruction", 2, "a work item of this plan"},
           {"instruction", -1, "an integer from 0"},
           {"family", 0.5, "an integer from 0"},
           {"dots", 0, "as many as its batches have"},
           {"dots", std::uint64_t{1} << 40, "as many as its batches have"},
           {"mismatches", std::uint64_t{1} << 60, "mismatches, seconds, examples"},
           {"mismatches", 0, "mismatches, seconds, examples"},
           {"seconds", -1, "mismatches, seconds, examples"},
           {"examples", Json::array(), "mismatches, seconds, examples"}}) {
    const std::string found =
        refusal_of([&, &field = field, &value = value](Json& line) { line[field] = value; });
    EXPECT_NE(found.find(part), std::string::npos) << field << ": " << found;
  }
  for (const auto& [field, value] :
       std::vector<std::pair<const char*, Json>>{{"a", Json::array()},
                                                 {"a", {1, 2, 3}},
                                                 {"b", Json::array({65536})},
                                                 {"c", std::uint64_t{1} << 40},
                                                 {"metadata", {1, 2}},
                                                 {"row", 16},
                                                 {"column", -1},
                                                 {"modifiers", 256},
                                                 {"model", std::uint64_t{1} << 33}}) {
    const std::string found =
        refusal_of([&, &field = field, &value = value](Json& line) { line["examples"][0][field] = value; });
    EXPECT_NE(found.find("examples: "), std::string::npos) << field << ": " << found;
  }
}

TEST(CampaignJournal, RefusesTheWorkOfAnotherShard) {
  const Schedule schedule = small_schedule();
  const auto file = fresh_file("shard.jsonl");
  const WorkItem other = items_of(schedule)[1];
  Journal(file, schedule, {0, 2}).add(other, {dots_of(schedule, other), 0, 0.5}, {});
  EXPECT_THROW(Journal(file, schedule, {0, 2}), InputError);
}

TEST(CampaignJournal, RefusesAnotherPlansFile) {
  const auto file = fresh_file("another.jsonl");
  Schedule schedule = small_schedule();
  { const Journal journal(file, schedule); }
  EXPECT_THROW(Journal(file, schedule, {0, 2}), InputError);
  schedule.seed = 8;
  EXPECT_THROW(Journal(file, schedule), InputError);
}

}  // namespace
}  // namespace mmaudit::campaign
