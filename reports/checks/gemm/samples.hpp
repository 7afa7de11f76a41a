#pragma once
// Recorded products against their plans.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/corpus/gemm_file.hpp"

namespace mmaudit::checks {

/// predict() with the datapath of this architecture. InputError where it has none, or the plan can't be
/// computed.
void predict_on(const Architecture& architecture, const GemmPlan& plan, const Matmul& product,
                const Product& by);

/// The bits of D where `rows` meet `columns`, as the plan says, from seeded operands; (rows, columns).
/// Errors: InputError where the architecture can't compute the plan.
std::vector<std::uint64_t> predicted_bits(const Architecture& architecture, const GemmProblem& problem,
                                          const GemmPlan& plan, std::uint64_t seed,
                                          const std::vector<std::uint64_t>& rows,
                                          const std::vector<std::uint64_t>& columns);

/// A sample of a product that ran: up to 4 rows and 4 columns, drawn by the seed of its operands, row 0 and
/// column 0 among them. `d`: (m, n) in storage width.
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
