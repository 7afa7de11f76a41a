// Files, options and surroundings that mean harm: one line, the right exit code, no end in sight refused.
#include <fcntl.h>

#include <sys/stat.h>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "mmaudit/corpus/safetensors.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class HostileInput : public Folder {};

void refused(const Outcome& outcome, const std::string& part, int code = kBadInput) {
  EXPECT_EQ(outcome.code, code) << outcome.out;
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "lacks " << part;
}

TEST_F(HostileInput, DevicesAndPipesAreNotRead) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& file : {std::string("/dev/zero"), pipe})
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"verify", "campaign", "--show", file},
             {"verify", "campaign", "--merge", file},
             {"verify", "campaign", "--on", "model", "--seed", "1", "--inst", "f64", "--journal", file},
             {"baseline", "diff", file, file},
             {"trace", "diff", file, file},
             {"sweep", "report", file},
             {"sweep", "compare", file, file},
             {"sweep", "census", file},
             {"verify", "laws", "--regressions", file},
             {"list", "--model", file}})
      refused(run(command), "a device, pipe or socket");
}

TEST_F(HostileInput, NoParserSpeaksForItself) {
  for (const std::string& text : {std::string("{"), std::string(R"({"meta":{},"meta":{}})"),
                                  std::string("{}\0}", 4), std::string("[]"), std::string(R"({"meta":7})")}) {
    const std::string file = write("x.json", text);
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"verify", "campaign", "--show", file},
                                               {"baseline", "diff", file, file},
                                               {"sweep", "report", file},
                                               {"sweep", "compare", file, file},
                                               {"list", "--model", file}}) {
      const Outcome outcome = run(command);
      refused(outcome, "x.json: ");
      EXPECT_EQ(outcome.err.find("json.exception"), std::string::npos) << outcome.err;
    }
  }
  refused(run({"sweep", "report", write("x.json.zst", "no frame")}), "no zstd frame");
  refused(run({"verify", "campaign", "--show", write("twice.json", R"({"a":1,"a":2})")}),
          "key: found a twice");
  refused(run({"verify", "campaign", "--show", write("zero.json", std::string("{}\0{}", 5))}),
          "found no valid JSON");
}

TEST_F(HostileInput, NothingHiddenReachesAMessage) {
  const Outcome outcome = run({"baseline", "diff", path("\xc2\x9b\xe2\x80\xae\nmmaudit: PASS"),
                               path("\xc2\x9b\xe2\x80\xae\nmmaudit: PASS")});
  refused(outcome, "\\xc2\\x9b\\xe2\\x80\\xae\\x0ammaudit: PASS: cannot read");
}

TEST_F(HostileInput, AFullOutputIsAnError) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"list"}, {"list", "--json"}, {"--help"}, {"verify", "laws", "--list"}, {"sweep", "census"}}) {
    std::fflush(stdout);
    const int out = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
    ASSERT_GE(full, 0);
    ::dup2(full, STDOUT_FILENO);
    std::vector<const char*> argv = {"mmaudit"};
    for (const std::string& argument : command) argv.push_back(argument.c_str());
    testing::internal::CaptureStderr();
    const int code = run_program(static_cast<int>(argv.size()), argv.data(), every_command());
    const std::string message = testing::internal::GetCapturedStderr();
    std::clearerr(stdout);
    ::dup2(out, STDOUT_FILENO);
    ::close(out);
    ::close(full);
    EXPECT_EQ(code, kEnvironment) << command[0];
    EXPECT_EQ(message, "mmaudit: standard output: cannot write: No space left on device\n");
  }
}

TEST_F(HostileInput, ACampaignTriesItsOutputFirst) {
  const Outcome outcome = run({"-q", "verify", "campaign", "--on", "model", "--inst", "m8n8k4.f64", "--dots",
                               "1e4", "--seed", "1", "--journal", path("j"), "--out", path("none/x.json")});
  refused(outcome, "does not exist");
  EXPECT_FALSE(std::filesystem::exists(path("j")));
}

TEST_F(HostileInput, ACampaignWithWorkLeftIsNotGood) {
  const Outcome outcome = run({"-q", "verify", "campaign", "--on", "model", "--inst", "m8n8k4.f64", "--dots",
                               "1e7", "--seed", "1", "--seconds", "0.000001"});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.out;
  EXPECT_NE(outcome.out.find("NOT COMPLETE"), std::string::npos) << outcome.out;
}

TEST_F(HostileInput, LawsThatJudgedNothingAreNotGood) {
  const Outcome outcome = run({"-q", "verify", "laws", "--arch", "volta", "--law", "a_nan_scale"});
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("nothing was judged"), std::string::npos) << outcome.out;
}

TEST_F(HostileInput, NoCommandWritesOverWhatItReads) {
  const std::string text = "kept", file = write("x.npy", text), other = write("y.npy", text);
  std::filesystem::create_symlink(file, path("link.npy"));
  const std::string kernel =
      write("k.ptx", "//! shared a 0x0000400800800100 f16 128x16 = file " + file + "\nret;\n");
  const std::string inst = "mma.m16n8k16.f32.f16.f16.f32", sparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"matmul", "--inst", inst, "--a", file, "--b", other, "--out", path("link.npy")},
           {"matmul", "--tiles", "--inst", inst, "--a", file, "--b", other, "--out", file},
           {"convert", "--to", "bf16", "--in", file, "--out", file},
           {"convert", "pack", "--inst", sparse, "--a", file, "--out", file, "--metadata", path("m.npy")},
           {"convert", "pack", "--inst", sparse, "--a", file, "--out", path("m.npy"), "--metadata",
            path("m.npy")},
           {"tcgen05", "run", kernel, "--out", path("link.npy")},
           {"sweep", "report", file, "--html", file},
           {"baseline", "diff", file, other, "--json", file},
           {"explain", "--tile", file, "--svg", file},
           {"time", "sass", file, "--kernel", "k", "--svg", file},
           {"time", "explain", "--machine", file, "--svg", file},
           {"verify", "campaign", "--merge", file, "--out", file}}) {
    refused(run(command), "allowed: a file of its own");
    EXPECT_EQ(corpus::text_of_file(file), text) << command[0];
  }
}

TEST_F(HostileInput, NothingThatContradictsIsDropped) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"audit", "--a", "x.npy", "--b", "y.npy", "--b-transposed", "--no-b-transposed"},
       "--b-transposed: found 2 values"},
      {{"audit", "--a", "x.npy", "--b", "y.npy", "--corpus", "x"}, "--corpus: found with tensors"},
      {{"explain", "--tile", "x", "--a", "1"}, "allowed: one of them"},
      {{"convert", "--to", "e4m3", "--ptx", "cvt.rn.satfinite.e2m1x2.f32", "1,2"}, "allowed: one of them"},
      {{"convert", "--to", "e4m3", "--random", "0x1", "1"}, "--random: found without --round rs"},
      {{"convert", "--saturate", "--ptx", "cvt.rn.f16x2.f32", "1,2"}, "allowed: one of them"},
      {{"convert", "--round", "rz", "--ptx", "cvt.rn.f16x2.f32", "1,2"}, "allowed: one of them"},
      {{"convert", "--random", "0x1", "--ptx", "cvt.rn.f16x2.f32", "1,2"}, "allowed: with .rs"},
      {{"convert", "--to", "e4m3", "--round", "rs", "--random", "0x10000", "1.1"},
       "0x0 to 0xffff, 16 random bits"},
      {{"convert", "--to", "f16", "--round", "rs", "--random", "0x2000", "1.1"},
       "0x0 to 0x1fff, 13 random bits"},
      {{"convert", "--to", "e4m3", "--round", "rs", "--from", "f16", "1.1"}, "--from: found with --round rs"},
      {{"convert", "--to", "e4m3", "--round", "rs", "--out", "x.npy", "1.1"},
       "--round rs: found --in or --out"},
      {{"convert", "--to", "e4m3", "--out", "x.npy", "1.1"}, "--out: found without --in"},
      {{"verify", "campaign", "--list", "--part", "0/2"}, "allowed: one of them"},
      {{"verify", "campaign", "--on", "model", "--inst", "m8n8k4.f64", "--dots", "1e3", "--seed", "1",
        "--part", "4095/4096"},
       "which has no work items"},
      {{"verify", "--inst", ""}, "--inst: found nothing"},
      {{"verify", "campaign", "--inst", ""}, "--inst: found nothing"},
      {{"baseline", "record", "--out", "-", "--inst", ""}, "--inst: found nothing"}};
  for (const auto& [command, text] : commands) refused(run(command), text);
}

/// What a shell makes of "$UNSET".
TEST_F(HostileInput, AnEmptyValueIsNotAnOptionLeftOut) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"verify", "--dataset", ""},
                                             {"verify", "--corpus", ""},
                                             {"verify", "--junit", ""},
                                             {"list", "--model", ""},
                                             {"audit", "--arch", ""},
                                             {"audit", "--html", ""},
                                             {"baseline", "diff", "x.json", "y.json", "--json", ""},
                                             {"verify", "campaign", "--inst", ""}})
    refused(run(command), "found nothing, allowed: a value");
  EXPECT_EQ(run({"explain", "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--a", "", "--b", "1"}).code, kAllGood);
}

TEST_F(HostileInput, NamesAndLimitsThatMeanNothing) {
  refused(run({"verify", "campaign", "--seconds", "-1"}), "--seconds: found -1, allowed: 0 to");
  refused(run({"audit", "--a", "x.npy", "--b", "y.npy", "--dtype", "e4m33"}), "did you mean e4m3?");
  refused(run({"audit", "--a", "x.npy", "--b", "y.npy", "--scale", "tesnor"}), "did you mean tensor?");
}

TEST_F(HostileInput, CombinationsAreCounted) {
  std::string types = "e4m3", policies = "plain";
  for (int i = 1; i < 20'000; ++i) {
    types += ",e4m3";
    policies += ",split-k:" + std::to_string(i);
  }
  refused(run({"audit", "--a", "x.npy", "--b", "y.npy", "--dtype", types, "--policy", policies, "--scale",
               "tensor"}),
          "--arch, --dtype, --scale, --policy: found 400000000 combinations, allowed: at most 16384");
}

/// --csv takes what follows as its file: numbers that it took are asked for again.
TEST_F(HostileInput, AFileThatTookTheNumbersIsSaid) {
  refused(run({"convert", "--to", "e4m3", "--csv", "1.5"}),
          "VALUES: found none behind --csv 1.5, allowed: numbers");
  EXPECT_FALSE(std::filesystem::exists("1.5"));
  EXPECT_EQ(run({"convert", "--to", "e4m3", "1.5", "--csv"}).code, kAllGood);
  EXPECT_EQ(run({"convert", "--to", "e4m3", "--csv", "-", "1.5"}).code, kAllGood);
}

/// Every value of it, in turn, as a value of each other type.
std::vector<nlohmann::json> with_other_types(const nlohmann::json& good) {
  const std::vector<nlohmann::json> others = {nullptr,
                                              true,
                                              -7,
                                              0.5,
                                              1e300,
                                              UINT64_MAX,
                                              "x\x1b",
                                              "",
                                              nlohmann::json::array(),
                                              nlohmann::json::object(),
                                              {1},
                                              {{"x", 1}}};
  std::vector<nlohmann::json> out = others;
  const std::function<void(const nlohmann::json::json_pointer&)> visit = [&](const auto& at) {
    const nlohmann::json& here = good.at(at);
    for (const nlohmann::json& other : others) (out.emplace_back(good))[at] = other;
    if (here.is_object())
      for (const auto& [key, value] : here.items()) visit(at / key);
    else
      for (std::size_t i = 0; here.is_array() && i < here.size(); ++i) visit(at / i);
  };
  for (const auto& [key, value] : good.items()) visit(nlohmann::json::json_pointer() / key);
  return out;
}

/// A file is read, or refused in one line: no value of another type leaves a reader as another error.
TEST_F(HostileInput, AValueOfAnotherTypeIsReadOrRefused) {
  const std::string file = path("x.json");
  const auto hold = [&](const std::string& good, const std::vector<std::string>& command, const auto& put) {
    int refusals = 0;
    for (const nlohmann::json& each : with_other_types(nlohmann::json::parse(good))) {
      put(each);
      const Outcome found = run(command);
      ASSERT_LE(found.code, kBadInput) << command[0] << " " << command[1] << ": " << each << found.err;
      if (found.code != kBadInput) continue;
      ++refusals;
      ASSERT_EQ(lines(found.err), 1U) << each << found.err;
    }
    EXPECT_GT(refusals, 12) << good;  // each other type in the place of the whole is refused
  };
  const auto plain = [&](const nlohmann::json& each) { write("x.json", each.dump() + "\n"); };
  hold(R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,)"
       R"("intermediate_size":96,"attention_bias":false})",
       {"-q", "gemm", "invariant", "--like", "h200-cublas-13.1", "--model", file}, plain);
  hold(R"({"like":"ga100","numbers":{"tensor.rate.f16_f32":128}})",
       {"-q", "time", "machines", "--machine", file}, plain);
  hold(
      R"({"schema":"mmaudit.gemm.check/1","library":"1","gpu":"x","asked":{},"seed":1,"repeat":2,"taken":3,)"
      R"("stopped":false,"seconds":1.5,"product_seconds":0.5,"why_refused":"","launches":{"alone":1,)"
      R"("beside another stream":1,"in a CUDA graph":1,"in a grouped call":1},"not_started":{"alone":{"products":1,)"
      R"("why":"w"}},"types":{},"faults":[{"problem":{"type":"f16","m":8,"n":8,"k":64},"call":{"algorithm":{"id":1},)"
      R"("kernels":[{"name":"n"}]},"faults":["f"],"explained":true,"wrong":3,"elements":64,"tail":8,)"
      R"("wrong_k":[[56,64,0]],"first":{"matrix":0,"row":1,"column":2,"expected":8,"found":null},"found_s":0.5}]})",
      {"-q", "baseline", "diff", file, file}, plain);
  const std::string line =
      R"({"layer":{"api":"cublas","type":"f16","d":"f32","n":8,"k":128,"layout":"nt"},"starts":"1:0"})";
  for (const bool head : {true, false}) {
    const std::string first =
        R"({"schema":"mmaudit.gemm.decisions/1","gpu":"NVIDIA H200","architecture":"hopper","library":"1","first_m":1,"last_m":3})";
    hold(head ? first : line,
         {"-q", "gemm", "invariant", "--like", file, "--n", "8", "--k", "128", "--type", "f16"},
         [&](const nlohmann::json& each) {
           write("x.json", (head ? each.dump() : first) + "\n" +
                               R"({"choice":{"algorithm":{"split_k":1},"kernels":[{"name":"n"}]}})" + "\n" +
                               (head ? line : each.dump()) + "\n");
         });
  }
}

TEST_F(HostileInput, WhatACaptureSaysOfItsCoverageIsReadOrRefused) {
  const std::vector<float> ones(32, 1);
  const auto coverage = [&](const nlohmann::json& said) {
    corpus::SafetensorsFile file;
    file.tensors = {
        corpus::make_tensor<float>("l.a", corpus::DType::f32, {1, 32}, std::span<const float>(ones)),
        corpus::make_tensor<float>("l.b", corpus::DType::f32, {32, 1}, std::span<const float>(ones))};
    file.metadata["mmaudit"] = said.dump();
    corpus::write_safetensors(path("c.safetensors"), file);
    return run({"-q", "audit", "--capture", path("c.safetensors"), "--dtype", "bf16", "--policy", "plain"});
  };
  const nlohmann::json good = nlohmann::json::parse(
      R"({"coverage":{"share_missed":0.5,"rows":[{"operator":"o","multiply_adds":7,"state":"not emulated","backward":false}]}})");
  EXPECT_NE(coverage(good).out.find("50.0 % of the multiply-adds"), std::string::npos);
  for (const nlohmann::json& each : with_other_types(good)) {
    const Outcome found = coverage(each);
    ASSERT_LE(found.code, kBadInput) << each << found.err;
    if (each.contains("coverage") && each["coverage"].contains("share_missed") &&
        !each["coverage"]["share_missed"].is_number())
      refused(found, "share_missed: found ");
  }
}

TEST_F(HostileInput, AListOfCommasAloneHasNoValue) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--dtype", ","}, {"--dtype=,,"}}) {
    std::vector<std::string> command = {"audit"};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--arch", "b200"});
    refused(run(command), "--dtype: found nothing, allowed: a value");
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
