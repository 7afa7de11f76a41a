// mmaudit baseline record and mmaudit baseline diff as a user types them.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "baseline.hpp"
#include "gemm/check.hpp"
#include "json_schema.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/emulate.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class BaselineFiles : public Folder {
 protected:
  Outcome record(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"-q",      "baseline", "record", "--on",  "model",   "--inst",
                                          "m16n8k8", "--arch",   "hopper", "--out", path(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  nlohmann::json read(const std::string& name) { return nlohmann::json::parse(std::ifstream(path(name))); }
  static std::string text_of(const BaselineDiff& diff) { return report::rendered(report_of(diff), "text"); }
  static std::vector<std::string> errors(const char* name, const nlohmann::json& json) {
    return mmaudit::test::JsonSchema(fmt::format("{}/{}.schema.json", MMAUDIT_SCHEMAS, name)).errors(json);
  }
  void write(const std::string& name, const nlohmann::json& json) {
    std::ofstream(path(name)) << json.dump();
  }
  /// What another driver might answer: one bit of one result, with its hash.
  void change_a_bit(const std::string& from, const std::string& to) {
    std::ifstream in(path(from));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    Baseline baseline = baseline_of_json(text, from);
    const std::size_t bytes = spec_of(baseline.instructions.at(1).instruction.d).storage_bytes();
    BaselineFamily& family = baseline.instructions.at(1).families.at(4);
    family.d.at(bytes * (3 * 8 + 5)) ^= std::byte{1};
    auto json = nlohmann::json::parse(to_json(baseline));
    // Of a changed D the file has to say another hash: the reader names the right one.
    try {
      baseline_of_json(json.dump(), to);
    } catch (const InputError& error) {
      const std::string message = error.what(), word = "allowed: ";
      json["instructions"][1]["families"][4]["hash"] = message.substr(message.find(word) + word.size());
    }
    json["provenance"]["driver"] = "590.1";
    write(to, json);
  }
};

TEST_F(BaselineFiles, TheSameModelHasNoDifference) {
  const Outcome recorded = record("a.json");
  ASSERT_EQ(recorded.code, kAllGood) << recorded.err;
  ASSERT_EQ(record("b.json").code, kAllGood);
  const auto json = read("a.json");
  EXPECT_EQ(errors("baseline-1", json), std::vector<std::string>{});
  EXPECT_EQ(json.at("schema"), kBaselineSchema);
  EXPECT_EQ(json.at("provenance").at("on"), "model");
  EXPECT_GT(json.at("instructions").size(), 2U);
  const Outcome same = run({"baseline", "diff", path("a.json"), path("b.json")});
  EXPECT_EQ(same.code, kAllGood) << same.out;
  EXPECT_NE(same.out.find("no difference"), std::string::npos);
}

TEST_F(BaselineFiles, OneBitIsNamed) {
  ASSERT_EQ(record("a.json").code, kAllGood);
  change_a_bit("a.json", "b.json");
  const Outcome outcome = run({"baseline", "diff", path("a.json"), path("b.json"), "--json", path("d.json")});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.err;
  const std::string name = read("a.json").at("instructions").at(1).at("instruction");
  for (const std::string& word :
       {name + "  normal", std::string("row 3, column 5"), std::string("the model: as OLD"),
        std::string("mmaudit explain"), std::string("driver: 590.1, was none")})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  EXPECT_EQ(errors("baseline-diff-1", read("d.json")), std::vector<std::string>{});
  const auto change = read("d.json").at("changes").at(0);
  EXPECT_EQ(change.at("differing"), 1);
  EXPECT_EQ(change.at("dots"), 128);
  EXPECT_EQ(change.at("first").at("column"), 5);
  // The line of explain works and gives the bits that OLD has.
  const std::string line = change.at("first").at("explain");
  std::vector<std::string> words;
  for (std::istringstream in(line); in;)
    if (std::string word; in >> word) words.push_back(word);
  words.erase(words.begin());
  const Outcome explained = run(words);
  EXPECT_EQ(explained.code, kAllGood) << line << explained.err;
  EXPECT_NE(explained.out.find(change.at("first").at("old").get<std::string>().substr(2)), std::string::npos);
}

TEST_F(BaselineFiles, ChangesOfOneCauseStandTogether) {
  // Another driver whose f16 mma keeps one bit less, and whose bf16 mma are another generation's.
  const Architecture& hopper = *find_architecture("hopper");
  const auto record_with = [&](bool wrong) {
    Baseline out;
    Progress progress(true);
    const Backend backend = backend_by_datapath(
        hopper, "model", [wrong](const Instruction& inst, const Datapath& datapath, const TileView& batch) {
          Datapath used = datapath;
          if (wrong && inst.a == Format::f16) used.fraction_bits -= 3;
          if (wrong && inst.a == Format::bf16) used.output.rounding = Rounding::nearest_even;
          if (wrong && inst.a == Format::tf32) used.output.rounding = Rounding::down, used.fraction_bits -= 1;
          emulate(inst, used, batch);
        });
    record_baseline(hopper, 8, {"mma.m16n8k8", "mma.m16n8k16.f32", "mma.m16n8k4.f32.tf32"}, backend, progress,
                    out);
    return out;
  };
  const Baseline right = record_with(false), wrong = record_with(true);
  const std::string text = text_of(diff_baselines(right, wrong));
  for (const std::string& word : std::vector<std::string>{
           "2 instructions: NEW is the model with F 25 -> 22, OLD is the model\n", "\n  mma.m16n8k8.f32.f16",
           "mma.m16n8k16.f32.f16.f16.f32  13 input classes ",
           "2 instructions: NEW is the model with output rounding to nearest even, OLD is the model\n",
           "2 instructions: unexplained: OLD is the model, no one rule changed gives NEW\n",
           fmt::format("; 6 of {} instructions changed, 2 of them unexplained\n", right.instructions.size()),
           "; the model: as OLD\n  mmaudit explain --arch hopper --inst mma."})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_EQ(text.find("the model: as NEW"), std::string::npos);
  // Another model makes other inputs of one class: the other classes still tell the cause.
  Baseline other_inputs = wrong;
  for (BaselineInstruction& each : other_inputs.instructions)
    if (each.instruction.a == Format::f16) each.families.front().inputs = "others";
  EXPECT_NE(text_of(diff_baselines(right, other_inputs))
                .find("2 instructions: NEW is the model with F 25 -> 22, OLD is the model\n"),
            std::string::npos);
  const BaselineDiff back = diff_baselines(wrong, right);
  ASSERT_EQ(back.causes.size(), 3U);
  EXPECT_EQ(back.causes[0].text, "OLD is the model with F 25 -> 22, NEW is the model");
  EXPECT_TRUE(back.causes[0].explained);
  EXPECT_FALSE(back.causes[2].explained);
  EXPECT_EQ(errors("baseline-diff-1", nlohmann::json::parse(to_json(back))), std::vector<std::string>{});
}

TEST_F(BaselineFiles, ResultsOfOtherInputsAreNotCompared) {
  ASSERT_EQ(record("a.json").code, kAllGood);
  auto json = read("a.json");
  json["instructions"][0]["families"][2]["inputs"] = "others";
  write("b.json", json);
  const Outcome outcome = run({"baseline", "diff", path("a.json"), path("b.json"), "--json", path("d.json")});
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("the inputs differ where bits may have changed"), std::string::npos)
      << outcome.out;
  const auto whole =
      nlohmann::json::parse(run({"baseline", "diff", path("a.json"), path("a.json"), "--json", "-"}).out);
  EXPECT_LT(read("d.json").at("dots"), whole.at("dots"));
}

TEST_F(BaselineFiles, ProductsOfALibrary) {
  Baseline before;
  before.on = "hardware";
  before.architecture = "hopper";
  before.cublaslt = "130000";
  BaselineProduct product;
  product.problem = "f16 1 x 2 x 3";
  product.algorithm = {{"id", 66}, {"tile", 15}, {"split_k", 1}};
  product.plan = "wgmma.m64n64k16.f32.f16.f16";
  product.inputs = "x";
  product.element_bytes = 2;
  product.d = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  corpus::Checksum sum;
  sum.update(product.d);
  product.hash = sum.hex();
  before.products = {product};
  write("a.json", nlohmann::json::parse(to_json(before)));
  EXPECT_EQ(errors("baseline-1", read("a.json")), std::vector<std::string>{});
  Baseline after = baseline_of_json(to_json(before), "a.json");
  EXPECT_EQ(after.products[0].d, product.d);
  EXPECT_TRUE(diff_baselines(before, after).same());
  after.cublaslt = "131000";
  after.products[0].algorithm[1].second += 3;
  BaselineDiff diff = diff_baselines(before, after);
  EXPECT_TRUE(diff.same());
  EXPECT_NE(text_of(diff).find("another algorithm, the same bits"), std::string::npos) << text_of(diff);
  EXPECT_NE(text_of(diff).find("cuBLASLt: 131000, was 130000"), std::string::npos);
  after.products[0].d[3] = std::byte{9};
  after.products[0].plan += ", slices 3";
  diff = diff_baselines(before, after);
  EXPECT_FALSE(diff.same());
  EXPECT_NE(text_of(diff).find("1 of 2 elements differ"), std::string::npos) << text_of(diff);
  EXPECT_NE(text_of(diff).find("; plan: slices 1 -> 3\n"), std::string::npos) << text_of(diff);
  after.products.clear();
  EXPECT_FALSE(diff_baselines(before, after).same());
}

TEST_F(BaselineFiles, MissingInstructionsAreChanges) {
  ASSERT_EQ(record("a.json").code, kAllGood);
  auto json = read("a.json");
  const std::string name = json.at("instructions").at(0).at("instruction");
  json["instructions"].erase(0);
  write("b.json", json);
  EXPECT_NE(run({"baseline", "diff", path("a.json"), path("b.json")}).out.find(name + ": in OLD only"),
            std::string::npos);
  EXPECT_NE(run({"baseline", "diff", path("b.json"), path("a.json")}).out.find(name + ": in NEW only"),
            std::string::npos);
  EXPECT_EQ(run({"baseline", "diff", path("b.json"), path("a.json")}).code, kMismatch);
  EXPECT_EQ(run({"baseline", "diff", path("a.json"), path("b.json")}).code, kMismatch);
  EXPECT_NE(run({"baseline", "diff", path("a.json"), path("b.json")}).out.find("; 1 in OLD only\n"),
            std::string::npos);
  EXPECT_NE(run({"baseline", "diff", path("b.json"), path("a.json")}).out.find("; 1 in NEW only\n"),
            std::string::npos);
}

TEST_F(BaselineFiles, ASubsetIsComparedWithTheSubset) {
  ASSERT_EQ(record("a.json").code, kAllGood);
  change_a_bit("a.json", "b.json");
  auto json = read("b.json");
  const auto name = [&](int i) { return json.at("instructions").at(i).at("instruction").get<std::string>(); };
  const std::string same = name(0), other = name(1), absent = name(2);
  ASSERT_EQ(same.find(other), std::string::npos);
  json["instructions"].erase(2);
  write("b.json", json);
  const auto diff = [&](const std::string& inst) {
    return run({"baseline", "diff", path("a.json"), path("b.json"), "--inst", inst});
  };
  EXPECT_EQ(diff(same).code, kAllGood) << diff(same).out;
  EXPECT_NE(diff(same).out.find("no difference: 1 instructions"), std::string::npos) << diff(same).out;
  EXPECT_NE(diff(other).out.find("1 of 1 instructions changed"), std::string::npos) << diff(other).out;
  EXPECT_EQ(diff(other).code, kMismatch);
  EXPECT_EQ(diff(absent).code, kMismatch) << "in OLD only, and asked for";
  EXPECT_EQ(diff("no.such").code, kBadInput);
  EXPECT_NE(diff("no.such").err.find("--inst: found \"no.such\", allowed: part of"), std::string::npos);
}

TEST_F(BaselineFiles, BadFilesAreRefusedInOneLine) {
  ASSERT_EQ(record("a.json").code, kAllGood);
  const auto good = read("a.json");
  const auto refused = [&](const nlohmann::json& json, const char* word) {
    write("b.json", json);
    const Outcome outcome = run({"baseline", "diff", path("a.json"), path("b.json")});
    EXPECT_EQ(outcome.code, kBadInput) << word;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  };
  auto bad = good;
  bad["instructions"][0]["families"][0]["hash"] = "0";
  refused(bad, "hash: found the hash of other bits");
  bad = good;
  bad["instructions"][0]["families"][0]["d"] = "00";
  refused(bad, "d: found 2 digits");
  bad = good;
  bad["instructions"][0]["instruction"] = "mma.x";
  refused(bad, "instructions[0].instruction: found mma.x");
  bad = good;
  bad["instructions"].push_back(good["instructions"][0]);
  refused(bad, " twice, allowed: every instruction once");
  bad = good;
  bad["instructions"][0]["families"].push_back(good["instructions"][0]["families"][0]);
  refused(bad, " twice, allowed: every input class once");
  bad = good;
  bad["instructions"][0]["families"].clear();
  refused(bad, "instructions[0].families: found nothing");
  bad = good;
  bad["schema"] = "other";
  refused(bad, "schema: found other");
  bad = good;
  bad["tiles"] = -1;
  refused(bad, "tiles: found -1");
  bad = good;
  bad.erase("provenance");
  refused(bad, "provenance: found nothing");
  bad = good;
  bad["seed"] = 2;
  refused(bad, "seed: found 2, allowed: 1");
  refused(nlohmann::json(3), "schema");
  EXPECT_EQ(run({"baseline", "diff", path("a.json"), path("none.json")}).code, kBadInput);
  EXPECT_EQ(run({"baseline", "record", "--on", "moon", "--out", "-"}).code, kBadInput);
}

TEST_F(BaselineFiles, ChecksOfTwoLibrariesAreCompared) {
  GemmCheck before;
  before.library = "130100", before.gpu = "NVIDIA H200", before.taken = 9;
  before.types["bf16"].calls = before.types["bf16"].calls_by["cublaslt 1"] = 9;
  GemmFault fault;
  fault.problem.type = Format::bf16, fault.problem.algorithm = 1;
  fault.problem.m = fault.problem.n = fault.problem.k = 64;
  fault.finding.faults = {"the last 8 elements of K are in no sum"};
  GemmCheck after = before;
  before.faults = {fault}, after.library = "130200";
  std::ofstream(path("old.json")) << to_json(before);
  std::ofstream(path("new.json")) << to_json(after);
  const Outcome gone =
      run({"baseline", "diff", path("old.json"), path("new.json"), "--json", path("d.json")});
  EXPECT_EQ(gone.code, kMismatch) << gone.err;
  EXPECT_NE(gone.out.find("cuBLASLt: 130200, was 130100"), std::string::npos) << gone.out;
  EXPECT_NE(gone.out.find("1 of 9 calls  0 of 9 calls  gone"), std::string::npos) << gone.out;
  EXPECT_EQ(read("d.json").at("schema"), "mmaudit.report/1");
  EXPECT_EQ(run({"baseline", "diff", path("old.json"), path("old.json")}).code, kAllGood);
  ASSERT_EQ(record("a.json").code, kAllGood);
  const Outcome mixed = run({"baseline", "diff", path("a.json"), path("new.json")});
  EXPECT_EQ(mixed.code, kBadInput);
  EXPECT_NE(mixed.err.find("a.json: schema: found "), std::string::npos) << mixed.err;
  const Outcome filtered = run({"baseline", "diff", path("old.json"), path("new.json"), "--inst", "wgmma"});
  EXPECT_EQ(filtered.code, kBadInput);
  EXPECT_NE(filtered.err.find("--inst: found wgmma with files of `mmaudit gemm check`"), std::string::npos);
}

TEST_F(BaselineFiles, TheModelHasNoLibraryToRunProducts) {
  const std::string problems = Folder::write("p.json", R"({"type": "f16", "m": 8, "n": 8, "k": 8})");
  const Outcome outcome =
      run({"baseline", "record", "--on", "model", "--problems", problems, "--out", path("x.json")});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_NE(outcome.err.find("with --on model, allowed: with --on hardware"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_EQ(files(), 1U) << "nothing is written";
}

TEST_F(BaselineFiles, HardwareThatIsNotThereIsSaidSo) {
  if (!device::devices().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(run({"baseline", "record", "--on", "hardware", "--out", path("x.json")}).code, kEnvironment);
  const std::string problems = Folder::write("p.json", R"({"type": "f16", "m": 8, "n": 8, "k": 8})");
  const Outcome unnamed = run({"baseline", "record", "--problems", problems, "--out", path("x.json")});
  EXPECT_EQ(unnamed.code, kEnvironment) << unnamed.err;
  EXPECT_EQ(lines(unnamed.err), 1U) << unnamed.err;
  std::filesystem::remove(problems);
  EXPECT_EQ(run({"audit", "--on", "hardware", "--no-files"}).code, kEnvironment);
  EXPECT_EQ(run({"audit", "--on", "hardware", "--a", "x.npy", "--b", "y.npy"}).code, kBadInput);
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace mmaudit::cli::test
