#include "mmaudit/laws/cuda_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/fragment.hpp"
#include "mmaudit/model/ptx_text.hpp"

namespace mmaudit::laws {
namespace {

std::string array(const char* type, const char* name, const std::vector<std::uint64_t>& words) {
  std::string text = fmt::format("__device__ const {} {}[{}] = {{", type, name, words.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}0x{:x},", i % 8 == 0 ? "\n    " : " ", words[i]);
  return text + "\n};\n";
}

/// "{%4,%5}": so many operands of the statement, from `next` on.
std::string operands(int& next, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("%{}", next++));
  return fmt::format("{{{}}}", fmt::join(names, ","));
}

std::string bindings(const char* constraint, const char* name, std::size_t count) {
  std::vector<std::string> text;
  for (std::size_t i = 0; i < count; ++i) text.push_back(fmt::format("\"{}\"({}[{}])", constraint, name, i));
  return fmt::format("{}", fmt::join(text, ", "));
}

/// The immediates after scale-d: factors 1, and K-major where either is possible. Source: PTX ISA 9.0,
/// wgmma.mma_async.
std::string immediates(const Instruction& inst, bool a_in_registers) {
  const FormatSpec spec = spec_of(inst.a);
  if (spec.integer()) return "";
  if (spec.storage_bits != 16) return ", 1, 1";
  return a_in_registers ? ", 1, 1, 0" : ", 1, 1, 0, 0";
}

std::string mma_statement(const CudaProgram& program, std::size_t d, std::size_t a, std::size_t b) {
  const bool wide = spec_of(program.instruction.d).storage_bits == 64;
  const char* of = wide ? "l" : "r";
  int next = 0;
  const std::string to_d = operands(next, d), to_a = operands(next, a), to_b = operands(next, b);
  std::string text =
      fmt::format("  for (int step = 0; step < kSteps; ++step)\n    asm volatile(\"{} {}, {}, {}, {}",
                  ptx_text(program.instruction).text, to_d, to_a, to_b, to_d);
  if (!program.metadata.empty()) text += fmt::format(", %{}, 0", next);
  text += fmt::format(";\"\n                 : {}\n                 : {}, {}",
                      bindings(wide ? "+l" : "+r", "d", d), bindings(of, "of.a", a), bindings(of, "of.b", b));
  return text + (program.metadata.empty() ? ");\n" : ", \"r\"(of.metadata));\n");
}

/// One statement from fence to wait: the accumulators are in flight in between.
std::string wgmma_statement(const CudaProgram& program, std::size_t d) {
  int next = 0;
  const std::string to_d = operands(next, d);
  const std::string to_a = program.a_in_registers ? operands(next, 4) : fmt::format("%{}", next++);
  const std::string to_b = fmt::format("%{}", next++);
  std::string text = fmt::format(
      "  asm volatile(\"{{\\n\"\n"
      "               \".reg .pred accumulate, more;\\n\"\n"
      "               \".reg .b32 left;\\n\"\n"
      "               \"setp.eq.b32 accumulate, 0, 0;\\n\"\n"
      "               \"mov.b32 left, %{};\\n\"\n"
      "               \"AGAIN:\\n\"\n"
      "               \"wgmma.fence.sync.aligned;\\n\"\n"
      "               \"{} {}, {}, {},{} accumulate{};\\n\"\n"
      "               \"wgmma.commit_group.sync.aligned;\\n\"\n"
      "               \"add.s32 left, left, -1;\\n\"\n"
      "               \"setp.gt.s32 more, left, 0;\\n\"\n"
      "               \"@more bra AGAIN;\\n\"\n"
      "               \"wgmma.wait_group.sync.aligned 0;\\n\"\n"
      "               \"}}\"\n",
      next, ptx_text(program.instruction).text, to_d, to_a, to_b,
      program.metadata.empty() ? "" : fmt::format(" %{}, 0,", next + 1),
      immediates(program.instruction, program.a_in_registers));
  text += fmt::format("               : {}\n               : {}, \"l\"(of.b)", bindings("+r", "d", d),
                      program.a_in_registers ? bindings("r", "of.a", 4) : "\"l\"(of.a)");
  text += ", \"n\"(kSteps)";
  if (!program.metadata.empty()) text += ", \"r\"(of.metadata)";
  return text + "\n               : \"memory\");\n";
}

/// What a thread holds of the operands, and how it gets there.
std::string operands_text(const CudaProgram& program, std::size_t a, std::size_t b) {
  const bool wgmma = is_wgmma(program.instruction.op), shared_a = wgmma && !program.a_in_registers;
  std::string text = "struct Operands {\n";
  text += shared_a ? "  unsigned long long a;  // a descriptor of shared memory\n"
                   : fmt::format("  Word a[{}];\n", a);
  text += wgmma ? "  unsigned long long b;  // a descriptor of shared memory\n"
                : fmt::format("  Word b[{}];\n", b);
  if (!program.metadata.empty()) text += "  unsigned metadata;\n";
  text += "};\n\n";
  if (wgmma) {
    // Core matrices of 8 lines of 16 bytes; along k two of them, of the B of a sparse instruction four.
    text +=
        "__device__ unsigned long long descriptor(const unsigned* shared, int next_along_k, int "
        "next_along_mn) {\n"
        "  const unsigned long long address = __cvta_generic_to_shared(shared) & 0x3ffff;\n"
        "  return address >> 4 | (unsigned long long)(next_along_k >> 4) << 16 |\n"
        "         (unsigned long long)(next_along_mn >> 4) << 32;\n"
        "}\n\n";
  }
  text += "__device__ void load(Operands& of, int lane) {\n";
  const auto registers = [&](const char* member, const char* from, std::size_t count) {
    text += fmt::format("  for (int i = 0; i < {}; ++i) of.{}[i] = {}[i * kLanes + lane];\n", count, member,
                        from);
  };
  const auto shared = [&](const char* member, const char* from, std::size_t words, int cores) {
    text += fmt::format(
        "  __shared__ __align__(128) unsigned {0}[{1}];\n"
        "  for (int i = lane; i < {1}; i += kLanes) {0}[i] = {2}[i];\n"
        "  of.{3} = descriptor({0}, 128, {4});\n",
        member == std::string("a") ? "shared_a" : "shared_b", words, from, member, cores * 128);
  };
  if (shared_a)
    shared("a", "kA", program.a.size(), 2);
  else
    registers("a", "kA", a);
  if (wgmma)
    shared("b", "kB", program.b.size(), is_sparse(program.instruction.op) ? 4 : 2);
  else
    registers("b", "kB", b);
  if (!program.metadata.empty()) text += "  of.metadata = kMetadata[lane];\n";
  if (wgmma)
    text += "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n  __syncthreads();\n";
  return text + "}\n\n";
}

constexpr const char* kResult = R"(struct Result {
  unsigned taken;  // a block has the SM
  unsigned long long runs, wrong, wrong_on[4];
  unsigned first, warp, lane, number;  // the first wrong word
  Word found, expected;
};

)";

constexpr const char* kPlace =
    R"(  // Each block waits until one has the SM: so they fill the GPU, and one of them gets there.
  __shared__ int mine;
  if (threadIdx.x == 0) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    mine = sm == kSm && atomicExch(&result->taken, 1u) == 0 ? 1 : 0;
    const long long begin = clock64();
    while (atomicAdd(&result->taken, 0u) == 0 && clock64() - begin < 4000000000ll) __nanosleep(1000);
  }
  __syncthreads();
  if (mine == 0) return;
)";

constexpr const char* kLoop = R"(  Operands of;
  load(of, lane);
  for (unsigned long long i = 0; i < runs; ++i) {
    Word d[kRegisters];
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) d[r] = START;
    multiply(d, of);
    Word differs = 0;
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) differs |= DIFFERENCE;
    if (differs != 0 && atomicExch(&result->first, 1u) == 0) {
      result->warp = warp;
      result->lane = threadIdx.x % 32;
#pragma unroll
      for (int r = kRegisters - 1; r >= 0; --r)
        if ((DIFFERENCE) != 0) {
          result->number = r;
          result->found = d[r];
          result->expected = kD[r * kLanes + lane];
        }
    }
    const bool of_warp = __any_sync(~0u, differs != 0);
    if (of_warp && threadIdx.x % 32 == 0) atomicAdd(&result->wrong_on[warp % 4], 1ull);
    const bool of_run = TOGETHER;
    if (lane == 0) {
      result->runs += 1;
      result->wrong += of_run ? 1 : 0;
    }
    __syncwarp();
  }
}

)";

constexpr const char* kMain = R"(int main(int argc, char** argv) {
  const int gpu = argc > 1 ? std::atoi(argv[1]) : kGpu;
  unsigned long long left = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kRuns;
  const auto failed = [](cudaError_t error) {
    if (error != cudaSuccess) std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
  };
  Result* result = nullptr;
  int blocks = 1;
  if (failed(cudaSetDevice(gpu)) || failed(cudaMallocManaged(&result, sizeof(Result)))) return 3;
  *result = Result{};
BLOCKS  while (left > 0) {
    const unsigned long long now = left < 1000 ? left : 1000;
    result->taken = 0;
    run<<<blocks, kThreads>>>(result, now);
    if (failed(cudaGetLastError()) || failed(cudaDeviceSynchronize())) return 3;
TAKEN    left -= now;
  }
  std::printf("%llu of %llu runs were wrong\n", result->wrong, result->runs);
  for (int i = 0; i < 4; ++i)
    if (result->wrong_on[i] != 0) std::printf("sub-core (warp modulo 4) %d: %llu\n", i, result->wrong_on[i]);
  if (result->first != 0)
    std::printf("first: warp %u lane %u register %u: found 0x%llx, expected 0x%llx\n", result->warp, result->lane,
                result->number, (unsigned long long)result->found, (unsigned long long)result->expected);
  return result->wrong == 0 ? 0 : 1;
}
)";

constexpr const char* kBlocks = R"(  int multiprocessors = 0, each = 0;
  if (failed(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu)) ||
      failed(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, run, kThreads, 0)))
    return 3;
  blocks = multiprocessors * each;
)";

constexpr const char* kTaken = R"(    if (result->taken == 0) {
      std::fprintf(stderr, "no block ran on SM %d\n", kSm);
      return 3;
    }
)";

std::string with(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

std::string kernel_text(const CudaProgram& program, bool placed) {
  const bool wgmma = is_wgmma(program.instruction.op);
  std::string text = "__global__ void run(Result* result, unsigned long long runs) {\n";
  if (placed) text += kPlace;
  text += "  const int warp = threadIdx.x / 32;\n";
  if (placed && !wgmma) text += "  if (warp != kSubcore) return;\n";
  text += "  const int lane = threadIdx.x % kLanes;\n";
  std::string difference = "d[r] ^ kD[r * kLanes + lane]";
  if (!program.mask.empty()) difference = fmt::format("({}) & kMask[r * kLanes + lane]", difference);
  std::string loop = with(kLoop, "START", program.c.empty() ? "0" : "kC[r * kLanes + lane]");
  loop = with(loop, "DIFFERENCE", difference);
  return text + with(loop, "TOGETHER", wgmma ? "__syncthreads_or(of_warp ? 1 : 0) != 0" : "of_warp");
}

}  // namespace

std::string cuda_program(const CudaProgram& program) {
  const Instruction& inst = program.instruction;
  const auto lanes = static_cast<std::size_t>(lanes_of(inst));
  const bool wgmma = is_wgmma(inst.op), placed = program.multiprocessor >= 0;
  const std::size_t a = program.a.size() / lanes, b = program.b.size() / lanes, d = program.d.size() / lanes;
  const int capability =
      program.compute_capability == 0 ? inst.min_compute_capability : program.compute_capability;
  // Not -arch=sm_90a: that makes nvcc 13.0 compile for compute_90 as well, which has no wgmma.
  const std::string target = fmt::format("{}{}", capability, capability >= 90 ? "a" : "");
  std::string text;
  for (const std::string& line : program.title) text += "// " + line + "\n";
  text += fmt::format(
      "// Build: nvcc -gencode arch=compute_{0},code=sm_{0} FILE.cu\n// Run: ./a.out [GPU] [RUNS]. Exit code "
      "0: "
      "no run was wrong, 1: some were, 3: it could not run.\n#include <cstdio>\n#include <cstdlib>\n\n",
      target);
  const char* word = spec_of(inst.d).storage_bits == 64 ? "unsigned long long" : "unsigned";
  text += fmt::format(
      "using Word = {};\nconstexpr int kGpu = {}, kThreads = {}, kLanes = {}, kRegisters = {}, kSteps = {};\n"
      "constexpr unsigned long long kRuns = {};\n",
      word, program.gpu, placed ? 128 : lanes, lanes, d, program.steps, program.runs);
  if (placed) text += fmt::format("constexpr int kSm = {};\n", program.multiprocessor);
  if (placed && !wgmma) text += fmt::format("constexpr int kSubcore = {};\n", program.subcore);
  text += wgmma ? "\n// Words of shared memory, or of registers: register r of lane l at r * kLanes + l.\n"
                : "\n// Words of registers: register r of lane l at r * kLanes + l.\n";
  text += array("Word", "kA", program.a) + array("Word", "kB", program.b);
  if (!program.metadata.empty()) text += array("unsigned", "kMetadata", program.metadata);
  if (!program.c.empty()) text += array("Word", "kC", program.c);
  text += array("Word", "kD", program.d);
  if (!program.mask.empty()) text += array("Word", "kMask", program.mask);
  text += fmt::format("\n{}", operands_text(program, a, b));
  text += "__device__ __forceinline__ void multiply(Word (&d)[kRegisters], const Operands& of) {\n" +
          (wgmma ? wgmma_statement(program, d) : mma_statement(program, d, a, b)) + "}\n\n";
  text += kResult;
  text += kernel_text(program, placed);
  return text + with(with(kMain, "BLOCKS", placed ? kBlocks : ""), "TAKEN", placed ? kTaken : "");
}

}  // namespace mmaudit::laws
