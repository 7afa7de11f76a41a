// mmaudit audit --a --b as a user types it.
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "audit_tensors.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::cli::test {
namespace {

TEST_F(AuditTensors, PassesAndFails) {
  const Outcome pass = audit({"--dtype", "f16,tf32", "--max-rel-fro", "1e-2"});
  EXPECT_EQ(pass.code, kAllGood) << pass.err << pass.out;
  EXPECT_NE(pass.out.find("4 of 4 combinations"), std::string::npos) << pass.out;
  const Outcome fail = audit({"--dtype", "e4m3,bf16", "--policy", "plain", "--max-rel-fro", "1e-2"});
  EXPECT_EQ(fail.code, kAllGood) << "a type passes: the page says which to use";
  EXPECT_NE(fail.out.find("passes here: bf16"), std::string::npos) << fail.out;
  EXPECT_EQ(audit({"--dtype", "e4m3", "--policy", "plain", "--max-rel-fro", "1e-2"}).code, kMismatch);
  EXPECT_EQ(audit({}).code, kAllGood);  // no limit: nothing to fail
}

TEST_F(AuditTensors, SlicesThatAProductNeeds) {
  const Outcome single = audit({"--dtype", "f32", "--json", path("s.json")});
  ASSERT_EQ(single.code, kAllGood) << single.err << single.out;
  EXPECT_EQ(single.out.substr(0, 4), "Use ");
  const auto json = nlohmann::json::parse(std::ifstream(path("s.json")));
  EXPECT_EQ(json.at("schema"), "mmaudit.audit.slices/1");
  EXPECT_EQ(json.at("rows").size(), 5U);
  const Outcome wide = audit({"--dtype", "f64", "--max-rel-fro", "1e-9", "--json", path("d.json")});
  ASSERT_EQ(wide.code, kAllGood) << wide.err << wide.out;
  const auto found = nlohmann::json::parse(std::ifstream(path("d.json")));
  // The scheme with the fewest products among those within the limit.
  double fewest = 1e9;
  std::string use;
  for (const auto& row : found.at("rows"))
    if (row.at("errors").at("norm") <= 1e-9 && row.at("products") < fewest)
      fewest = row.at("products"), use = row.at("scheme");
  EXPECT_EQ(found.at("use"), use);
  EXPECT_EQ(audit({"--dtype", "f32", "--max-element-error", "1e-30"}).code, kMismatch);
  refused(audit({"--dtype", "f64,bf16"}), {"--dtype: found f64 of 2, allowed: f64 alone"});
  refused(audit({"--dtype", "f64", "--policy", "plain"}), {"--policy: found with --dtype f64"});
  refused(audit({"--dtype", "bf16", "--max-element-error", "1e-3"}),
          {"--max-element-error: found without --dtype f64"});
  save("square.npy", {96, 96});
  refused(audit({"--dtype", "f64"}, "A.npy", "square.npy"),
          {"--b: found 96 x 96, allowed: a square B with "});
  EXPECT_EQ(audit({"--dtype", "f64", "--no-b-transposed"}, "A.npy", "square.npy").code, kAllGood);
  save_values("gap.npy", {10, 96}, [] {
    std::vector<float> values(960, 1);
    values[5] = std::numeric_limits<float>::infinity();
    return values;
  }());
  const Outcome infinite = audit({"--dtype", "f64", "--max-rel-fro", "1e-9"}, "gap.npy");
  EXPECT_NE(infinite.out.find("an infinity or a NaN in 1 row"), std::string::npos) << infinite.out;
}

/// A of 64 rows, of which one is so many times larger; B the usual one.
class LargeRow : public AuditTensors {
 protected:
  void save_large(std::size_t row, float times) {
    std::vector<float> values(std::size_t{64} * 96);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (0.5F + static_cast<float>(i * 37 % 64) / 64) * (i / 96 == row ? times : 1);
    save_values("large.npy", {64, 96}, values);
  }
};

TEST_F(LargeRow, AGateDoesNotPassWhereRowsOfDBecomeZero) {
  save_large(5, 1e30F);
  const std::vector<std::string> how = {"--dtype", "e4m3", "--policy", "plain", "--max-rel-fro", "10%"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), how.begin(), how.end());
    return audit(more, "large.npy");
  };
  const Outcome tensor = with({"--scale", "tensor", "--json", path("a.json")});
  EXPECT_EQ(tensor.code, kMismatch) << tensor.out;
  EXPECT_NE(tensor.out.find("63 rows of D (0, 1, 2 and 60 more) came out all zero"), std::string::npos)
      << tensor.out;
  EXPECT_NE(tensor.out.find("--max-row-error"), std::string::npos) << tensor.out;
  const auto row = nlohmann::json::parse(std::ifstream(path("a.json"))).at("rows").at(0);
  EXPECT_LT(row.at("relative_frobenius").at("total"), 0.1) << "the norm hides them";
  EXPECT_EQ(row.at("verdict"), "FAIL");
  std::vector<int> lost(64);
  std::iota(lost.begin(), lost.end(), 0);
  lost.erase(lost.begin() + 5);
  EXPECT_EQ(row.at("by_row").at("all_zero"), lost);
  EXPECT_EQ(row.at("by_column").at("all_zero").size(), 0U);
  EXPECT_EQ(with({"--scale", "row"}).code, kAllGood) << "a scale per row keeps them";
  // Without a limit it is not offered.
  EXPECT_EQ(audit({"--dtype", "e4m3,bf16", "--policy", "plain"}, "large.npy").out.find("Use e4m3"),
            std::string::npos);
  // Columns.
  std::vector<float> b(std::size_t{96} * 6, 1);
  for (std::size_t k = 0; k < 96; ++k) b[k * 6 + 4] = 1e-30F;
  save_values("thin.npy", {96, 6}, b);
  std::vector<std::string> thin = how;
  thin.insert(thin.end(), {"--scale", "tensor"});
  const Outcome column = audit(thin, "A.npy", "thin.npy");
  EXPECT_EQ(column.code, kMismatch) << column.out;
  EXPECT_NE(column.out.find("1 column of D (4) came out all zero"), std::string::npos) << column.out;
}

TEST_F(LargeRow, ALimitOnEveryRowSeesWhatANormHides) {
  save_large(5, 1e5F);  // the others become subnormal in e4m3
  const auto with = [&](const char* limit) {
    return audit({"--dtype", "e4m3", "--scale", "tensor", "--policy", "plain", "--max-rel-fro", "10%",
                  "--max-row-error", limit, "--json", path("a.json")},
                 "large.npy");
  };
  EXPECT_EQ(with("10%").code, kMismatch);
  const auto row = nlohmann::json::parse(std::ifstream(path("a.json"))).at("rows").at(0);
  const double largest = row.at("by_row").at("largest").at(0).at("error");
  EXPECT_GT(largest, 0.1);
  EXPECT_LT(row.at("relative_frobenius").at("total"), 0.1);
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(path("a.json"))).at("row_limit"), 0.1);
  const Outcome fails = with("10%");
  EXPECT_NE(fails.out.find(" of D has an error of "), std::string::npos) << fails.out;
  EXPECT_EQ(with(std::to_string(largest + 1e-3).c_str()).code, kAllGood);
  refused(audit({"--max-row-error", "5%"}),
          {"--max-row-error: found without --max-rel-fro, allowed: with it"});
  refused(audit({"--max-rel-fro", "5%", "--max-row-error", "1"}),
          {"--max-row-error: found 1, allowed: below 1"});
}

TEST_F(AuditTensors, WhatIsAskedForAndDoesNotExistDoesNotPass) {
  for (const std::vector<std::string>& limit : {std::vector<std::string>{}, {"--max-rel-fro", "50%"}})
    for (const std::vector<std::string>& asked :
         {std::vector<std::string>{"--dtype", "mxf8,bf16"},
          {"--dtype", "bf16,f16", "--policy", "half"},
          {"--dtype", "f16", "--policy", "half,promote:128", "--unit", "wgmma", "--arch", "ada,hopper"},
          {"--dtype", "bf16", "--dtype-a", "mxf8", "--dtype-b", "mxf8-e5m2"},
          {"--dtype", "e4m3", "--scale", "tensor,mx"}}) {
      std::vector<std::string> options = asked;
      options.insert(options.end(), limit.begin(), limit.end());
      options.insert(options.end(), {"--junit", path("a.xml")});
      const Outcome missing = audit(options);
      EXPECT_EQ(missing.code, kMismatch) << asked[1] << missing.out << missing.err;
      EXPECT_EQ(missing.out.find("Not all that was asked for is judged: "), 0U) << missing.out;
      EXPECT_NE(missing.out.find("has no combination with"), std::string::npos) << missing.out;
      EXPECT_NE(text_of_file(path("a.xml")).find("<failure"), std::string::npos);
      options.emplace_back("--allow-missing");
      const Outcome allowed = audit(options);
      EXPECT_EQ(allowed.code, kAllGood) << allowed.out << allowed.err;
      EXPECT_EQ(allowed.out.find("Not all that was asked for"), std::string::npos) << allowed.out;
    }
  EXPECT_EQ(audit({"--max-rel-fro", "50%", "--arch", "ampere,blackwell"}).code, kAllGood)
      << "the usual types are not asked for";
}

TEST_F(AuditTensors, EveryOption) {
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
                                 "--allow-missing",
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

TEST_F(AuditTensors, ATransposedFileIsTheSameB) {
  const corpus::Tensor b = corpus::load_tensor(path("B.npy"));
  std::vector<float> turned(b.data.size() / sizeof(float));
  for (std::size_t i = 0; i < 96; ++i)
    for (std::size_t j = 0; j < 6; ++j) turned[j * 96 + i] = b.as<float>()[i * 6 + j];
  save_values("BT.npy", {6, 96}, turned);
  for (const char* sample : {"all", "12"}) {
    const std::vector<std::string> how = {"--dtype", "bf16", "--sample", sample, "--json"};
    std::vector<std::string> transposed = how;
    transposed.emplace_back("--b-transposed");
    EXPECT_EQ(nlohmann::json::parse(audit(how).out).at("rows"),
              nlohmann::json::parse(audit(transposed, "A.npy", "BT.npy").out).at("rows"));
  }
}

TEST_F(AuditTensors, FactsOfATensorByHand) {
  std::vector<float> values(960, 2);
  values[7] = -0.25F, values[8] = 0, values[9] = -64, values[10] = std::numeric_limits<float>::infinity();
  save_values("facts.npy", {10, 96}, values);
  const auto facts =
      nlohmann::json::parse(audit({"--dtype", "bf16", "--json"}, "facts.npy").out).at("tensors").at(0);
  EXPECT_EQ(facts.at("elements"), 960);
  EXPECT_EQ(facts.at("zeros"), 1);
  EXPECT_EQ(facts.at("infinite"), 1);
  EXPECT_EQ(facts.at("nan"), 0);
  EXPECT_EQ(facts.at("largest"), 64);
  EXPECT_EQ(facts.at("least"), 0.25);
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
  const auto one = corpus::make_tensor<float>("q:a.b", corpus::DType::f32, {3, 4}, values);
  const auto two = corpus::make_tensor<float>("k", corpus::DType::f32, {4, 3}, values);
  corpus::write_safetensors(path("s.safetensors"), {{}, {one, two}});
  const Outcome outcome = audit({"--dtype", "bf16", "--json"}, "s.safetensors:q:a.b", "s.safetensors:k");
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const auto inputs = nlohmann::json::parse(outcome.out).at("provenance").at("inputs");
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].at("role"), "A and B");
  EXPECT_EQ(inputs[0].at("name"), path("s.safetensors"));
}

TEST_F(AuditTensors, OneElementIsNoSample) {
  const Outcome outcome = audit({"--dtype", "bf16", "--sample", "1", "--max-rel-fro", "0.5"});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.out;
  EXPECT_NE(outcome.out.find("UNDECIDED"), std::string::npos) << outcome.out;
}

TEST_F(AuditTensors, SmallNumbersUnderflowAndItSaysSo) {
  save("small.npy", {10, 96}, 1e-6F);
  const Outcome outcome =
      audit({"--dtype", "e4m3", "--scale", "none,tensor", "--policy", "plain", "--max-rel-fro", "0.1"},
            "small.npy");
  EXPECT_EQ(outcome.code, kAllGood);
  EXPECT_NE(outcome.out.find("960 of 960 elements of A become zero"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("passes here: --scale tensor"), std::string::npos) << outcome.out;
}

TEST_F(AuditTensors, NanAndEmptyTensorsAreRows) {
  save_values("nan.npy", {10, 96}, std::vector<float>(960, std::numeric_limits<float>::quiet_NaN()));
  const Outcome nan = audit({"--dtype", "e4m3,bf16", "--max-rel-fro", "0.99"}, "nan.npy");
  EXPECT_EQ(nan.code, kMismatch);
  EXPECT_NE(nan.out.find("NOT JUDGED"), std::string::npos) << nan.out;
  EXPECT_NE(nan.out.find("960"), std::string::npos);
  save_values("empty.npy", {0, 96}, {});
  const Outcome empty = audit({"--max-rel-fro", "0.99"}, "empty.npy");
  EXPECT_EQ(empty.code, kMismatch);
  EXPECT_NE(empty.out.find("there is no element"), std::string::npos) << empty.out << empty.err;
  save_values("flat.npy", {10, 0}, {});
  save_values("flat_b.npy", {0, 6}, {});
  const Outcome flat = audit({"--max-rel-fro", "0.99"}, "flat.npy", "flat_b.npy");
  EXPECT_EQ(flat.code, kMismatch);
  EXPECT_NE(flat.out.find("the exact product is zero"), std::string::npos) << flat.out;
}

TEST_F(AuditTensors, WhatSaysNothingIsNotJudged) {
  const auto not_judged = [&](const char* name, const std::vector<float>& values, const char* why) {
    save_values(name, {10, 96}, values);
    const Outcome outcome = audit({"--dtype", "e4m3,bf16", "--max-rel-fro", "0.99"}, name);
    EXPECT_EQ(outcome.code, kMismatch) << name;
    EXPECT_NE(outcome.out.find("NOT JUDGED"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  };
  not_judged("zero.npy", std::vector<float>(960), "every element of A is zero");
  std::vector<float> values(960, 1);
  values[500] = std::numeric_limits<float>::quiet_NaN();
  not_judged("one_nan.npy", values, "A holds NaN");
  std::fill(values.begin(), values.end(), 1.0F);
  std::fill(values.begin() + 400, values.end(), 0.0F);
  not_judged("short.npy", values, "the last 58.3% of A is zeros, as of a file cut short");
  std::filesystem::resize_file(path("short.npy"), 1000);
  refused(audit({}, "short.npy"), {"short.npy", "bytes"});
}

TEST_F(AuditTensors, WhatSaysNothingIsNotGoodWithoutALimitEither) {
  save_values("zero.npy", {10, 96}, std::vector<float>(960));
  EXPECT_EQ(audit({"--dtype", "e4m3"}, "zero.npy").code, kMismatch);
  EXPECT_EQ(audit({"--dtype", "e4m3"}).code, kAllGood);
}

TEST_F(AuditTensors, ZerosOfConversionComeWithTheScaleThatKeepsThem) {
  save("tiny.npy", {10, 96}, 1e-6F);
  const auto says = [&](const char* dtype, const char* scale) {
    return audit({"--dtype", dtype, "--scale", scale, "--policy", "plain"}, "tiny.npy").out;
  };
  // The text breaks its lines: nothing is asked for near their end.
  const std::string none = says("e4m3", "none,tensor");
  EXPECT_NE(none.find("960 of 960 elements of A become zero in e4m3 with scale none: e4m3 with scale"),
            std::string::npos)
      << none;
  EXPECT_NE(none.find("keeps all of them."), std::string::npos) << none;
  EXPECT_NE(says("e4m3", "none").find("with scale none: nothing in this run"), std::string::npos);
  EXPECT_EQ(none.find("elements of B become zero"), std::string::npos) << none;
  EXPECT_EQ(says("e4m3", "tensor").find("become zero in"), std::string::npos);
  save("tiny.npy", {10, 96}, 1e-44F);  // bf16 takes no scale
  EXPECT_NE(says("bf16", "none").find("nothing in this run"), std::string::npos);
  const Outcome fails = audit({"--dtype", "bf16", "--policy", "plain", "--max-rel-fro", "1e-2"}, "tiny.npy");
  EXPECT_NE(fails.out.find("tensors of larger numbers"), std::string::npos) << fails.out;
}

TEST_F(AuditTensors, AFileNameThatIsNoUtf8LeavesEveryOutputValid) {
  save("\xff\xc3.npy", {10, 96});
  const Outcome outcome = audit({"--dtype", "f16", "--html", path("x.html"), "--json", path("x.json"), "--md",
                                 path("x.md"), "--csv", path("x.csv"), "--junit", path("x.xml")},
                                "\xff\xc3.npy");
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* name : {"x.html", "x.json", "x.md", "x.csv", "x.xml"}) {
    std::ifstream in(path(name), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_NO_THROW(nlohmann::json(text).dump()) << name << " is no UTF-8";
  }
}

TEST_F(AuditTensors, NumbersBeyondTheSquareRootOfBinary64AreJudged) {
  for (const double size : {1e-100, 0x1p-400, 1e80, 0x1p400}) {
    const auto save_double = [&](const char* name, std::vector<std::uint64_t> shape) {
      std::vector<double> values(shape[0] * shape[1]);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = size * static_cast<double>(1 + i % 7);
      corpus::save_tensor(path(name),
                          corpus::make_tensor<double>("x", corpus::DType::f64, std::move(shape), values));
    };
    save_double("da.npy", {10, 96});
    save_double("db.npy", {96, 6});
    const Outcome outcome = audit({"--dtype", "bf16", "--scale", "none", "--policy", "plain", "--max-rel-fro",
                                   "1e-6", "--html", path("a.html")},
                                  "da.npy", "db.npy");
    EXPECT_EQ(outcome.code, kMismatch) << size;
    EXPECT_NE(outcome.out.find("bf16 none plain: FAIL"), std::string::npos) << outcome.out;
    std::ifstream page(path("a.html"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(page), {}).find("nan"), std::string::npos) << size;
  }
}

TEST_F(AuditTensors, ASquareBNeedsItsSide) {
  save("W.npy", {96, 96});
  refused(audit({}, "A.npy", "W.npy"), {"--b: found 96 x 96", "--b-transposed", "--no-b-transposed"});
  const Outcome as_is =
      audit({"--dtype", "bf16", "--no-b-transposed", "--csv", path("1.csv")}, "A.npy", "W.npy");
  EXPECT_EQ(as_is.code, kAllGood) << as_is.err;
  EXPECT_NE(as_is.out.find("taken as (K, N)"), std::string::npos) << as_is.out;
  const Outcome turned =
      audit({"--dtype", "bf16", "--b-transposed", "--csv", path("2.csv")}, "A.npy", "W.npy");
  EXPECT_NE(turned.out.find("taken as (N, K)"), std::string::npos) << turned.out;
  const auto text = [&](const char* name) {
    std::ifstream in(path(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_NE(text("1.csv"), text("2.csv"));
}

TEST_F(AuditTensors, EveryScaleNamesItsRule) {
  const Outcome both =
      audit({"--dtype", "e4m3,bf16", "--scale", "mx", "--arch", "blackwell", "--policy", "plain"});
  EXPECT_NE(both.out.find("mxf8  mx-floor"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("mxf8  mx-ceil"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("bf16  none"), std::string::npos) << both.out;
  const Outcome one = audit({"--dtype", "mxf8", "--scale", "mx-ceil", "--arch", "blackwell"});
  EXPECT_EQ(one.out.find("mx-floor"), std::string::npos) << one.out;
}

TEST_F(AuditTensors, WithoutADtypeItTakesWhatTheGpuHasAndNamesTheRest) {
  const Outcome hopper = audit({}), blackwell = audit({"--arch", "blackwell"});
  EXPECT_NE(
      hopper.out.find("\nNot tried: --dtype tf32-raw,int8-w8a8; --scale tensor-inverse,row,1x128,128x128.\n"),
      std::string::npos)
      << hopper.out;
  EXPECT_NE(blackwell.out.find("  nvf4 "), std::string::npos) << blackwell.out;
  EXPECT_NE(blackwell.out.find("Not tried: --dtype tf32-raw,mxf8-e5m2,mxf6-e3m2,int8-w8a8;"),
            std::string::npos)
      << blackwell.out;
  EXPECT_EQ(audit({"--dtype", "e4m3", "--scale", "row"}).out.find("Not tried"), std::string::npos);
}

TEST_F(AuditTensors, EveryPositionOfASequenceIsARow) {
  const corpus::Tensor flat = corpus::load_tensor(path("A.npy"));
  corpus::Tensor deep = flat;
  deep.shape = {2, flat.shape[0] / 2, flat.shape[1]};
  corpus::write_npy(path("deep.npy"), deep);
  const Outcome of_flat = audit({"--dtype", "bf16, e4m3"}),
                of_deep = audit({"--dtype", "bf16,e4m3"}, "deep.npy");
  EXPECT_EQ(of_deep.code, of_flat.code) << of_deep.err;
  const auto figures = [](const std::string& text) { return text.substr(text.find("Relative error of D")); };
  EXPECT_EQ(figures(of_deep.out), figures(of_flat.out));
}

TEST_F(AuditTensors, SaysWhichGpuAndWhatAnotherLacks) {
  const Outcome outcome =
      audit({"--arch", "hopper,blackwell", "--dtype", "nvf4", "--max-rel-fro", "50%", "--allow-missing"});
  EXPECT_EQ(outcome.out.find("Use nvf4 with scale mx and plain sums on blackwell"), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("hopper has no nvf4."), std::string::npos) << outcome.out;
  const Outcome ampere = audit({"--arch", "ampere", "--dtype", "e4m3,bf16", "--max-rel-fro", "50%"});
  EXPECT_NE(ampere.out.find(" ampere has no e4m3."), std::string::npos) << ampere.out;
}

TEST_F(AuditTensors, ATypeThatOnlyAPolicyOrAUnitLacksIsNotTheGpus) {
  for (const std::vector<std::string>& with :
       {std::vector<std::string>{"--policy", "half"}, {"--unit", "mma"}}) {
    std::vector<std::string> options = {"--allow-missing", "--arch", "hopper", "--dtype", "f16,bf16,e4m3"};
    options.insert(options.end(), with.begin(), with.end());
    const Outcome outcome = audit(options);
    EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
    EXPECT_EQ(outcome.out.find("hopper has no bf16"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("hopper has no e4m3"), std::string::npos) << outcome.out;
  }
}

TEST_F(AuditTensors, NumbersAreFinite) {
  refused(audit({"--max-rel-fro", "nan"}), {"--max-rel-fro: found nan"});
  refused(audit({"--max-rel-fro", "inf"}), {"--max-rel-fro: found inf"});
  const Outcome zero = audit({"--max-rel-fro", "0"});
  refused(zero, {"--max-rel-fro: found 0, allowed: a number above 0"});
  for (const char* useless : {"1", "2", "200%"})
    refused(audit({"--max-rel-fro", useless}), {"--max-rel-fro: found ", "allowed: below 1"});
  const Outcome outcome = audit({"--dtype", "bf16", "--max-rel-fro", "5%", "--json"});
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("limit"), 0.05);
}

}  // namespace
}  // namespace mmaudit::cli::test
