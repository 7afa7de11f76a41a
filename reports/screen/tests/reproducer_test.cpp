// The CUDA file of a finding: its words are the operands and the bits that the model expects.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/screen/fault_simulation.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

const Architecture& hopper() { return *find_architecture("hopper"); }

/// A work by its name.
Work work_named(const std::string& name, InputSet set) {
  for (Work work : screened()) {
    work.inputs = set;
    if (work.name() == name) return work;
  }
  throw InputError(name);
}

TileBatch operands_of(const Work& work) {
  return make_operands(work.instruction, find_datapath(hopper(), work.instruction)->datapath, work.inputs);
}

/// A wrong bit of element (3, 5) of tile 1, whose expected bits the fault simulation computes.
Finding finding_of(const Work& work) {
  Finding finding{
      .work = work, .multiprocessor = 17, .subcore = 2, .lane = 5, .tile = 1, .row = 3, .column = 5};
  const Datapath& datapath = find_datapath(hopper(), work.instruction)->datapath;
  finding.expected = chain_with_fault(make_dot_spec(work.instruction, datapath), operands_of(work), 1, 3, 5,
                                      kSteps, nullptr);
  finding.found = finding.expected ^ 1;
  return finding;
}

std::string file_of(const Work& work) { return reproducer(finding_of(work), hopper(), 2); }

/// The words of an array of the file.
std::vector<std::uint64_t> words(const std::string& file, const std::string& name) {
  const std::size_t at = file.find(" " + name + "["), begin = file.find('{', at) + 1;
  if (at == std::string::npos) return {};
  std::istringstream text(file.substr(begin, file.find('}', begin) - begin));
  std::vector<std::uint64_t> out;
  for (std::string word; std::getline(text >> std::ws, word, ',');)
    out.push_back(std::stoull(word, nullptr, 16));
  return out;
}

bool has(const std::string& file, const std::string& part) { return file.find(part) != std::string::npos; }

/// Element of a register array.
std::uint64_t held(const std::vector<std::uint64_t>& words, const FragmentMap& map, Format format, Coord at) {
  const int each = elements_per_register(format), bits = register_bits(format);
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value)
      if (map.at(lane, value) == at)
        return words.at(static_cast<std::size_t>(value / each) * static_cast<std::size_t>(map.lanes) +
                        static_cast<std::size_t>(lane)) >>
                   (value % each * bits) &
               ~std::uint64_t{0} >> (64 - bits);
  throw InputError("no such element");
}

/// A 16-bit element of a column of B, in shared memory: lines of 16 bytes, 8 of them a core matrix, `cores`
/// of these along k.
std::uint64_t in_shared(const std::vector<std::uint64_t>& words, int k, int column, int cores) {
  const int byte = column / 8 * cores * 128 + k / 8 * 128 + column % 8 * 16 + k % 8 * 2;
  return words.at(static_cast<std::size_t>(byte / 4)) >> (byte % 4 * 8) & 0xFFFF;
}

TEST(Reproducer, HoldsOperandsAndExpectedBits) {
  int wgmma = 0, mma = 0;
  for (const std::string name : {"wgmma.m64n256k16.f32.f16.f16 SS", "wgmma.m64n256k16.f16.f16.f16 RS",
                                 "wgmma.sp.m64n256k32.f32.bf16.bf16 RS", "mma.m16n8k16.f16.f16.f16.f16",
                                 "mma.m16n8k16.f64.f64.f64.f64", "mma.sp.m16n8k64.s32.s8.s8.s32"}) {
    const Work work = work_named(name, InputSet::normal);
    const Instruction& inst = work.instruction;
    const Finding finding = finding_of(work);
    const TileBatch tiles = operands_of(work);
    const std::string file = file_of(work);
    EXPECT_EQ(held(words(file, "kD"), fragment_d(inst), inst.d, {3, 5}), finding.expected) << name;
    const auto element = [&](const std::vector<std::byte>& of, Format format, int rows, int cols, int row,
                             int col) {
      const int bits = register_bits(format);
      return load_bits(of, spec_of(format).storage_bytes(),
                       static_cast<std::size_t>(rows + row) * static_cast<std::size_t>(cols) +
                           static_cast<std::size_t>(col)) &
             ~std::uint64_t{0} >> (64 - bits);
    };
    const int k = inst.stored_k() - 1, stored = inst.stored_k();
    const std::uint64_t a = element(tiles.a, inst.a, inst.m, stored, 3, k),
                        b = element(tiles.b, inst.b, inst.k, inst.n, inst.k - 1, 5);
    const auto in_a = words(file, "kA"), in_b = words(file, "kB");
    if (is_wgmma(inst.op)) {
      EXPECT_EQ(in_shared(in_b, inst.k - 1, 5, is_sparse(inst.op) ? 4 : 2), b) << name;
      EXPECT_EQ(work.registers ? held(in_a, fragment_a(inst), inst.a, {3, k}) : in_shared(in_a, k, 3, 2), a)
          << name;
      ++wgmma;
    } else {
      EXPECT_EQ(held(in_b, fragment_b(inst), inst.b, {inst.k - 1, 5}), b) << name;
      EXPECT_EQ(held(in_a, fragment_a(inst), inst.a, {3, k}), a) << name;
      ++mma;
    }
    EXPECT_EQ(words(file, "kMetadata").size(),
              is_sparse(inst.op) ? static_cast<std::size_t>(lanes_of(inst)) : 0U);
  }
  EXPECT_EQ(wgmma, 3);
  EXPECT_EQ(mma, 3);
}

TEST(Reproducer, RunsTheInstructionOnThePlaceOfTheFinding) {
  const std::string shared = file_of(work_named("wgmma.m64n256k32.f32.e4m3.e4m3 SS", InputSet::cancellation));
  for (const char* part :
       {"// mmaudit screen: GPU 2, SM 17, sub-core 2 (warp modulo 4), lane 5: wrong bits of ",
        "wrong bits of wgmma.m64n256k32.f32.e4m3.e4m3 SS, input set cancellation, tile 1.",
        "// Element (3, 5): expected 0x", "// Build: nvcc -gencode arch=compute_90a,code=sm_90a FILE.cu\n",
        "constexpr int kSm = 17;", "kGpu = 2, kThreads = 128", "kSteps = 64",
        "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {%0,", ",%127}, %128, %129, accumulate, 1, 1;",
        ": \"l\"(of.a), \"l\"(of.b), \"n\"(kSteps)", "of.a = descriptor(shared_a, 128, 256);",
        "of.b = descriptor(shared_b, 128, 256);", "sm == kSm && atomicExch(&result->taken, 1u) == 0",
        "result->wrong == 0 ? 0 : 1"})
    EXPECT_TRUE(has(shared, part)) << part;
  const std::string registers = file_of(work_named("wgmma.sp.m64n256k32.f32.f16.f16 RS", InputSet::normal));
  for (const char* part : {",%127}, {%128,%129,%130,%131}, %132, %134, 0, accumulate, 1, 1, 0;",
                           "of.b = descriptor(shared_b, 128, 512);", "of.metadata = kMetadata[lane];"})
    EXPECT_TRUE(has(registers, part)) << part;
  const std::string warp = file_of(work_named("mma.sp.m16n8k32.f32.f16.f16.f32", InputSet::normal));
  for (const char* part :
       {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, "
        "{%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;",
        "constexpr int kSubcore = 2;", "if (warp != kSubcore) return;", "kThreads = 128, kLanes = 32"})
    EXPECT_TRUE(has(warp, part)) << part;
  EXPECT_TRUE(has(file_of(work_named("wgmma.m64n256k256.s32.b1.b1.and.popc SS", InputSet::normal)),
                  "m64n256k256.s32.b1.b1.and.popc {%0,"));
}

/// A screen that found this.
GpuResult gpu_with(const Finding& finding) {
  GpuResult gpu;
  gpu.device.ordinal = 2;
  gpu.device.compute_capability = 90;
  gpu.works.push_back({.work = finding.work, .wrong = 1});
  gpu.findings = {finding};
  return gpu;
}

TEST(Reproducer, IsTheSameFromTheJsonOfTheScreen) {
  const Finding finding = finding_of(work_named("mma.m16n8k8.f32.tf32.tf32.f32", InputSet::adder_width));
  const std::vector<GpuResult> gpus = {GpuResult{}, gpu_with(finding)};
  const std::string file = reproducer(finding, hopper(), 2);
  EXPECT_EQ(first_reproducer(gpus), file);
  EXPECT_EQ(reproducer_of_json(json_of(gpus, {}), "screen.json"), file);
  EXPECT_EQ(first_reproducer({GpuResult{}}), "");
}

TEST(Reproducer, RefusesInOneLine) {
  const Finding finding = finding_of(work_named("mma.m16n8k8.f32.tf32.tf32.f32", InputSet::normal));
  const auto with = [&](const char* name, const nlohmann::json& value) {
    auto json = nlohmann::json::parse(json_of({gpu_with(finding)}, {}));
    json.at("gpus").at(0).at("findings").at(0)[name] = value;
    return json.dump();
  };
  auto nothing = nlohmann::json::parse(json_of({gpu_with(finding)}, {}));
  nothing.at("gpus").at(0).at("findings").clear();
  auto volta = nlohmann::json::parse(json_of({gpu_with(finding)}, {}));
  volta.at("gpus").at(0).at("compute_capability") = 70;
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {nothing.dump(), "f.json: found no finding"},
           {volta.dump(), "compute_capability: found 70, allowed: of a GPU that has mma.m16n8k8"},
           {"{}", "f.json: kind: found none"},
           {R"({"kind": "x"})", "f.json: kind: found \"x\""},
           {R"({"kind": "mmaudit-screen", "gpus": 1})", "f.json: gpus: found 1"},
           {R"({"kind": "mmaudit-screen", "gpus": [1]})", "f.json: GPU 0: findings: found none"},
           {with("instruction", "mma"), "findings: instruction: found \"mma\""},
           {with("inputs", "warm"), "findings: inputs: found \"warm\""},
           {with("tile", 2), "tile: found 2, allowed: 0 to 1"},
           {with("row", -1), "row: found -1, allowed: 0 to 15"},
           {with("column", 8), "column: found 8, allowed: 0 to 7"},
           {with("subcore", "0"), "subcore: found \"0\", allowed: 0 to 3"},
           {with("expected", "12"), "expected: found \"12\", allowed: hexadecimal"},
           {with("instruction", std::string(100'000, 'x')), "xxx..., allowed: one of"},
           {with("expected", "0x1"), "f.json: GPU 0: findings: mma.m16n8k8"},
           {with("expected", "0x1"), "which this version of mmaudit expects"}}) {
    try {
      reproducer_of_json(text, "f.json");
      ADD_FAILURE() << part;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << " lacks " << part;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      EXPECT_LT(std::string(error.what()).size(), 400U);
    }
  }
}

}  // namespace
}  // namespace mmaudit::screen
