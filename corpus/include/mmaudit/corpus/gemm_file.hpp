#pragma once
// Products, plans and what libraries did as JSON, and the log that cuBLASLt writes.
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/gemm_problem.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::corpus {

// Readers throw InputError of one line, "<where>: <field>: found ..., allowed: ...".

Json to_json(const GemmProblem& problem);
GemmProblem gemm_problem_of(const Json& json, const std::string& where);
Json to_json(const GemmPlan& plan);
GemmPlan gemm_plan_of(const Json& json, const std::string& where);
Json to_json(const LibraryCall& call);
LibraryCall library_call_of(const Json& json, const std::string& where);

/// A product of seeded operands (gen::gemm_operand), and the bits of D where some rows meet some columns. Row
/// i of product p of a batch has the operands of row p * m + i; columns and C likewise.
struct GemmSample {
  GemmProblem problem;
  LibraryCall call;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> matrices = {0};  ///< of a batch
  std::vector<std::uint64_t> rows, columns;
  std::vector<std::uint64_t> d;  ///< bits of matrices.size() * rows.size() * columns.size(), row by row
};
/// One per line.
std::vector<GemmSample> read_gemm_samples(std::string_view text, const std::string& file);
std::string line_of(const GemmSample& sample);

/// What: the problems of a text: one JSON object per line, or the log of CUBLASLT_LOG_LEVEL=5, of which the
/// lines of cublasLtMatmul and of cublasGemmEx' own product count, each problem once. `left_out`: one line
/// that counts the products of the log that no GemmProblem can say, empty where there are none. Errors:
/// InputError, also where there is no problem.
std::vector<GemmProblem> read_gemm_problems(std::string_view text, const std::string& file,
                                            std::string* left_out = nullptr);

}  // namespace mmaudit::corpus
