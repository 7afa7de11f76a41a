// What records tcgen05 on a GPU, on a GPU of this file's making: memory of the host stands for its memory,
// and the machine of mmaudit/tensor_memory runs what the driver would translate. Only the header of CUDA is
// needed.
#include "run/tcgen05.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "run/cuda_check.hpp"
#include "run/text_kernel.hpp"

namespace {

std::map<const void*, std::size_t>& allocations() {
  static std::map<const void*, std::size_t> all;
  return all;
}

}  // namespace

// The few functions of CUDA's runtime that run/tcgen05.cpp calls.
extern "C" {
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = std::malloc(bytes);
  allocations()[*data] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  allocations().erase(data);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return ""; }
}

namespace mmaudit::device {
namespace {

const Architecture& blackwell() { return *find_architecture("blackwell"); }

struct Launches {
  int translated = 0, launched = 0;
};
Launches launches;

/// The memory that begins at `address`, as a fill of elements of this format.
tmem::Fill fill_of(tmem::Fill::Role role, std::uint64_t address, Format format) {
  const auto* const data =
      reinterpret_cast<const char*>(address);  // NOLINT(performance-no-int-to-ptr): of the driver's kind
  const std::size_t each = spec_of(format).storage_bytes(), count = allocations().at(data) / each;
  tmem::Fill fill;
  fill.role = role;
  fill.place = address;
  fill.format = format;
  fill.rows = 1;
  fill.columns = static_cast<int>(count);
  for (std::size_t i = 0; role == tmem::Fill::Role::input && i < count; ++i)
    fill.elements.push_back(load_word(data, each, i));
  return fill;
}

}  // namespace

TextKernel::TextKernel(const std::string& text, const char* name) {
  auto program = std::make_unique<tmem::PtxProgram>();
  const std::string reason = tmem::parse_ptx(text, *program);
  if (!reason.empty() || text.find(std::string(".entry ") + name + "(") == std::string::npos)
    throw EnvironmentError("no such kernel: " + reason);
  module_ = program.release();
  ++launches.translated;
}
TextKernel::~TextKernel() { delete static_cast<tmem::PtxProgram*>(module_); }

void TextKernel::launch(unsigned blocks, unsigned threads, std::span<const std::uint64_t> parameters) const {
  ++launches.launched;
  if (threads != tmem::kThreads || parameters.size() != 3) throw EnvironmentError("another launch");
  tmem::PtxProgram program = *static_cast<const tmem::PtxProgram*>(module_);
  program.parameters = {{"images", parameters[0]}, {"addends", parameters[1]}, {"results", parameters[2]}};
  program.fills = {fill_of(tmem::Fill::Role::input, parameters[0], Format::u8),
                   fill_of(tmem::Fill::Role::input, parameters[1], Format::s32),
                   fill_of(tmem::Fill::Role::output, parameters[2], Format::s32)};
  // The machine runs a cluster: one block, or the two of a pair.
  const auto cluster = static_cast<unsigned>(tmem::Interpreter(program, blackwell()).ctas());
  if (blocks % cluster != 0) throw EnvironmentError("half of a cluster");
  for (program.block = 0; program.block < blocks; program.block += cluster) {
    tmem::Interpreter interpreter(program, blackwell());
    if (const std::string reason = interpreter.run(); !reason.empty()) throw EnvironmentError(reason);
    const std::vector<std::uint64_t> results = interpreter.output(2);
    const std::size_t tile = results.size() / blocks * cluster, first = program.block / cluster * tile;
    if (interpreter.not_stored(2) != results.size() - tile) throw EnvironmentError("not one tile");
    for (std::size_t i = first; i < first + tile; ++i)
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      store_word(reinterpret_cast<void*>(parameters[2]), 4, i, results[i]);
  }
}

namespace {

DeviceInfo gpu_of(int compute_capability) {
  DeviceInfo info;
  info.name = "GPU";
  info.compute_capability = compute_capability;
  return info;
}

/// Tiles with these modifiers, and D of the model.
TileBatch batch_of(const Instruction& inst, std::initializer_list<std::uint8_t> modifiers) {
  const Datapath& datapath = find_datapath(blackwell(), inst)->datapath;
  TileBatch batch(inst);
  std::uint64_t tile = 0;
  for (const std::uint8_t set : modifiers)
    gen::append_class(batch, gen::make_generator_spec(inst, datapath), gen::InputClass::narrow_window, 11,
                      tile++, 1, set);
  emulate(inst, datapath, batch.view());
  return batch;
}

TileBatch batch_of(const char* name, std::initializer_list<std::uint8_t> modifiers) {
  return batch_of(find_instruction(name).value(), modifiers);
}

TEST(Tcgen05Run, TilesOfAnyModifiersGetTheirOwnResults) {
  for (const int capability : {100, 103}) {
    TileBatch batch =
        batch_of("tcgen05.m128n16k16.kind_f16.f32.bf16.bf16",
                 {0, kNegateA, 0, kScaleDZero, kTransposeB | kNegateB, kNegateA, kTransposeA | kTransposeB});
    const std::vector<std::byte> wanted = batch.d;
    launches = {};
    run_tcgen05(gpu_of(capability), batch.instruction, batch.view(), {});
    EXPECT_EQ(batch.d, wanted);
    EXPECT_EQ(launches.translated, 5);  // one text per set of modifiers
    EXPECT_EQ(launches.launched, 5);
    launches = {};
    run_tcgen05(gpu_of(capability), batch.instruction, batch.view(), {});
    EXPECT_EQ(batch.d, wanted);
    EXPECT_EQ(launches.translated, 0);
  }
}

TEST(Tcgen05Run, ScaledAndNarrowResults) {
  for (const char* name : {"tcgen05.m128n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
                           "tcgen05.m128n24k32.kind_f8f6f4.f16.e3m2.e5m2",
                           "tcgen05.m128n8k32.kind_i8.s32.s8.u8", "tcgen05.m64n24k16.kind_f16.f32.f16.f16"}) {
    TileBatch batch = batch_of(name, {0, 0, 0});
    const std::vector<std::byte> wanted = batch.d;
    run_tcgen05(gpu_of(100), batch.instruction, batch.view(), {});
    EXPECT_EQ(batch.d, wanted) << name;
  }
}

TEST(Tcgen05Run, EveryForm) {
  struct Case {
    const char* form;
    std::int16_t m, n;
    bool sparse;
  };
  for (const Case& one : {Case{"plain", 64, 24, false},
                          {"plain", 128, 24, true},
                          {"ws", 128, 64, false},
                          {"ws", 64, 64, false},
                          {"ws", 32, 64, true},
                          {"pair", 128, 48, false},
                          {"pair", 256, 48, false},
                          {"pair", 256, 16, true},
                          {"tmem", 128, 24, false},
                          {"tmem", 128, 8, true}}) {
    Instruction inst = find_instruction(one.sparse ? "tcgen05.sp.m128n8k64.kind_f8f6f4.f32.e4m3.e2m1"
                                                   : "tcgen05.m128n8k32.kind_f8f6f4.f32.e4m3.e2m1")
                           .value();
    inst.m = one.m, inst.n = one.n;
    TileBatch batch = batch_of(inst, {0, kNegateA, 0, kScaleDZero});
    const std::vector<std::byte> wanted = batch.d;
    RunOptions how;
    how.form = one.form;
    launches = {};
    run_tcgen05(gpu_of(100), batch.instruction, batch.view(), how);
    EXPECT_EQ(batch.d, wanted) << one.form << " m " << one.m;
    EXPECT_EQ(launches.launched, 3);
  }
}

TEST(Tcgen05Run, SaysWhyNot) {
  const Instruction f16 = find_instruction("tcgen05.m128n16k16.kind_f16.f32.f16.f16").value(),
                    i8 = find_instruction("tcgen05.m128n16k32.kind_i8.s32.s8.s8").value();
  EXPECT_EQ(why_not_tcgen05(gpu_of(100), f16, 0), "");
  EXPECT_EQ(why_not_tcgen05(gpu_of(103), f16, kNegateA), "");
  EXPECT_EQ(why_not_tcgen05(gpu_of(100), i8, 0), "");
  for (const int capability : {90, 110, 120})
    EXPECT_NE(why_not_tcgen05(gpu_of(capability), f16, 0).find("10.0 and 10.3 only, GPU has"),
              std::string::npos);
  EXPECT_EQ(why_not_tcgen05(gpu_of(100), f16, 0, "pair"), "");
  EXPECT_NE(why_not_tcgen05(gpu_of(100), f16, 0, "ws").find("f16, ws: N: found 16"), std::string::npos);
  EXPECT_NE(why_not_tcgen05(gpu_of(100), f16, 0, "triple").find("form: found triple"), std::string::npos);
  EXPECT_NE(why_not_tcgen05(gpu_of(103), i8, 0).find("allowed: the target sm_100a"), std::string::npos);
  EXPECT_THROW(run_tcgen05(gpu_of(90), f16, TileBatch(f16, 1).view(), {}), EnvironmentError);
  RunOptions twice;
  twice.repetitions = 2;
  EXPECT_THROW(run_tcgen05(gpu_of(100), f16, TileBatch(f16, 1).view(), twice), EnvironmentError);
}

}  // namespace
}  // namespace mmaudit::device
