// The command line as a user types it: results, and one clear line for everything that is wrong.
#include <nlohmann/json.hpp>

#include <fstream>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;
using corpus::Tensor;

// Elements of two m16n8k16 tiles.
constexpr std::size_t kElementsA = 512, kElementsB = 256, kElementsC = 256;

constexpr const char* kF16 = "mma.m16n8k16.f32.f16.f16.f32";

class Tiles : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    const std::vector<std::uint16_t> ones(kElementsA, 0x3C00);
    save("A.npy", DType::f16, {2, 16, 16}, ones);
    save("Araw.npy", DType::u16, {2, 16, 16}, ones);
    save("B.npy", DType::f16, {2, 16, 8}, std::vector<std::uint16_t>(kElementsB, 0x3C00));
    save("C.npy", DType::f32, {2, 16, 8}, std::vector<float>(kElementsC, 0.5F));
    save("Craw.npy", DType::u32, {2, 16, 8}, std::vector<std::uint32_t>(kElementsC, 0x3F000000));
  }

  template <typename T>
  void save(const std::string& name, DType dtype, std::vector<std::uint64_t> shape,
            const std::vector<T>& values) {
    corpus::write_npy(path(name), corpus::make_tensor<T>("x", dtype, std::move(shape), values));
  }

  Outcome emulate(const std::string& instruction, const std::string& a, const std::string& b,
                  const std::string& c, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"-q",  "matmul", "--tiles", "--inst", instruction,
                                          "--a", path(a),  "--b",     path(b)};
    if (!c.empty()) arguments.insert(arguments.end(), {"--c", path(c)});
    arguments.insert(arguments.end(), {"--out", path(out)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  /// Exit code 2, exactly one line that holds every one of `parts`, and no new file.
  void refused(const Outcome& outcome, const std::vector<std::string>& parts, std::size_t files_before) {
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "lacks " << part;
    EXPECT_EQ(files(), files_before) << "a file was left behind";
  }
};

TEST_F(Tiles, LayoutDrawsAndRefuses) {
  const Outcome drawn = run({"explain", "layout", "--inst", kF16, "--operand", "a", "--svg", path("a.svg")});
  EXPECT_EQ(drawn.code, kAllGood) << drawn.err;
  EXPECT_NE(drawn.out.find("  8  T0 r1   T1 r1"), std::string::npos) << drawn.out;
  EXPECT_TRUE(std::filesystem::exists(path("a.svg")));
  const Outcome json = run({"explain", "layout", "--inst", kF16, "--json"});
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["operands"][1]["row_col_by_lane_and_value"][5][3], nlohmann::json({11, 1}));
  const std::size_t before = files();
  refused(run({"explain", "layout", "--inst", "mma.m16n8k17.f32.f16.f16.f32"}), {"--inst", "allowed"},
          before);
}

TEST_F(Tiles, LayoutOfWmmaIsSomebodys) {
  constexpr const char* kWmma = "wmma.m16n16k16.f16.f16.f16.f16";
  const Outcome volta =
      run({"explain", "layout", "--inst", kWmma, "--arch", "v100", "--operand", "a", "--layout-a", "col"});
  EXPECT_EQ(volta.code, kAllGood) << volta.err;
  EXPECT_NE(volta.out.find("A by columns"), std::string::npos) << volta.out;
  EXPECT_NE(volta.out.find("  0-1  T0 r0,T8 r0 "), std::string::npos) << volta.out;
  EXPECT_NE(volta.out.find("known: literature"), std::string::npos) << volta.out;
  const auto json =
      nlohmann::json::parse(run({"explain", "layout", "--inst", kWmma, "--arch", "volta", "--json"}).out);
  EXPECT_EQ(json["evidence"], "literature");
  const std::size_t before = files();
  refused(run({"explain", "layout", "--inst", kWmma}), {"--inst", "--arch volta", "--discover"}, before);
  refused(run({"explain", "layout", "--inst", kWmma, "--arch", "ampere"}), {"--arch", "ampere", "--discover"},
          before);
  refused(run({"explain", "layout", "--inst", "wmma.m32n8k16.f16.f16.f16.f16", "--arch", "volta"}),
          {"--arch"}, before);
  refused(run({"explain", "layout", "--inst", kF16, "--arch", "volta"}),
          {"volta lacks", "mma.m8n8k4.f32.f16.f16.f32"}, before);
}

TEST_F(Tiles, BadMetadataIsRefused) {
  constexpr const char* kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
  save("SB.npy", DType::f16, {2, 32, 8}, std::vector<std::uint16_t>(2 * kElementsB, 0x3C00));
  std::vector<std::uint8_t> metadata(kElementsA);
  for (std::size_t i = 0; i < metadata.size(); ++i) metadata[i] = static_cast<std::uint8_t>(i % 2 * 3);
  save("good.npy", DType::u8, {2, 16, 16}, metadata);
  const auto with = [&](const char* name) {
    return emulate(kSparse, "A.npy", "SB.npy", "", "D.npy", {"--metadata", path(name)});
  };
  EXPECT_EQ(with("good.npy").code, kAllGood);
  std::filesystem::remove(path("D.npy"));
  metadata[300] = 2, metadata[301] = 1;
  save("unordered.npy", DType::u8, {2, 16, 16}, metadata);
  metadata[300] = metadata[301] = 1;
  save("equal.npy", DType::u8, {2, 16, 16}, metadata);
  metadata[301] = 4;
  save("outside.npy", DType::u8, {2, 16, 16}, metadata);
  save("short.npy", DType::u8, {2, 16, 8}, std::vector<std::uint8_t>(256));
  const std::size_t before = files();
  refused(with("unordered.npy"), {"--metadata", "tile 1 row 2 group 6", "found 2 1", "ascending"}, before);
  refused(with("equal.npy"), {"--metadata", "found 1 1", "two of 0 to 3"}, before);
  refused(with("outside.npy"), {"--metadata", "found 1 4"}, before);
  refused(with("short.npy"), {"--metadata", "[2, 16, 8]", "[2, 16, 16]"}, before);
  refused(emulate(kSparse, "A.npy", "SB.npy", "", "D.npy"), {"--metadata", "found none"}, before);
  refused(emulate(kF16, "A.npy", "B.npy", "", "D.npy", {"--metadata", path("good.npy")}), {"--metadata"},
          before);
  for (const char* list : {"1,0", "2,2", "0,4", "0"})
    refused(run({"explain", "--inst", kSparse, "--metadata", list, "--a", "1", "--b", "1"}),
            {"--metadata", "found"}, before);
}

TEST_F(Tiles, WhatAnArchitectureLacksIsRefusedWithWhatItHas) {
  const std::size_t before = files();
  const auto asked = [&](const char* architecture, const char* instruction) {
    return run({"explain", "--arch", architecture, "--inst", instruction, "--a", "1", "--b", "1"});
  };
  refused(asked("sm_70", kF16), {"volta lacks", "mma.m8n8k4.f32.f16.f16.f32"}, before);
  refused(asked("t4", "mma.m16n8k8.f32.bf16.bf16.f32"), {"turing lacks", "mmaudit list --arch turing"},
          before);
  refused(asked("a100", "mma.m16n8k32.f32.e4m3.e4m3.f32"), {"ampere lacks"}, before);
  refused(asked("b200", "wgmma.m64n8k16.f32.f16.f16"), {"blackwell lacks"}, before);
  refused(asked("h100", "tcgen05.m128n64k16.kind_f16.f32.f16.f16"), {"hopper lacks"}, before);
  EXPECT_EQ(asked("H100", "mma.sp.m16n8k32.f32.f16.f16.f32").code, kAllGood);
}

TEST_F(Tiles, ListShowsHowEachRowIsKnown) {
  for (const char* architecture :
       {"volta", "turing", "ampere", "ga10x", "ada", "hopper", "blackwell", "sm_120"}) {
    const Outcome listed = run({"list", "--arch", architecture});
    EXPECT_EQ(listed.code, kAllGood) << listed.err;
    const bool recorded = listed.out.find(" recorded  ") != std::string::npos;
    EXPECT_EQ(recorded, std::string_view(architecture) == "hopper") << listed.out;
    EXPECT_EQ(listed.out.find("-1000"), std::string::npos) << "a floor that is none";
  }
}

TEST_F(Tiles, SumsOfOnesAreExact) {
  const Outcome outcome = emulate(kF16, "A.npy", "B.npy", "C.npy", "D.npy");
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  const Tensor d = corpus::load_tensor(path("D.npy"));
  EXPECT_EQ(d.dtype, DType::f32);
  EXPECT_EQ(d.shape, (std::vector<std::uint64_t>{2, 16, 8}));
  for (const float x : d.as<float>()) EXPECT_EQ(x, 16.5F);
}

TEST_F(Tiles, RawBitsInGiveRawBitsOut) {
  ASSERT_EQ(emulate(kF16, "Araw.npy", "B.npy", "Craw.npy", "D.npy").code, kAllGood);
  const Tensor d = corpus::load_tensor(path("D.npy"));
  EXPECT_EQ(d.dtype, DType::u32);
  for (const std::uint32_t x : d.as<std::uint32_t>()) EXPECT_EQ(x, 0x41840000U);  // 16.5
  // C decides, whatever A is; without C the kind is A's.
  ASSERT_EQ(emulate(kF16, "A.npy", "B.npy", "Craw.npy", "D.npy").code, kAllGood);
  EXPECT_EQ(corpus::load_tensor(path("D.npy")).dtype, DType::u32);
  ASSERT_EQ(emulate(kF16, "Araw.npy", "B.npy", "C.npy", "D.npy").code, kAllGood);
  EXPECT_EQ(corpus::load_tensor(path("D.npy")).dtype, DType::f32);
  ASSERT_EQ(emulate(kF16, "Araw.npy", "B.npy", "", "E.safetensors").code, kAllGood);
  EXPECT_EQ(corpus::load_tensor(path("E.safetensors")).dtype, DType::u32);
}

TEST_F(Tiles, AMatrixWithoutTilesIsOneTile) {
  save("A2.npy", DType::f16, {16, 16}, std::vector<std::uint16_t>(256, 0x3C00));
  save("B2.npy", DType::f16, {16, 8}, std::vector<std::uint16_t>(128, 0x3C00));
  ASSERT_EQ(emulate(kF16, "A2.npy", "B2.npy", "", "D.npy").code, kAllGood);
}

TEST_F(Tiles, WgmmaModifiers) {
  constexpr const char* kWgmma = "wgmma.m64n8k16.f32.f16.f16";
  save("A64.npy", DType::f16, {1, 64, 16}, std::vector<std::uint16_t>(1024, 0x3C00));
  save("B8.npy", DType::f16, {1, 16, 8}, std::vector<std::uint16_t>(128, 0x3C00));
  save("C64.npy", DType::f32, {1, 64, 8}, std::vector<float>(512, 100.0F));
  const auto first = [&](std::vector<std::string> more) {
    EXPECT_EQ(emulate(kWgmma, "A64.npy", "B8.npy", "C64.npy", "D.npy", std::move(more)).code, kAllGood);
    return corpus::load_tensor(path("D.npy")).as<float>()[0];
  };
  EXPECT_EQ(first({}), 116.0F);
  EXPECT_EQ(first({"--scale-d", "0"}), 16.0F);
  EXPECT_EQ(first({"--negate-a"}), 84.0F);
  EXPECT_EQ(first({"--negate-a", "--negate-b"}), 116.0F);
  refused(emulate(kF16, "A.npy", "B.npy", "", "E.npy", {"--negate-a"}), {"--negate-a", "wgmma"}, files());
}

TEST_F(Tiles, BadInputIsOneLineAndLeavesNothing) {
  const std::size_t before = files();
  refused(emulate("mma.m16n8k17.f32.f16.f16.f32", "A.npy", "B.npy", "", "D.npy"),
          {"--inst", "mma.m16n8k17", "mma.m16n8k16"}, before);
  refused(emulate("wgmma.m64n12k16.f32.f16.f16", "A.npy", "B.npy", "", "D.npy"),
          {"--inst", "n", "12", "8 to 256"}, before);
  refused(emulate("wgmma.m64n264k16.f32.f16.f16", "A.npy", "B.npy", "", "D.npy"), {"264", "8 to 256"},
          before);
  refused(emulate(kF16, "missing.npy", "B.npy", "", "D.npy"), {"missing.npy", "cannot read"}, before);
  refused(emulate(kF16, "B.npy", "B.npy", "", "D.npy"), {"B.npy", "--a shape", "[2, 16, 8]", "16, 16"},
          before);
  refused(emulate(kF16, "C.npy", "B.npy", "", "D.npy"), {"--a dtype", "F32", "U16", "F16"}, before);
  refused(emulate(kF16, "A.npy", "B.npy", "C.npy", "no/such/D.npy"), {"D.npy", "cannot write"}, before);
  refused(emulate(kF16, "A.npy", "B.npy", "C.npy", "D.txt"), {"D.txt", ".npy"}, before);
  refused(emulate(kF16, "A.npy", "B.npy", "C.npy", "D.npy", {"--arch", "gt200"}),
          {"--arch", "gt200", "did you mean", "`mmaudit list`"}, before);
}

TEST_F(Tiles, TruncatedAndOversizedFilesAreRefused) {
  std::filesystem::resize_file(path("A.npy"), 200);
  refused(emulate(kF16, "A.npy", "B.npy", "", "D.npy"), {"A.npy"}, files());
  std::ofstream(path("huge.safetensors"), std::ios::binary)
      << std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) << "{}";
  refused(emulate(kF16, "huge.safetensors", "B.npy", "", "D.npy"), {"huge.safetensors", "found"}, files());
}

TEST_F(Tiles, NumbersOfTilesMustAgree) {
  save("B1.npy", DType::f16, {1, 16, 8}, std::vector<std::uint16_t>(128, 0x3C00));
  refused(emulate(kF16, "A.npy", "B1.npy", "", "D.npy"),
          {"--b shape", "found [1, 16, 8]", "allowed: [2, 16, 8]"}, files());
}

TEST(Explain, ShowsWhatAlignmentLoses) {
  const Outcome outcome = run({"explain", "--inst", "wgmma.m64n64k32.f32.e4m3.e4m3", "--a",
                               "448,0,0,0,0,0.140625", "--b", "1,0,0,0,0,0.375"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* part : {"E = 8", "F = 13", "2^-5", "0.021484375", "0x43e00400", "0x43e006c0"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  const Outcome json =
      run({"explain", "--inst", kF16, "--a", "1.5,0x3c01", "--b", "1,2^-12", "--c", "3", "--json"});
  const auto trace = nlohmann::json::parse(json.out)["traces"][0];
  EXPECT_EQ(trace["d"], "40900200");
  EXPECT_EQ(trace["steps"][0]["maximum"], 1);
}

TEST(Explain, LinksToTheSameStateOfTheExplorer) {
  struct Case {
    std::vector<std::string> arguments;
    const char* address;
  };
  const Case cases[] = {
      {{"--inst", kF16, "--a", "1,2^-12", "--b", "1,1", "--c", "0.5", "--against", "ampere"},
       "explorer.html#gpu=hopper&inst=mma.m16n8k16.f32.f16.f16.f32&a=0x3c00,0x0c00&b=0x3c00,0x3c00&c="
       "0x3f000000"
       "&vs=ampere\n"},
      {{"--inst", "wgmma.m64n64k32.f32.e4m3.e4m3", "--a", "0,-448", "--negate-b", "--scale-d", "0"},
       "explorer.html#gpu=hopper&inst=wgmma.m64n64k32.f32.e4m3.e4m3&a=0,0xfe&mod=5\n"},
      {{"--arch", "blackwell", "--inst", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
        "--a", "6", "--b", "3", "--scale-a", "448"},
       "&a=0x07&b=0x05&sa=0x7e,0x38,0x38,0x38\n"},
      {{"--inst", "mma.sp.m16n8k16.f32.f16.f16.f32", "--a", "1", "--b", "1", "--metadata", "1,3"},
       "&a=0x3c00&b=0x3c00&meta=1,3,0,1,0,1,0,1\n"},
  };
  // A special function and fragments have views of their own.
  EXPECT_NE(run({"explain", "--inst", "divide", "--x", "1", "--y", "3"})
                .out.find("explorer.html#view=functions&fn=divide&x=0x3f800000&y=0x40400000\n"),
            std::string::npos);
  EXPECT_NE(run({"explain", "layout", "--inst", "wmma.m16n16k16.f32.f16.f16.f32", "--arch", "sm_70"})
                .out.find("explorer.html#view=fragments&inst=wmma.m16n16k16.f32.f16.f16.f32&gpu=volta\n"),
            std::string::npos);
  for (const Case& one : cases) {
    std::vector<std::string> arguments = {"explain"};
    arguments.insert(arguments.end(), one.arguments.begin(), one.arguments.end());
    const Outcome outcome = run(arguments);
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    EXPECT_NE(outcome.out.find(one.address), std::string::npos) << one.address << outcome.out;
  }
}

TEST(Explain, WhatIsCutOffWholeIsLost) {
  // 2^-120 beside 2^120, at F = 25: over 61 bits below what is kept.
  const Outcome outcome = run({"explain", "--inst", "mma.m16n8k16.f32.bf16.bf16.f32", "--a", "2^60,2^-60",
                               "--b", "2^60,2^-60", "--json"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  const auto addends = nlohmann::json::parse(outcome.out)["traces"][0]["steps"][0]["addends"];
  int seen = 0;
  for (const auto& one : addends) {
    if (one.value("k", -1) != 1) continue;
    ++seen;
    EXPECT_EQ(one["lost"], one["exact"]) << one;
    EXPECT_NE(one["lost"], addends[0]["lost"]) << one;
  }
  EXPECT_EQ(seen, 1) << addends;
}

TEST(Explain, RefusesWhatIsNotExact) {
  for (const auto& [values, part] :
       std::vector<std::pair<std::string, std::string>>{{"0.1", "holds exactly"},
                                                        {"0x12345", "hexadecimal"},
                                                        {"one", "allowed"},
                                                        {"1,,2", "allowed"},
                                                        {"70000", "holds exactly"}}) {
    const Outcome outcome = run({"explain", "--inst", kF16, "--a", values, "--b", "1"});
    EXPECT_EQ(outcome.code, kBadInput) << values;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

TEST(List, JsonMarkdownAndTable) {
  const Outcome table = run({"list", "--arch", "H200"});
  EXPECT_NE(table.out.find("wgmma.m64nNk32.f32.e4m3.e4m3"), std::string::npos);
  EXPECT_NE(run({"list", "--markdown"}).out.find("|---|"), std::string::npos);
  const auto json = nlohmann::json::parse(run({"list", "--arch", "sm_90a", "--json"}).out);
  EXPECT_EQ(json["architectures"][0]["name"], "hopper");
  EXPECT_FALSE(json["architectures"][0]["instructions"].empty());
}

TEST(Usage, NumbersAreFiniteAndFit) {
  const std::vector<std::vector<std::string>> refused = {{"verify", "laws", "--dots", "nan"},
                                                         {"audit", "--dots", "nan"},
                                                         {"verify", "campaign", "--dots", "inf"},
                                                         {"verify", "--dots", ""},
                                                         {"matmul", "--alpha", ""},
                                                         {"matmul", "--alpha", "nan"},
                                                         {"matmul", "--beta", "inf"},
                                                         {"matmul", "--promote", ""},
                                                         {"verify", "laws", "--seed", ""},
                                                         {"verify", "laws", "--seed", "18446744073709551616"},
                                                         {"verify", "laws", "--seed", "-1"},
                                                         {"verify", "laws", "--seed", "1e3"},
                                                         {"audit", "--threads", "x"},
                                                         {"explain", "--scale-d", "99999999999"}};
  for (const std::vector<std::string>& arguments : refused) {
    const Outcome outcome = run(arguments);
    const std::string& option = *(arguments.end() - 2);
    EXPECT_EQ(outcome.code, kBadInput) << arguments[0] << ' ' << option;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_LT(outcome.err.size(), 160U) << outcome.err;
    EXPECT_NE(outcome.err.find(option + ": found"), std::string::npos) << outcome.err;
  }
}

TEST(Usage, EveryRefusalSaysFoundAndAllowed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"nope"}, "command: found nope, allowed: model, probe, "},
      {{"explain", "--inst", "ex3.approx.f32"},
       "--inst: found \"ex3.approx.f32\", allowed: ex2.approx.f32, "},
      {{"explain", "--inst", "ex3.approx.f32"},
       "`mmaudit list --functions`), an instruction of `mmaudit list`"},
      {{"explain", "--inst", "log1p", "--x", "1"}, "allowed: log1pf, "},
      {{"explain", "--inst", "mma.m16n8k16.f32.f16.f16.f33"}, "allowed: mma.m16n8k16.f32.f16.f16.f32"},
      {{"verify", "--inst", "ex2,m16n8k16"},
       "--inst: found \"m16n8k16\" beside special functions, allowed: functions"},
      {{"verify", "--inst", "expg"}, "name, or special functions (`mmaudit list --functions`)"},
      {{"list", "--functions", "--arch", "mi100"},
       "--arch: found cdna1 with --functions, allowed: a generation of"},
      {{"frobnicate"}, ", ... (15 more) (see `mmaudit --help`)"},
      {{"lawz"}, "(did you mean verify laws?)"},
      {{"baseline", "recrod"}, "allowed: record, diff, corpus (did you mean record?)"},
      {{"audits"}, "(did you mean audit?) (see `mmaudit --help`)"},
      {{"audti"}, "(did you mean audit?) (see `mmaudit --help`)"},
      {{}, "command: found none, allowed: audit, "},
      {{"doctor", "extra"}, "argument: found extra, allowed: none here (see `mmaudit doctor --help`)"},
      {{"time", "--wrps", "4"}, "option: found --wrps, allowed: --warps, "},
      {{"time", "--warps", "4", "--warps", "8"}, "--warps: found 2 values, allowed: 1"},
      {{"list", "--inst", "x", "--json"}, "--inst: found with --json, allowed: one of them"},
      {{"matmul", "--factor-a"}, "--factor-a: found nothing, allowed: a value"},
      {{"matmul"}, "--a: found nothing, allowed: a value"},
      {{"convert", "--json=x"}, "--json: found x, allowed: no value"},
      {{"sweep", "gate"}, "SWEEP: found nothing, allowed: a value (see `mmaudit sweep gate --help`)"}};
  for (const auto& [arguments, text] : refused) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << text;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err << text;
  }
}

TEST(Usage, WrongOptionsAreOneLine) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"frobnicate"},
                                                    {"verify", "--nonsense"},
                                                    {"matmul", "--tiles"},
                                                    {"verify", "--dots", "-3"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
