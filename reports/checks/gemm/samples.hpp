#pragma once
// Recorded products against their plans.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/gemm_epilogue.hpp"

namespace mmaudit::checks {

/// What: D, (m, n) in storage width, of `rows` x `columns` elements as the plan and the problem's epilogue
/// say; the sizes of the problem but for k mean nothing. Errors: InputError where the architecture can't
/// compute the plan.
std::vector<std::byte> predicted_by(const Architecture& architecture, const GemmProblem& problem,
                                    const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                                    const GemmBuffers& operands, const Product& by);

/// The bits of D of a sample, as the plan says: (matrices, rows, columns). Errors: InputError where the
/// architecture can't compute the plan.
std::vector<std::uint64_t> predicted_bits(const Architecture& architecture, const corpus::GemmSample& sample,
                                          const GemmPlan& plan);

/// A sample of a product that ran: up to 4 rows and 4 columns, drawn by the seed of its operands, row 0 and
/// column 0 among them; of a batch the first and the last product. `d`: (batch, m, n) in storage width.
corpus::GemmSample sample_of(const GemmProblem& problem, const LibraryCall& call, std::uint64_t seed,
                             const std::vector<std::byte>& d);

struct SampleOutcome {
  std::optional<GemmPlan> plan;
  std::string why;  ///< there is no plan
  std::uint64_t elements = 0, wrong = 0;
};
/// `architecture`: of the GPU that the sample was recorded on.
SampleOutcome check_sample(const Architecture& architecture, const corpus::GemmSample& sample);

}  // namespace mmaudit::checks
