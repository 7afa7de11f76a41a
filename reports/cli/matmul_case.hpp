#pragma once
// The cases of mmaudit matmul: tiles of one instruction, which a GPU computes too, a product, and --scheme.
#include <string>

#include "common.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/matmul.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {

/// Values of --on.
inline constexpr const char *kOnModel = "model", *kOnGpu = "gpu", *kOnBoth = "both";

struct TilesOptions {
  std::string architecture, instruction, out, on = kOnModel;
  corpus::TileFiles files;
  ModifierOptions modifiers;
  Outputs outputs;
};

/// What: D = A * B + C of every tile, by the model or on the GPU; with --on both what they differ in.
/// Returns: the exit code.
int compute_tiles(const TilesOptions& options, const Context& context);

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
