// mmaudit audit --a --b as a user types it.
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;

class AuditTensors : public Folder {
 protected:
  void save(const std::string& name, std::vector<std::uint64_t> shape, float scale = 1) {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    std::vector<float> values(count);
    std::uint32_t state = 1;
    for (float& x : values) {
      state = state * 1664525U + 1013904223U;
      x = scale * (static_cast<float>(state >> 8) * 0x1p-23F - 1);
    }
    save_values(name, std::move(shape), values);
  }
  void save_values(const std::string& name, std::vector<std::uint64_t> shape,
                   const std::vector<float>& values) {
    corpus::save_tensor(path(name), corpus::make_tensor<float>("x", DType::f32, std::move(shape), values));
  }
  void SetUp() override {
    Folder::SetUp();
    save("A.npy", {10, 96});
    save("B.npy", {96, 6});
  }
  Outcome audit(std::vector<std::string> more, const std::string& a = "A.npy",
                const std::string& b = "B.npy") {
    std::vector<std::string> arguments = {"-q", "audit", "--a", path(a), "--b", path(b)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static void refused(const Outcome& outcome, const std::vector<std::string>& words) {
    EXPECT_EQ(outcome.code, kBadInput) << outcome.out;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    for (const std::string& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
};

TEST_F(AuditTensors, PassesAndFails) {
  const Outcome pass = audit({"--dtype", "f16,tf32", "--max-rel-fro", "1e-2"});
  EXPECT_EQ(pass.code, kAllGood) << pass.err << pass.out;
  EXPECT_NE(pass.out.find("4 of 4 combinations"), std::string::npos) << pass.out;
  const Outcome fail = audit({"--dtype", "e4m3,bf16", "--policy", "plain", "--max-rel-fro", "1e-2"});
  EXPECT_EQ(fail.code, kMismatch);
  EXPECT_NE(fail.out.find("passes here: bf16"), std::string::npos) << fail.out;
  EXPECT_EQ(audit({}).code, kAllGood);  // no limit: nothing to fail
}

TEST_F(AuditTensors, EveryOptionOfTheIssue) {
  save("C.npy", {10, 6});
  save("BT.npy", {6, 96});
  const Outcome outcome = audit({"--c",
                                 path("C.npy"),
                                 "--b-transposed",
                                 "--arch",
                                 "hopper,blackwell",
                                 "--dtype",
                                 "e4m3,mxf8,nvf4,tf32-raw",
                                 "--scale",
                                 "none,tensor,row,1x128,mx",
                                 "--policy",
                                 "plain,fast,promote:128,split-k:2,half",
                                 "--d-format",
                                 "f32",
                                 "--json",
                                 path("a.json"),
                                 "--md",
                                 path("a.md"),
                                 "--csv",
                                 path("a.csv"),
                                 "--junit",
                                 path("a.xml"),
                                 "--sample",
                                 "20",
                                 "--seed",
                                 "7"},
                                "A.npy", "BT.npy");
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("Left out"), std::string::npos);
  const auto json = nlohmann::json::parse(std::ifstream(path("a.json")));
  EXPECT_EQ(json.at("schema"), "mmaudit.audit.gemm/1");
  EXPECT_EQ(json.at("m"), 10);
  EXPECT_LE(json.at("sampled_rows").get<int>() * json.at("sampled_columns").get<int>(), 20);
  bool blocks = false, blackwell = false;
  for (const auto& row : json.at("rows")) {
    blocks = blocks || row.at("scaling") == "1x128";
    blackwell = blackwell || row.at("architecture") == "blackwell";
    EXPECT_EQ(row.at("output"), "f32");
  }
  EXPECT_TRUE(blocks && blackwell);
  for (const char* name : {"a.md", "a.csv", "a.xml"}) EXPECT_GT(std::filesystem::file_size(path(name)), 500U);
}

TEST_F(AuditTensors, JsonWithoutAFileIsPrinted) {
  const Outcome outcome = audit({"--dtype", "bf16", "--json"});
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("rows").size(), 2U);
}

TEST_F(AuditTensors, TwoTypesAndAPage) {
  const Outcome outcome = audit({"--dtype-a", "e4m3", "--dtype-b", "e5m2", "--html", "-"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(outcome.out.find("<!DOCTYPE html>"), 0U);
  EXPECT_NE(outcome.out.find("e4m3-e5m2"), std::string::npos);
  EXPECT_EQ(outcome.out.find("bf16 none"), std::string::npos);
  refused(audit({"--dtype-a", "e4m3"}), {"--dtype-a, --dtype-b: found e4m3 and none"});
  refused(audit({"--dtype-a", "e4m3", "--dtype-b", "bf16"}), {"found e4m3 and bf16"});
}

TEST_F(AuditTensors, SaysHowItWasMade) {
  const std::string hostile = "<b onload=x>`*' \n\x1b[31m.npy";
  std::filesystem::copy_file(path("A.npy"), path(hostile));
  const Outcome outcome = audit({"--dtype", "e4m3,bf16", "--arch", "hopper,ada", "--policy", "plain",
                                 "--json", path("a.json"), "--md", path("a.md"), "--html", path("a.html")},
                                hostile);
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const auto json = nlohmann::json::parse(std::ifstream(path("a.json"))).at("provenance");
  const std::string command = json.at("command");
  EXPECT_EQ(command.find("mmaudit -q audit --a $'"), 0U) << command;
  EXPECT_NE(command.find("<b onload=x>`*\\' \\x0a\\x1b[31m.npy'"), std::string::npos) << command;
  EXPECT_NE(command.find("--dtype e4m3,bf16 --arch hopper,ada"), std::string::npos);
  EXPECT_EQ(json.at("architecture"), "hopper, ada");
  ASSERT_EQ(json.at("inputs").size(), 2U);
  EXPECT_EQ(json.at("inputs")[0].at("role"), "A");
  EXPECT_EQ(json.at("inputs")[0].at("name"), path(hostile));
  EXPECT_EQ(json.at("inputs")[0].at("bytes"), std::filesystem::file_size(path(hostile)));
  EXPECT_EQ(json.at("inputs")[1].at("xxh3_128"), corpus::facts_of_file(path("B.npy")).checksum);
  ASSERT_EQ(json.at("model_rows").size(), 4U);
  for (const auto& row : json.at("model_rows")) {
    EXPECT_FALSE(row.at("source").get<std::string>().empty());
    EXPECT_EQ(row.at("rules").at("evidence"), row.at("evidence"));
  }
  EXPECT_EQ(json.at("model_rows")[0].at("instruction"), "wgmma.m64n8k32.f32.e4m3.e4m3");
  const auto text = [&](const char* name) {
    std::ifstream in(path(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string checksum = json.at("inputs")[0].at("xxh3_128");
  for (const char* name : {"a.md", "a.html"}) {
    EXPECT_NE(text(name).find(checksum), std::string::npos) << name;
    EXPECT_NE(text(name).find("wgmma.m64n8k32.f32.e4m3.e4m3: 32 at a time"), std::string::npos) << name;
    EXPECT_EQ(text(name).find("<b onload"), std::string::npos) << name;
    EXPECT_EQ(text(name).find('\x1b'), std::string::npos) << name;
  }
  EXPECT_NE(text("a.html").find("audit --a $&#39;"), std::string::npos);
  EXPECT_NE(text("a.md").find("audit --a $'"), std::string::npos);
}

TEST_F(AuditTensors, OneFileOfTwoTensorsIsReadOnce) {
  const std::vector<float> values(12, 1);
  const auto one = corpus::make_tensor<float>("q:a.b", DType::f32, {3, 4}, values);
  const auto two = corpus::make_tensor<float>("k", DType::f32, {4, 3}, values);
  corpus::write_safetensors(path("s.safetensors"), {{}, {one, two}});
  const Outcome outcome = audit({"--dtype", "bf16", "--json"}, "s.safetensors:q:a.b", "s.safetensors:k");
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const auto inputs = nlohmann::json::parse(outcome.out).at("provenance").at("inputs");
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].at("role"), "A and B");
  EXPECT_EQ(inputs[0].at("name"), path("s.safetensors"));
}

TEST_F(AuditTensors, SmallNumbersUnderflowAndItSaysSo) {
  save("small.npy", {10, 96}, 1e-6F);
  const Outcome outcome =
      audit({"--dtype", "e4m3", "--scale", "none,tensor", "--policy", "plain", "--max-rel-fro", "0.1"},
            "small.npy");
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("100% become zero"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("passes here: --scale tensor"), std::string::npos) << outcome.out;
}

TEST_F(AuditTensors, NanAndEmptyTensorsAreRows) {
  save_values("nan.npy", {10, 96}, std::vector<float>(960, std::numeric_limits<float>::quiet_NaN()));
  const Outcome nan = audit({"--dtype", "e4m3,bf16", "--max-rel-fro", "1"}, "nan.npy");
  EXPECT_EQ(nan.code, kMismatch);
  EXPECT_NE(nan.out.find("NOT JUDGED"), std::string::npos) << nan.out;
  EXPECT_NE(nan.out.find("960"), std::string::npos);
  save_values("empty.npy", {0, 96}, {});
  const Outcome empty = audit({"--max-rel-fro", "1"}, "empty.npy");
  EXPECT_EQ(empty.code, kMismatch);
  EXPECT_NE(empty.out.find("there is no element"), std::string::npos) << empty.out << empty.err;
  save_values("flat.npy", {10, 0}, {});
  save_values("flat_b.npy", {0, 6}, {});
  EXPECT_EQ(audit({"--max-rel-fro", "1"}, "flat.npy", "flat_b.npy").code, kAllGood);  // 0 = 0
}

TEST_F(AuditTensors, RefusesInOneLine) {
  refused(run({"audit", "--a", path("A.npy")}), {"--a alone"});
  refused(run({"audit", "--dtype", "bf16"}), {"without them"});
  refused(audit({}, "A.npy", "A.npy"), {"K = 96", "10"});
  refused(audit({"--dtype", "e9m9"}), {"--dtype: found e9m9", "e4m3"});
  refused(audit({"--scale", "big"}), {"--scale: found big", "1x128"});
  refused(audit({"--policy", "promote:x"}), {"--policy: found promote:x", "split-k:S"});
  refused(audit({"--sample", "0"}), {"--sample: found 0"});
  refused(audit({"--d-format", "e4m3"}), {"--d-format"});
  refused(audit({"--unit", "dp4a"}), {"--unit"});
  refused(audit({"--dtype", "mxf8"}), {"hopper has no instruction for mxf8"});
  refused(audit({"--c", path("A.npy")}), {"--c: found 10 x 96, allowed: 10 x 6"});
  corpus::save_tensor(path("raw.npy"), corpus::make_tensor<std::uint8_t>("x", DType::u8, {2, 3},
                                                                         std::vector<std::uint8_t>(6)));
  refused(audit({}, "raw.npy"), {"raw.npy", "--a dtype: found U8", "BF16"});
  save("cube.npy", {2, 3, 4});
  refused(audit({}, "cube.npy"), {"--a shape: found [2, 3, 4]"});
  refused(run({"audit", "--arch", "hopper,ada"}), {"--arch: found 2"});
}

}  // namespace
}  // namespace mmaudit::cli::test
