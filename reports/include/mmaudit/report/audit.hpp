#pragma once
// The experiments of an audit. Each takes a backend, so the same code measures the model and the hardware,
// and leaves out the instructions that the backend lacks.
#include <optional>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// What: element-wise errors of multiplication, inner-product addition and accumulation for every data type;
/// the cells that Sun et al. 2023 print (Tables XII to XV) carry the printed value. Shapes: one batch per
/// operation; the published experiments have one round per tile, at element (0, 0). Range: 999 or 1000 rounds
/// of N(0, 1), seed 123456, the draws of the paper's programs.
std::vector<ProfileCell> elementwise_profile(const Backend& backend);

struct ChainOptions {
  int rounds = 1000;
  int max_length = 12;
  /// None: every_length for FP16, whose last finite length depends on the draws; one_chain for the others.
  std::optional<ChainDraws> draws = std::nullopt;
  std::vector<Format> dtypes = {Format::tf32, Format::bf16, Format::f16};
};

/// What: D of one m16n8k8 is converted to the type of A and becomes the next A, with a new random B, C = 0;
/// the relative L2 error against FP32 on the CPU, divided by the norm of the tensor-core result (Sun et al.
/// 2023, eq. 1). Range: N(0, 1), seed 123456. A length at which a round holds an infinity or a NaN has no
/// error, and with every_length the curve ends there, as the paper's programs do.
std::vector<ChainCurve> chain_matmul(const Backend& backend, const ChainOptions& options = {});

/// The facts of every format of format.hpp.
std::vector<FormatFacts> format_facts();

/// One entry per type of A and B, type of D and unit; the accumulator in words from the datapaths of
/// `architecture`.
std::vector<DtypeSummary> summarise(const std::vector<ProfileCell>& cells, const Architecture& architecture);

/// Everything above on one backend. The caller fills in provenance and verification, and may add to
/// not_covered.
AuditResult run_audit(const Architecture& architecture, const Backend& backend,
                      const ChainOptions& chain = {});

/// The "schema" field is "mmaudit.audit/2" (1 had no "gemm"); numbers that do not exist are null.
std::string to_json(const AuditResult& result);
Report report_of(const AuditResult& result);

}  // namespace mmaudit::report
