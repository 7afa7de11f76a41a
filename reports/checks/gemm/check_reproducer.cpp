// A wrong product as programs that need nothing of ours.
#include <fmt/format.h>

#include "gemm/check.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::checks {
namespace {

/// What torch and CUDA call a format, and the bits of 1.
struct Names {
  Format format;
  const char *torch, *cuda, *word, *compute, *one;
};
constexpr Names kNames[] = {
    {Format::f16, "float16", "CUDA_R_16F", "uint16_t", "CUBLAS_COMPUTE_32F", "0x3C00"},
    {Format::bf16, "bfloat16", "CUDA_R_16BF", "uint16_t", "CUBLAS_COMPUTE_32F", "0x3F80"},
    {Format::f32, "float32", "CUDA_R_32F", "uint32_t", "CUBLAS_COMPUTE_32F", "0x3F800000"},
    {Format::tf32, "float32", "CUDA_R_32F", "uint32_t", "CUBLAS_COMPUTE_32F_FAST_TF32", "0x3F800000"},
    {Format::e4m3, nullptr, "CUDA_R_8F_E4M3", "uint8_t", "CUBLAS_COMPUTE_32F", "0x38"}};

const Names* names_of_format(Format format) {
  for (const Names& each : kNames)
    if (each.format == format) return &each;
  return nullptr;
}

constexpr const char* kPython = R"(# {}: {}
# A and B are 0 but for ones in K from {} to {}, so every element of D is {}.
import torch
print(torch.cuda.get_device_name(), torch.__version__, torch.version.cuda)
torch.backends.cuda.preferred_blas_library("{}")
torch.backends.cuda.matmul.allow_tf32 = {}
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = {}
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = {}
a = torch.zeros({}, device="cuda", dtype=torch.{}){}
b = torch.zeros({}, device="cuda", dtype=torch.{}){}
a[:, {}:{}] = 1
b[{}:{}] = 1
d = (a @ b).float()
print("D has", torch.unique(d).tolist(), "and should have", [{}])
raise SystemExit(0 if (d == {}).all() else "WRONG")
)";

constexpr const char* kCuda = R"(// {0}: {1}
// A and B are 0 but for ones in K from {2} to {3}, so every element of D is {4}.
// nvcc fault.cu -o fault -lcublasLt && ./fault
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(x) if ((x) != 0) {{ std::printf("line %d: status %d\n", __LINE__, (int)(x)); std::exit(2); }}
int main() {{
  const int64_t m = {5}, n = {6}, k = {7}, lda = {8}, ldb = {9}, ldd = {10};
  const bool ta = {11}, tb = {12};
  const int algorithm = {13};
  std::vector<{14}> a((ta ? k : m) * lda), b((tb ? n : k) * ldb);
  for (int64_t i = {2}; i <= {3}; ++i) {{
    for (int64_t j = 0; j < m; ++j) a[ta ? i * lda + j : j * lda + i] = {15};
    for (int64_t j = 0; j < n; ++j) b[tb ? j * ldb + i : i * ldb + j] = {15};
  }}
  void *da, *db, *dd, *space;
  const size_t bytes = {16}, element = {17};
  CHECK(cudaMalloc(&da, a.size() * sizeof a[0]));
  CHECK(cudaMalloc(&db, b.size() * sizeof b[0]));
  CHECK(cudaMalloc(&dd, m * ldd * element));
  CHECK(cudaMalloc(&space, bytes ? bytes : 1));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof a[0], cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof b[0], cudaMemcpyHostToDevice));
  cublasLtHandle_t lt;
  CHECK(cublasLtCreate(&lt));
  cublasLtMatmulDesc_t desc;
  CHECK(cublasLtMatmulDescCreate(&desc, {18}, CUDA_R_32F));
  // Row-major A B: the column-major library multiplies the transposes, B's first.
  const cublasOperation_t of_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N, of_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
  CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b));
  CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a));
  const int8_t fast = {19};
  if (fast) CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
  cublasLtMatrixLayout_t lb, la, ld;
  CHECK(cublasLtMatrixLayoutCreate(&lb, {20}, tb ? k : n, tb ? n : k, ldb));
  CHECK(cublasLtMatrixLayoutCreate(&la, {20}, ta ? m : k, ta ? k : m, lda));
  CHECK(cublasLtMatrixLayoutCreate(&ld, {21}, n, m, ldd));
  cublasLtMatmulPreference_t preference;
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
  std::vector<cublasLtMatmulHeuristicResult_t> list(algorithm + 1);
  int found = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(lt, desc, lb, la, ld, ld, preference, algorithm + 1, list.data(), &found));
  if (found <= algorithm) {{ std::printf("only %d algorithms\n", found); return 2; }}
  const float alpha = 1, beta = 0;
  CHECK(cublasLtMatmul(lt, desc, &alpha, db, lb, da, la, &beta, dd, ld, dd, ld, &list[algorithm].algo, space, bytes, 0));
  std::vector<unsigned char> d(m * ldd * element);
  CHECK(cudaMemcpy(d.data(), dd, d.size(), cudaMemcpyDeviceToHost));
  const auto value = [&](int64_t at) -> double {{
    uint32_t x = 0;
    __builtin_memcpy(&x, &d[at * element], element);
    if ({22}) {{ const int e = x >> 10 & 31, f = x & 1023; return e ? std::ldexp(1024 + f, e - 25) : std::ldexp(f, -24); }}
    if (element == 2) x <<= 16;
    float number;
    __builtin_memcpy(&number, &x, 4);
    return number;
  }};
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) wrong += std::fabs(value(i * ldd + j)) != {4};
  std::printf("cublasLt %zu: %lld of %lld elements are not {4}; D[0] is %g\n", cublasLtGetVersion(), (long long)wrong,
              (long long)(m * n), value(0));
  return wrong ? 1 : 0;
}}
)";

/// The elements of K that are ones: such as are wrong, last, in a sum that every format of D has.
struct Ones {
  std::uint64_t first, last;
  explicit Ones(const Plain& plain) {
    constexpr std::uint64_t kMost = 64;
    const exact::KRange& range = plain.wrong_k.back();
    last = std::min(range.last, range.first + kMost - 1);
    first = last + 1 >= kMost ? last + 1 - kMost : 0;
  }
  [[nodiscard]] std::uint64_t count() const { return last + 1 - first; }
};

std::string torch_program(const Plain& plain, const std::string& library, const std::string& what) {
  const GemmProblem& x = plain.problem;
  const Ones ones(plain);
  const auto shape = [](std::uint64_t rows, std::uint64_t columns, bool transposed) {
    return transposed ? fmt::format("{}, {}", columns, rows) : fmt::format("{}, {}", rows, columns);
  };
  const char* const truth = x.reduced_reduction ? "True" : "False";
  const char* const type = names_of_format(x.type)->torch;
  return fmt::format(kPython, name_of(x) + " by cuBLASLt " + library, what, ones.first, ones.last,
                     ones.count(), names::kGemmApi[static_cast<std::size_t>(x.api)],
                     x.type == Format::tf32 ? "True" : "False", truth, truth, shape(x.m, x.k, x.transposed_a),
                     type, x.transposed_a ? ".t()" : "", shape(x.k, x.n, x.transposed_b), type,
                     x.transposed_b ? ".t()" : "", ones.first, ones.last + 1, ones.first, ones.last + 1,
                     ones.count(), ones.count());
}

std::string library_program(const Plain& plain, const std::string& library, const std::string& what) {
  const GemmProblem& x = plain.problem;
  const Names *const type = names_of_format(x.type), *const of_d = names_of_format(output_of(x));
  if (type == nullptr || of_d == nullptr) return {};
  const Ones ones(plain);
  const auto ld = [](std::uint64_t given, std::uint64_t tight) { return given == 0 ? tight : given; };
  const auto yes = [](bool given) { return given ? "true" : "false"; };
  return fmt::format(kCuda, name_of(x) + " by cuBLASLt " + library, what, ones.first, ones.last, ones.count(),
                     x.m, x.n, x.k, ld(x.lda, x.transposed_a ? x.m : x.k),
                     ld(x.ldb, x.transposed_b ? x.k : x.n), ld(x.ldd, x.n), yes(x.transposed_a),
                     yes(x.transposed_b), x.algorithm, type->word, type->one, x.workspace,
                     spec_of(output_of(x)).storage_bytes(), type->compute, x.fast_accum ? 1 : 0, type->cuda,
                     of_d->cuda, yes(output_of(x) == Format::f16));
}

}  // namespace

std::map<std::string, std::string> reproducers_of(const GemmFault& fault, const std::string& library) {
  const std::string& what = fault.finding.faults.front();
  std::map<std::string, std::string> out;
  if (fault.torch) out[".py"] = torch_program(*fault.torch, library, what);
  if (fault.library) out[".cu"] = library_program(*fault.library, library, what);
  std::erase_if(out, [](const auto& each) { return each.second.empty(); });
  return out;
}

}  // namespace mmaudit::checks
