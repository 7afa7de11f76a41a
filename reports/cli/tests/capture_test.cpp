// mmaudit audit --capture as a user types it.
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "audit_tensors.hpp"
#include "mmaudit/corpus/safetensors.hpp"

namespace mmaudit::cli::test {
namespace {

class Capture : public AuditTensors {
 protected:
  struct Named {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
  };
  static std::vector<float> values(std::uint64_t count, std::uint32_t seed) {
    std::vector<float> out(count);
    for (float& x : out) {
      seed = seed * 1664525U + 1013904223U;
      x = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
    }
    return out;
  }
  static std::vector<Named> two_layers() {
    std::vector<float> wide = values(std::uint64_t{96} * 16, 4);
    for (std::size_t j = 0; j < 16; ++j) wide[80 + j] *= 4000;  // row 5: beyond what one scale of FP8 spans
    return {{"mlp.0#0.a", {12, 64}, values(std::uint64_t{12} * 64, 1)},
            {"mlp.0#0.b", {64, 16}, values(std::uint64_t{64} * 16, 2)},
            {"mlp.0#1.a", {12, 64}, values(std::uint64_t{12} * 64, 5)},
            {"mlp.0#1.b", {64, 16}, values(std::uint64_t{64} * 16, 6)},
            {"mlp.2#0.a", {12, 96}, values(std::uint64_t{12} * 96, 3)},
            {"mlp.2#0.b", {96, 16}, wide}};
  }
  void write(const std::vector<Named>& tensors) {
    corpus::SafetensorsFile file;
    for (const Named& one : tensors)
      file.tensors.push_back(corpus::make_tensor<float>(one.name, corpus::DType::f32, one.shape, one.values));
    corpus::write_safetensors(path("c.safetensors"), file);
  }
  Outcome capture(std::vector<std::string> more) {
    more.insert(more.begin(), {"-q", "audit", "--capture", path("c.safetensors")});
    return run(more);
  }
};

TEST_F(Capture, GivesThePlanOfEveryLayer) {
  write(two_layers());
  const Outcome found = capture({"--arch",        "hopper,blackwell",
                                 "--dtype",       "nvf4,e4m3,bf16",
                                 "--policy",      "plain",
                                 "--max-rel-fro", "5%",
                                 "--plan",        path("plan.json"),
                                 "--json",        path("a.json"),
                                 "--md",          path("a.md"),
                                 "--html",        path("a.html"),
                                 "--csv",         path("a.csv"),
                                 "--junit",       path("a.xml")});
  EXPECT_EQ(found.code, kMismatch) << "hopper has no nvf4";
  EXPECT_NE(text_of_file(path("a.xml")).find("hopper has no combination with nvf4"), std::string::npos);
  EXPECT_NE(found.out.find("2 of 2 layers have a combination within 0.05."), std::string::npos) << found.out;
  EXPECT_EQ(capture({"--arch", "hopper,blackwell", "--dtype", "nvf4,e4m3,bf16", "--policy", "plain",
                     "--max-rel-fro", "5%", "--allow-missing"})
                .code,
            kAllGood);
  const auto plan = nlohmann::json::parse(std::ifstream(path("plan.json")));
  EXPECT_EQ(plan.at("schema"), "mmaudit.plan/1");
  EXPECT_EQ(plan.at("default"), "keep");
  EXPECT_EQ(plan.at("layers").at("mlp.0").at("dtype"), "e4m3");
  EXPECT_EQ(plan.at("layers").at("mlp.0").at("policy"), "plain");
  EXPECT_EQ(plan.at("layers").size(), 2U);
  const auto json = nlohmann::json::parse(std::ifstream(path("a.json")));
  EXPECT_EQ(json.at("schema"), "mmaudit.audit.capture/1");
  EXPECT_EQ(json.at("products").size(), 3U);
  EXPECT_EQ(json.at("plan"), plan);
  for (const char* name : {"a.md", "a.html", "a.csv", "a.xml"})
    EXPECT_GT(std::filesystem::file_size(path(name)), 100U);
}

TEST_F(Capture, APlanIsForOneGpuAndTakesOneOfTwoTypesThatCostTheSame) {
  std::vector<Named> tensors;
  for (std::uint32_t i = 0; i < 8; ++i) {  // 3 to 4 % in each type, the least in now this one, now that one
    const std::string name = fmt::format("l{}#0", i);
    tensors.push_back({name + ".a", {12, 64}, values(std::uint64_t{12} * 64, 3 * i + 1)});
    tensors.push_back({name + ".b", {64, 16}, values(std::uint64_t{64} * 16, 3 * i + 2)});
    tensors.push_back({name + ".gain", {2}, {i == 0 ? 1.0F : 1e-3F, 1000}});
  }
  write(tensors);
  const auto layers = [&](const std::vector<std::string>& limit, const char* types) {
    std::vector<std::string> words = {"--arch", "hopper,blackwell", "--dtype", types, "--policy",
                                      "plain",  "--allow-missing",  "--plan",  "-"};
    words.insert(words.end(), limit.begin(), limit.end());
    const Outcome found = capture(words);
    EXPECT_EQ(found.code, kAllGood) << found.err;
    return nlohmann::json::parse(found.out).at("layers");
  };
  const auto alone = layers({"--max-rel-fro", "10%"}, "e4m3,mxf8");
  EXPECT_EQ(alone.size(), 8U);
  for (const nlohmann::json& one : alone) EXPECT_EQ(one, alone.at("l0"));
  // The first layer wants more than four bits, which Blackwell alone has.
  const auto together = layers({"--max-output-error", "5%"}, "nvf4,e4m3");
  EXPECT_EQ(together.at("l0").at("dtype"), "e4m3");
  EXPECT_EQ(together.at("l1").at("dtype"), "nvf4");
  for (const nlohmann::json& one : together) EXPECT_EQ(one.at("arch"), "blackwell");
}

TEST_F(Capture, LayersStandAsPeopleCount) {
  std::vector<Named> tensors = two_layers();
  for (const std::size_t i : {0U, 1U}) {
    Named copy = tensors[i];
    copy.name.replace(0, 5, "mlp.10");
    tensors.push_back(copy);
  }
  write(tensors);
  const std::string out = capture({"--dtype", "bf16", "--policy", "plain", "--max-rel-fro", "50%"}).out;
  EXPECT_LT(out.find("mlp.0"), out.find("mlp.2")) << out;
  EXPECT_LT(out.find("mlp.2"), out.find("mlp.10")) << out;
}

TEST_F(Capture, ALayerPassesWhereAllOfItsProductsDo) {
  std::vector<Named> tensors = two_layers();
  tensors[3].values[7] = 3e38F;  // infinite in FP16
  write(tensors);
  const Outcome found =
      capture({"--dtype", "f16", "--policy", "plain", "--max-rel-fro", "5%", "--plan", "-"});
  EXPECT_EQ(found.code, kMismatch);
  EXPECT_EQ(nlohmann::json::parse(found.out).at("layers").at("mlp.0"), "keep");
}

TEST_F(Capture, TheLargestOfWholeTensorsSetsTheScale) {
  std::vector<Named> tensors = two_layers();
  tensors.resize(2);
  write(tensors);
  const std::vector<std::string> how = {"--dtype", "e4m3", "--policy", "plain", "--json"};
  const auto alone = nlohmann::json::parse(capture(how).out);
  tensors.push_back({"mlp.0#0.largest", {2}, {3000, 1}});
  write(tensors);
  const auto scaled = nlohmann::json::parse(capture(how).out);
  EXPECT_NE(alone.at("products")[0].at("rows")[0].at("total"),
            scaled.at("products")[0].at("rows")[0].at("total"));
  EXPECT_TRUE(alone.at("plan").is_null());
}

TEST_F(Capture, WhatHasNoErrorHasNoFigureAndNoColour) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> b = values(std::uint64_t{64} * 16, 2);
  const auto of = [](float each) { return std::vector<float>(std::size_t{12} * 64, each); };
  write({{"bad#0.a", {12, 64}, of(nan)},
         {"bad#0.b", {64, 16}, b},
         {"big#0.a", {12, 64}, of(1e6F)},
         {"big#0.b", {64, 16}, b},
         {"empty#0.a", {12, 0}, {}},
         {"empty#0.b", {0, 16}, {}},
         {"half#0.a", {12, 64}, values(std::uint64_t{12} * 64, 1)},
         {"half#0.b", {64, 16}, b},
         {"half#1.a", {12, 64}, of(nan)},
         {"half#1.b", {64, 16}, b},
         {"zero#0.a", {12, 64}, of(0)},
         {"zero#0.b", {64, 16}, b}});
  const std::vector<std::string> how = {"--dtype", "bf16,f16", "--policy", "plain"};
  std::vector<std::string> limited = how;
  limited.insert(limited.end(), {"--max-rel-fro", "10%", "--html", path("a.html"), "--csv", path("a.csv")});
  const Outcome found = capture(limited);
  EXPECT_EQ(found.code, kMismatch);
  const std::string text = text_of_file(path("a.html")), csv = text_of_file(path("a.csv"));
  const std::string table = text.substr(text.rfind("Largest error of every layer"));
  const auto row_of = [&](const std::string& layer) {
    const std::size_t at = table.find(">" + layer + "<");
    return table.substr(at, table.find("</tr>", at) - at);
  };
  for (const char* const layer : {"bad", "empty", "half", "zero"}) {
    const std::string row = row_of(layer);
    EXPECT_NE(row.find(">-<"), std::string::npos) << row;
    EXPECT_EQ(row.find(" h0"), std::string::npos) << row;
    EXPECT_EQ(row.find("e-0"), std::string::npos) << row;
  }
  const std::string big = row_of("big");
  EXPECT_NE(big.find(" h0"), std::string::npos) << big;  // of bf16
  EXPECT_EQ(big.find(" h0", big.find(" h0") + 1), std::string::npos) << big;
  EXPECT_NE(big.find(">overflow<"), std::string::npos) << big;
  for (const char* const layer : {"\nbad#0", "\nempty#0", "\nzero#0"})
    EXPECT_NE(csv.find(",,,,NOT JUDGED", csv.find(layer)), std::string::npos) << csv;
  const std::string ranked = text.substr(text.rfind("Every product, least error first"));
  EXPECT_LT(ranked.find(">half#0<"), ranked.find(">half#1<"));
  // Without a limit the same rule as for one product.
  const Outcome unlimited = capture(how);
  EXPECT_EQ(unlimited.code, kMismatch);
  EXPECT_NE(unlimited.out.find("4 can't be judged"), std::string::npos) << unlimited.out;
  write(two_layers());
  EXPECT_EQ(capture(how).code, kAllGood);
}

TEST_F(Capture, ALimitOnTheOutputChoosesForAllLayersTogether) {
  // One layer whose errors reach the output whole, one of which a thousandth does; as many multiplications.
  const std::vector<float> gains[] = {{1, 1000}, {1e-3F, 1000}};
  std::vector<Named> tensors;
  for (int i = 0; i < 2; ++i) {
    const std::string name = fmt::format("l{}#0", i);
    const auto seed = static_cast<std::uint32_t>(2 * i);
    tensors.push_back({name + ".a", {12, 64}, values(std::uint64_t{12} * 64, seed + 1)});
    tensors.push_back({name + ".b", {64, 16}, values(std::uint64_t{64} * 16, seed + 2)});
    tensors.push_back({name + ".gain", {2}, gains[i]});
  }
  write(tensors);
  const auto planned = [&](const char* limit) {
    const Outcome found = capture({"--arch", "blackwell", "--dtype", "nvf4,mxf8,bf16", "--policy", "plain",
                                   "--max-output-error", limit, "--plan", "-"});
    EXPECT_EQ(found.code, kAllGood) << found.err;
    return nlohmann::json::parse(found.out);
  };
  const auto of = [](const nlohmann::json& plan, const char* layer) {
    const nlohmann::json& one = plan.at("layers").at(layer);
    return one.is_string() ? one.get<std::string>() : one.at("dtype").get<std::string>();
  };
  const auto loose = planned("50%"), middle = planned("5%"), tight = planned("1%"), least = planned("1e-5");
  EXPECT_EQ(of(loose, "l0") + of(loose, "l1"), "nvf4nvf4");
  EXPECT_EQ(of(middle, "l0") + of(middle, "l1"), "mxf8nvf4");
  EXPECT_EQ(of(tight, "l0") + of(tight, "l1"), "bf16nvf4");
  EXPECT_EQ(of(least, "l0") + of(least, "l1"), "keepbf16");
  for (const auto& [plan, limit] : {std::pair(loose, 0.5), {middle, 0.05}, {tight, 0.01}, {least, 1e-5}}) {
    EXPECT_EQ(plan.at("estimate").at("limit"), limit);
    EXPECT_LE(plan.at("estimate").at("output_error"), limit);
    EXPECT_GT(plan.at("estimate").at("output_error"), limit / 20);
    double before = plan.at("estimate").at("output_error");
    for (const nlohmann::json& one : plan.at("tighter")) {
      EXPECT_LE(one.at("output_error").get<double>(), 0.85 * before);
      before = one.at("output_error");
      EXPECT_FALSE(one.at("layers").empty());
      EXPECT_LE(one.at("layers").size(), 2U);
    }
    EXPECT_EQ(before, 0);  // the last one keeps everything
  }
  EXPECT_GE(loose.at("tighter").size(), 3U);
  EXPECT_EQ(capture({"--dtype", "bf16", "--policy", "plain", "--max-output-error", "1e-9"}).code, kMismatch);
  // Both limits: a layer's own error counts too.
  const auto both =
      nlohmann::json::parse(capture({"--arch", "blackwell", "--dtype", "nvf4,bf16", "--policy", "plain",
                                     "--max-output-error", "50%", "--max-rel-fro", "1%", "--plan", "-"})
                                .out);
  EXPECT_EQ(of(both, "l0") + of(both, "l1"), "bf16bf16");
}

TEST_F(Capture, TheReportSaysWhatTheOutputsErrorIsMadeOf) {
  std::vector<Named> tensors = two_layers();
  tensors.resize(4);
  const auto of_output = [&] {
    return capture(
        {"--dtype", "e4m3", "--policy", "plain", "--max-output-error", "20%", "--json=" + path("a.json")});
  };
  write(tensors);
  refused(of_output(),
          {"--max-output-error: ", "found no mlp.0#0.gain, allowed: a file of mmaudit.torch.capture"});
  tensors.push_back({"mlp.0#0.gain", {2}, {2, 50}});
  tensors.push_back({"mlp.0#1.gain", {2}, {2, 70}});
  write(tensors);
  const Outcome found = of_output();
  EXPECT_EQ(found.code, kAllGood) << found.err;
  const auto json = nlohmann::json::parse(std::ifstream(path("a.json")));
  double worst = 0;
  for (const auto& product : json.at("products")) {
    EXPECT_EQ(product.at("gain"), 2);
    worst = std::max(worst, product.at("rows")[0].at("total").get<double>());
  }
  EXPECT_EQ(json.at("plan").at("estimate").at("output_error"), 2 * worst);
  EXPECT_EQ(json.at("cost").at("plan"), 8 * 120);  // bits times multiplications
  EXPECT_EQ(json.at("cost").at("least"), json.at("cost").at("plan"));
  EXPECT_TRUE(json.at("activations").is_null());
  for (const char* words : {"The output's error is estimated as ", "the output", "gain"})
    EXPECT_NE(found.out.find(words), std::string::npos) << found.out;
  tensors.back().values[0] = -1;
  write(tensors);
  refused(of_output(), {"mlp.0#1.gain: found -1, allowed: finite numbers from 0"});
  refused(audit({"--max-output-error", "5%"}), {"--max-output-error: found without --capture"});
  refused(capture({"--max-output-error", "1"}), {"--max-output-error: found 1, allowed: below 1"});
}

TEST_F(Capture, ALayerThatCannotBeJudgedDoesNotPassUnderALimitOnTheOutput) {
  const auto of_output = [&] {
    return capture({"--dtype", "bf16", "--policy", "plain", "--max-output-error", "20%", "--junit",
                    path("a.xml"), "--plan", path("plan.json")});
  };
  std::vector<Named> tensors = two_layers();
  for (const char* const name : {"mlp.0#0.gain", "mlp.0#1.gain", "mlp.2#0.gain"})
    tensors.push_back({name, {2}, {1, 50}});
  write(tensors);
  EXPECT_EQ(of_output().code, kAllGood);
  // A gain of 0 estimates that no error of the layer reaches the output.
  tensors.back().values[0] = 0;
  write(tensors);
  const Outcome gainless = of_output();
  EXPECT_EQ(gainless.code, kMismatch) << gainless.out;
  EXPECT_NE(gainless.out.find("mlp.2#0: its gain is 0"), std::string::npos) << gainless.out;
  EXPECT_NE(text_of_file(path("a.xml")).find("its gain is 0"), std::string::npos);
  const auto plan = nlohmann::json::parse(std::ifstream(path("plan.json")));
  EXPECT_EQ(plan.at("layers").at("mlp.2"), "keep");
  EXPECT_EQ(plan.at("layers").at("mlp.0").at("dtype"), "bf16");
  // All NaN.
  tensors.back().values[0] = 1;
  tensors[4].values.assign(tensors[4].values.size(), std::numeric_limits<float>::quiet_NaN());
  write(tensors);
  const Outcome nan = of_output();
  EXPECT_EQ(nan.code, kMismatch) << nan.out;
  EXPECT_NE(nan.out.find("mlp.2#0: A holds NaN"), std::string::npos) << nan.out;
}

TEST_F(Capture, DrawnActivationsAreSaid) {
  corpus::SafetensorsFile file;
  for (const Named& one : two_layers())
    file.tensors.push_back(corpus::make_tensor<float>(one.name, corpus::DType::f32, one.shape, one.values));
  file.metadata["activations"] = "student:3\x1b";
  corpus::write_safetensors(path("c.safetensors"), file);
  const Outcome found = capture({"--dtype", "bf16", "--policy", "plain", "--md", path("a.md")});
  EXPECT_EQ(found.code, kAllGood) << found.err;
  EXPECT_NE(found.out.find("A is drawn: student:3"), std::string::npos) << found.out;
  EXPECT_EQ(found.out.find('\x1b'), std::string::npos);
}

TEST_F(Capture, ARefusalNamesTheFileAndTheProduct) {
  std::vector<Named> tensors = two_layers();
  tensors[2] = {"mlp.0#1.a", {12, 128}, values(std::uint64_t{12} * 128, 5)};
  write(tensors);
  const Outcome found = capture({"--dtype", "bf16"});
  refused(found, {"--capture: ", "c.safetensors: mlp.0#1: found K = 128 of A"});
  EXPECT_EQ(found.err.find("--a"), std::string::npos) << found.err;
}

TEST_F(Capture, WhatIsNoCaptureIsRefusedInOneLine) {
  const std::vector<std::string> limit = {"--max-rel-fro", "5%", "--plan", path("plan.json")};
  write({{"x", {2}, {1, 2}}});
  refused(capture(limit), {"--capture", "found no tensors NAME.a and NAME.b"});
  std::vector<Named> tensors = two_layers();
  tensors.erase(tensors.begin() + 1);
  write(tensors);
  refused(capture(limit), {"found mlp.0#0.a without mlp.0#0.b, allowed: both"});
  for (const auto& largest : {std::vector<float>{1}, {1, -1}, {std::numeric_limits<float>::quiet_NaN(), 1}}) {
    tensors = two_layers();
    tensors.push_back({"mlp.0#0.largest", {largest.size()}, largest});
    write(tensors);
    refused(capture(limit), {"mlp.0#0.largest", "allowed:"});
  }
  write(two_layers());
  refused(capture({"--plan", path("plan.json")}),
          {"--plan: found without --max-rel-fro and --max-output-error"});
  refused(capture({"--a", path("A.npy")}), {"--capture: found with --a"});
  refused(audit({"--plan", path("plan.json")}), {"--plan: found without --capture"});
  refused(run({"-q", "audit", "--capture", path("none.safetensors")}), {"none.safetensors"});
  EXPECT_FALSE(std::filesystem::exists(path("plan.json")));
}

}  // namespace
}  // namespace mmaudit::cli::test
