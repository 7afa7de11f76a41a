#pragma once
// What the cases of mmaudit matmul share: a product by one instruction, and --scheme.
#include <string>

#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/matmul.hpp"
#include "tiles.hpp"

namespace mmaudit::cli {

struct MatmulOptions : TilesOptions {
  std::string output, simd, rounding, scale_layout = "rows", factor_a, factor_b, scheme;
  double alpha = 1, beta = 0;
  bool has_alpha = false, has_beta = false;
  std::uint64_t promote = 0, split_k = 1, memory = 0;
  unsigned threads = 0;
  bool tiles = false, plain = false, gpu = false, saturate = false, b_transposed = false;
};

struct Timing {
  double seconds = 0;
  double multiply_adds = 0;
};

mmaudit::MatmulOptions how_of(const MatmulOptions& options);
report::Report report_of(const Instruction& instruction, const std::string& by, const corpus::Tensor& d,
                         bool fast, const Timing& timing, const std::string& out);
/// B as (batch, K, N).
corpus::Operand load_b(const MatmulOptions& options, const FormatSpec& format, const Matmul& problem,
                       const CastRule* cast);
/// --scheme: binary32 or binary64 out of products of smaller formats.
int execute_scheme(const MatmulOptions& options, const Context& context);

}  // namespace mmaudit::cli
