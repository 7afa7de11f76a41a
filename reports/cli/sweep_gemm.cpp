#include "sweep_gemm.hpp"

#include <fmt/format.h>

#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {

int sweep_gemm(const SweepGemmOptions& options) {
  sweeps::GemmOptions plan;
  if (!options.sizes.empty()) plan.sizes = options.sizes;
  if (options.quick) plan.rule.most = plan.rule.least;
  for (const int size : plan.sizes)
    if (const std::string why = sweeps::why_no_gemm_size(size); !why.empty())
      throw InputError(fmt::format("--size: {}", why));
  sweeps::GemmResult result = sweeps::run_gemms(require_device(), plan);
  result.version = kVersion;
  result.revision = kGitRevision;
  result.date = today();
  if (!options.out.empty())
    corpus::write_file_atomically(options.out, std::string_view(sweeps::gemm_json(result)));
  emit("-", options.json ? sweeps::gemm_json(result) : sweeps::gemm_text(result));
  return result.wrong() == 0 ? kAllGood : kMismatch;
}

}  // namespace mmaudit::cli
