// What people type, paste and pass from one command to the next.
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/fragment.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;

class Names : public Folder {
 protected:
  void save(const std::string& name, std::vector<std::uint64_t> shape, const std::vector<float>& values) {
    corpus::write_npy(path(name), corpus::make_tensor<float>("x", DType::f32, std::move(shape), values));
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
};

TEST_F(Names, EveryLineOfListIsAccepted) {
  std::istringstream listed(run({"list", "--arch", "hopper"}).out);
  int tried = 0;
  for (std::string line; std::getline(listed, line);) {
    const std::string name =
        line.substr(0, line.find(' ', 2)).erase(0, std::min<std::size_t>(2, line.size()));
    if (name.find(".m") == std::string::npos) continue;
    ++tried;
    const Outcome explained = run({"explain", "--inst", name, "--a", "1", "--b", "1"});
    EXPECT_EQ(explained.code, kAllGood) << name << explained.err;
  }
  EXPECT_GT(tried, 100);
  EXPECT_EQ(run({"explain", "--arch", "sm_120", "--inst", "mma.m16n8k32.kind_f8f6f4.f32.A.B.f32", "--a", "1",
                 "--b", "1"})
                .code,
            kAllGood);
}

TEST_F(Names, WhatIsKnownAndNotModelledSaysSo) {
  for (const char* gpu : {"rdna3", "RDNA 4", "gfx1100", "RX 7900 XTX", "gfx950", "MI355X", "cdna4"}) {
    const Outcome outcome = run({"list", "--arch", gpu});
    EXPECT_EQ(outcome.code, kBadInput) << gpu;
    EXPECT_NE(outcome.err.find("which is not modelled (AMD "), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos) << outcome.err;
  }
  for (const char* inst : {"v_wmma_f32_16x16x16_f16", "v_mfma_i32_32x32x8i8", "v_smfmac_f32_16x16x32_f16",
                           "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32", "v_swmmac_f32_16x16x32_f16",
                           "V_MFMA_SCALE_F32_16X16X128_F8F6F4", "v_mfma_f32_16x16x32_f16"}) {
    const Outcome outcome = run({"explain", "--arch", "cdna3", "--inst", inst, "--a", "1", "--b", "1"});
    EXPECT_EQ(outcome.code, kBadInput) << inst;
    EXPECT_NE(outcome.err.find("which is not modelled (AMD"), std::string::npos) << outcome.err;
  }
  EXPECT_NE(run({"list", "--arch", "hoper"}).err.find("did you mean hopper?"), std::string::npos);
  EXPECT_EQ(run({"list", "--arch", "rtx7000"}).err.find("not modelled"), std::string::npos);
}

TEST_F(Names, ALineOfCapabilitiesSaysWhatADashMeans) {
  const std::string text = run({"list", "--capabilities"}).out;
  for (const char* part :
       {"Under a generation, -: it lacks the instruction, or the instruction is one of those",
        "Not in this model: AMD's int8; AMD's sparse v_smfmac"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_NE(run({"list", "--cores", "--arch", "b300"}).out.find("sm_103 (B300) lacks kind::i8"),
            std::string::npos);
}

TEST_F(Names, FiltersTakeWholeNames) {
  for (const char* name : {"wgmma.m64nNk32.f32.e4m3.e4m3", "wgmma.m64n128k32.f32.e4m3.e4m3",
                           "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3"}) {
    const Outcome verified = run({"-q", "verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst", name});
    EXPECT_EQ(verified.code, kAllGood) << verified.err;
    EXPECT_NE(verified.out.find("k32.f32.e4m3.e4m3 "), std::string::npos) << verified.out;
    const Outcome laws =
        run({"-q", "verify", "laws", "--on", "model", "--dots", "100", "--no-slow", "--inst", name});
    EXPECT_EQ(laws.err.find("--inst: found"), std::string::npos) << laws.err;
    EXPECT_EQ(run({"explain", "layout", "--inst", name}).code, kAllGood);
  }
  const Outcome none = run({"-q", "verify", "laws", "--inst", "wgmma.m64n64k32.f32.e4m3.e4m4"});
  EXPECT_EQ(none.code, kBadInput);
  EXPECT_NE(none.err.find("the nearest is wgmma.m64nNk32.f32.e4m3"), std::string::npos) << none.err;
}

TEST_F(Names, AFunctionWithoutARecordingIsNoAgreement) {
  const std::filesystem::path from = MMAUDIT_TEST_CORPUS "/hopper/functions", to = path("functions");
  std::filesystem::create_directories(to);
  for (const char* name : {"ex2.approx.f16.npy", "ex2.approx.f32.npy"})
    std::filesystem::copy(from / name, to / name);
  const auto verified = [&](const char* name) {
    return run({"-q", "verify", "--corpus", path(""), "--inst", name});
  };
  EXPECT_EQ(verified("ex2.approx.f16").code, kAllGood);
  const Outcome lacks = verified("ex2");
  EXPECT_EQ(lacks.code, kBadInput) << lacks.out;
  EXPECT_NE(lacks.err.find("which has no recording of ex2.approx.ftz.f32, ex2.approx.ftz.bf16"),
            std::string::npos)
      << lacks.err;
  corpus::write_npy(
      to / "ex2.approx.f16.npy",
      corpus::make_tensor<std::uint32_t>("", corpus::DType::u32, {0, 2}, std::vector<std::uint32_t>()));
  EXPECT_EQ(verified("ex2.approx.f16").code, kBadInput);
}

TEST_F(Names, EveryNameOfAListSelectsSomething) {
  const std::string wgmma = "wgmma.m64nNk32.f32.e4m3.e4m3", model = path("model.json");
  ASSERT_EQ(run({"-q", "baseline", "record", "--on", "model", "--inst", wgmma, "--out", model}).code,
            kAllGood);
  const std::vector<std::vector<std::string>> commands = {
      {"verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst"},
      {"verify", "--corpus", MMAUDIT_TEST_CORPUS, "--strength", "--inst"},
      {"verify", "laws", "--on", "model", "--dots", "100", "--no-slow", "--inst"},
      {"verify", "laws", "--on", "corpus", "--corpus", MMAUDIT_TEST_CORPUS, "--inst"},
      {"verify", "campaign", "--on", "model", "--list", "--inst"},
      {"baseline", "record", "--on", "model", "--out", path("b.json"), "--inst"},
      {"baseline", "diff", model, model, "--inst"},
      {"list", "--inst"}};
  for (const std::vector<std::string>& command : commands)
    for (const char* const more : {",nothing", ",nothing,all"}) {
      std::vector<std::string> arguments = {"-q"};
      arguments.insert(arguments.end(), command.begin(), command.end());
      arguments.push_back(wgmma + more);
      const Outcome outcome = run(arguments);
      EXPECT_EQ(outcome.code, kBadInput) << command[0] << ' ' << command[1] << more << outcome.out;
      EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
      EXPECT_NE(outcome.err.find("--inst: found "), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.out, "");
    }
  EXPECT_EQ(files(), 1U) << "half a result was written";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"verify", "laws", "--law", "zero_is_plus_zero,gravity"},
        {"verify", "campaign", "--on", "model", "--list", "--family", "normal,gravity"},
        {"baseline", "corpus", "--inst", "all,gravity", "--out", path("new")},
        {"sweep", "--inst", "ldmatrix,gravity"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << arguments[1] << outcome.out;
    EXPECT_NE(outcome.err.find("gravity"), std::string::npos) << outcome.err;
  }
}

/// Registers of D, A and B in the inline assembly of device/ptx/`file` that matches `line`.
std::vector<std::vector<std::size_t>> operands_in(const std::string& file, const std::string& line) {
  std::ifstream in(std::string(MMAUDIT_PTX) + "/" + file);
  EXPECT_TRUE(in) << file;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::regex one(line + R"re([^%;]*"%\d+ \{([%\d,]+)\}, \{([%\d,]+)\}, \{([%\d,]+)\})re");
  std::vector<std::vector<std::size_t>> found;
  for (std::sregex_iterator at(text.begin(), text.end(), one), end; at != end; ++at) {
    found.emplace_back();
    for (std::size_t group = 1; group <= 3; ++group) {
      const std::string list = (*at)[group];
      found.back().push_back(static_cast<std::size_t>(std::count(list.begin(), list.end(), '%')));
    }
  }
  return found;
}

TEST_F(Names, EveryLayoutHasTheRegistersOfItsPtx) {
  const auto words = operands_in("mma.cuh", R"(MMAUDIT_MMA_REGISTERS\(std::uint32_t,)");
  const auto doubles = operands_in("mma.cuh", R"(MMAUDIT_MMA_REGISTERS\(std::uint64_t,)");
  const auto sparse = operands_in("mma_sp.cuh", R"(MMAUDIT_MMA_SP_REGISTERS\(\d)");
  const auto scaled = operands_in("mma_narrow.cuh", "asm volatile\\(");
  ASSERT_GE(words.size(), 5U);
  ASSERT_EQ(doubles.size(), 4U);
  ASSERT_EQ(sparse.size(), 4U);
  const auto sparse_scaled = operands_in("mma_sp_narrow.cuh", "asm volatile\\(");
  ASSERT_EQ(scaled, (std::vector<std::vector<std::size_t>>{{4, 4, 2}}));
  ASSERT_EQ(sparse_scaled, (std::vector<std::vector<std::size_t>>{{4, 4, 4}}));
  for (const Instruction& inst : kInstructions) {
    if (!has_fragment_maps(inst)) continue;
    const auto json =
        nlohmann::json::parse(run({"explain", "layout", "--inst", name_of(inst), "--json"}).out);
    std::map<std::string, std::size_t> of;
    for (const auto& operand : json.at("operands"))
      of[operand.at("operand")] = operand.at("row_col_by_lane_and_value").at(0).size() /
                                  operand.at("values_per_register").get<std::size_t>();
    const std::vector<std::size_t> registers = {of["D"], of["A"], of["B"]};
    if (is_wgmma(inst.op)) {  // N = 64; A of 16 rows and 32 bytes per row and warp, B in shared memory
      const std::size_t d = inst.d == Format::f16 ? 16 : 32;
      EXPECT_EQ(registers, (std::vector<std::size_t>{d, 4, 0})) << name_of(inst);
      continue;
    }
    const auto& allowed = inst.scale != Format::none ? (inst.op == Op::mma_sp ? sparse_scaled : scaled)
                          : inst.op == Op::mma_sp    ? sparse
                          : inst.d == Format::f64    ? doubles
                                                     : words;
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), registers), allowed.end())
        << name_of(inst) << ": " << testing::PrintToString(registers);
  }
  const Outcome fp4 =
      run({"explain", "layout", "--inst", "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0"});
  EXPECT_EQ(fp4.out.substr(0, fp4.out.find("B of ")).find("r4"), std::string::npos) << fp4.out;
}

TEST_F(Names, SmallFloatsMakeTheRoundTrip) {
  save("x.npy", {4, 32}, std::vector<float>(128, 1.5F));
  save("w.npy", {32, 8}, std::vector<float>(256, 0.75F));
  for (const auto& [format, type] :
       {std::pair{"e4m3", DType::f8_e4m3}, {"e5m2", DType::f8_e5m2}, {"bf16", DType::bf16}}) {
    for (const std::string name : {"x", "w"})
      ASSERT_EQ(
          run({"convert", "--to", format, "--in", path(name + ".npy"), "--out", path(name + "8.npy")}).code,
          kAllGood);
    EXPECT_EQ(corpus::load_tensor(path("x8.npy")).dtype, type);
    const Outcome audited =
        run({"-q", "audit", "--a", path("x8.npy"), "--b", path("w8.npy"), "--dtype", "fp16"});
    EXPECT_EQ(audited.code, kAllGood) << audited.err;
    EXPECT_EQ(run({"convert", "--to", "fp32", "--in", path("x8.npy"), "--out", path("back.npy")}).code,
              kAllGood);
    const auto back = corpus::load_tensor(path("back.npy"));
    for (const float x : back.as<float>()) EXPECT_EQ(x, 1.5F);
  }
}

TEST_F(Names, MatmulConvertsWhenTold) {
  save("x.npy", {4, 32}, std::vector<float>(128, 1.5F));
  save("w.npy", {32, 8}, std::vector<float>(256, 0.75F));
  std::vector<std::string> command = {"-q",    "matmul",      "--inst", "mma.m16n8k16.f32.f16.f16.f32",
                                      "--a",   path("x.npy"), "--b",    path("w.npy"),
                                      "--out", path("d.npy")};
  const Outcome refused = run(command);
  EXPECT_EQ(refused.code, kBadInput);
  EXPECT_NE(refused.err.find("`mmaudit convert --to f16`"), std::string::npos) << refused.err;
  command.insert(command.end(), {"--round", "rn"});
  const Outcome done = run(command);
  ASSERT_EQ(done.code, kAllGood) << done.err;
  const auto d = corpus::load_tensor(path("d.npy"));
  for (const float x : d.as<float>()) EXPECT_EQ(x, 36.0F);
}

TEST_F(Names, ModelTakesWhatListPrints) {
  write("hopper.json", run({"list", "--arch", "hopper", "--json"}).out);
  const Outcome explained = run({"explain", "--model", path("hopper.json"), "--inst",
                                 "mma.m16n8k16.f32.f16.f16.f32", "--a", "1", "--b", "1"});
  EXPECT_EQ(explained.code, kAllGood) << explained.err;
  EXPECT_NE(explained.out.find("own-hopper"), std::string::npos) << explained.out;
  write("all.json", run({"list", "--json"}).out);
  const Outcome all = run({"list", "--model", path("all.json")});
  EXPECT_EQ(all.code, kBadInput);
  EXPECT_NE(all.err.find("list --arch A --json"), std::string::npos) << all.err;
  EXPECT_EQ(lines(all.err), 1U);
}

TEST_F(Names, AuditTakesTheUsualNames) {
  save("x.npy", {4, 32}, std::vector<float>(128, 1.5F));
  save("w.npy", {32, 8}, std::vector<float>(256, 0.75F));
  const auto audited = [&](const char* dtype) {
    return run(
        {"-q", "audit", "--arch", "RTX 5090", "--a", path("x.npy"), "--b", path("w.npy"), "--dtype", dtype});
  };
  EXPECT_EQ(audited("nvfp4,mxfp8,half").code, kAllGood);
  const Outcome fp8 = audited("fp8");
  EXPECT_EQ(fp8.code, kBadInput);
  EXPECT_NE(fp8.err.find("fp8 is e4m3 or e5m2"), std::string::npos) << fp8.err;
}

TEST_F(Names, ExplainKeepsItsColumns) {
  const Outcome wide =
      run({"explain", "--inst", "mma.m16n8k8.f32.tf32.tf32.f32", "--a", "0x00002000,1", "--b", "1,1"});
  ASSERT_EQ(wide.code, kAllGood) << wide.err;
  std::istringstream text(wide.out);
  std::size_t column = 0;
  int rows = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("  k  a", 0) == 0) column = line.find("kept");
    if (column == 0) continue;
    if (line.find("zero product") != std::string::npos) break;
    ++rows;
    ASSERT_GT(line.size(), column) << wide.out;
    EXPECT_EQ(line[column - 1], ' ') << wide.out;
    EXPECT_NE(line[column], ' ') << wide.out;
  }
  const Outcome one = run(
      {"explain", "--inst", "mma.m16n8k8.f32.f16.f16.f32", "--a", "1,1,1,1,1,1,1", "--b", "1,1,1,1,1,1,1"});
  EXPECT_NE(one.out.find("1 zero product, which takes no part in E"), std::string::npos) << one.out;
}

TEST_F(Names, ANaNHasNoDistance) {
  const std::vector<std::string> command = {"explain", "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--a", "nan",
                                            "--b",     "1"};
  const Outcome text = run(command);
  EXPECT_EQ(text.out.find("ulp"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("D = 0x7fffffff = nan: the exact sum nan, correctly rounded"), std::string::npos)
      << text.out;
  std::vector<std::string> more = command;
  more.emplace_back("--json");
  const auto json = nlohmann::json::parse(run(more).out);
  EXPECT_EQ(json.dump().find("\"error_ulps\":0"), std::string::npos) << json;
}

TEST_F(Names, APictureFitsAPage) {
  const std::string svg =
      run({"explain", "layout", "--inst", "wgmma.m64n256k16.f32.f16.f16", "--svg", "-"}).out;
  const std::size_t at = svg.find(" width=\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stoi(svg.substr(at + 8)), 1400);
  for (const char* words : {">0<", "columns 8 to 255: every 8 columns the same again, registers + 4<",
                            "A of wgmma", "in shared memory"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace mmaudit::cli::test
