#pragma once
// Two traces of runs (mmaudit.torch.trace): which operation is the first to give other bits from equal
// inputs, and why.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/corpus/decision_file.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/gemm_problem.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

inline constexpr std::string_view kTraceSchema = "mmaudit.trace/1", kTraceDiffSchema = "mmaudit.trace.diff/1";
inline constexpr std::size_t kNone = ~std::size_t{0};

/// Of a row of a tensor: everything that is not the row's entry of the batch and its token.
struct TraceRow {
  std::uint64_t hash = 0;
  float norm = 0, sketch = 0;  ///< the root of the sum of squares; the sum with fixed signs
};

struct TraceTensor {
  std::vector<std::uint64_t> shape, stride;  ///< stride: empty where there is no gap
  std::string dtype, name;                   ///< name: of a parameter or a buffer
  std::string value;                         ///< of a tensor of one element
  std::size_t made = kNone, of = kNone;      ///< the operation that made it; the tensor that it is a view of
  std::size_t at = kNone;                    ///< of its first row; none: it has one hash
  std::uint64_t hash = 0, batch = 0, tokens = 0;
  std::uint64_t transposed = 0;          ///< the hash of the transpose of a square matrix; 0: not known
  bool hashed = false, context = false;  ///< context: tokens count from the first position, as in a KV cache
};

/// An operation that is one product of two matrices.
struct TraceGemm {
  GemmProblem problem;
  std::optional<GemmPlan> plan;  ///< of an emulation; else kernels say it
  std::string architecture, scaling;
  std::vector<std::uint64_t> rows, columns;  ///< of the values that the trace has
};

struct TraceOperation {
  std::string module, kind, name;  ///< "module": what a module gives
  std::size_t call = kNone;        ///< none: outside of the module's calls
  std::size_t flags = kNone;
  std::vector<std::size_t> in, out;
  Json arguments;
  bool by_rows = false;   ///< a row of the result needs no other rows
  bool compiled = false;  ///< the module is a compiled region
  std::optional<TraceGemm> gemm;
  std::vector<KernelLaunch> kernels;
};

inline constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 22;  ///< of all calls, which a diff lists

/// A call of the whole module: tokens `past`, `past` + 1, ... of every entry of a batch.
struct TraceCall {
  std::uint64_t batch = 1, tokens = 0, past = 0;
};

struct Trace {
  std::string file;
  std::map<std::string, std::string> machine;
  std::vector<Json> flags;
  std::vector<TraceCall> calls;
  std::vector<TraceTensor> tensors;
  std::vector<TraceOperation> operations;
  std::vector<TraceRow> rows;
  std::map<std::string, corpus::Tensor> values;  ///< "12.a": of operation 12
  /// What cuBLAS decides on the GPU of the trace; null: not recorded.
  const corpus::DecisionFile* decisions = nullptr;
};
/// Whether a trace has products whose kernels it does not name, on a GPU.
bool needs_decisions(const Trace& trace);
/// Whether a file of decisions is of the GPU and the cuBLAS of a trace.
bool decides(const corpus::DecisionFile& file, const Trace& trace);
/// CRC-32 of names, types, shapes and data of the tensors that have data, in the order of their data.
std::uint32_t trace_checksum(const corpus::SafetensorsFile& file);
/// Errors: InputError "<file>: ...: found X, allowed: Y", also for a file that was cut or damaged.
Trace read_trace(const std::string& file);
/// The same of a file that was read, whose checksum is not asked.
Trace trace_of(corpus::SafetensorsFile read, const std::string& file);

/// One token of a trace: its entry of the batch and its position, the tokens of earlier calls counted.
struct TraceToken {
  std::uint64_t entry = 0, position = 0;
  bool operator==(const TraceToken&) const = default;
};
/// A token of A and the same one of B.
struct TokenPair {
  TraceToken a, b;
};
/// The row of a tensor that belongs to a token, in a call; null: it has none.
const TraceRow* row_of(const Trace& trace, const TraceTensor& tensor, std::size_t call, TraceToken token);

struct TraceDiffOptions {
  std::vector<std::string> rows;  ///< "4=0", "0:16=4:20", "1.0:16=0.0:16"; empty: tokens of the same place
  std::vector<std::string> maps;  ///< "model.=transformer.": names of A's modules that begin so are B's
};

/// How a cause is known.
enum class TraceProof : std::uint8_t { suspected, seen, proven };
inline constexpr std::string_view kTraceProof[] = {"suspected", "seen", "proven"};

struct TraceCause {
  std::string kind;  ///< "gemm plan", "argument", "dtype", ...
  std::string text;  ///< "slices 4 -> 2"
  TraceProof proof = TraceProof::suspected;
};

/// An operation whose inputs are equal and whose results are not, or a tensor that nothing seen made.
struct TraceFinding {
  std::size_t a = 0, b = 0;  ///< operations
  std::string what;          ///< empty: the operation; else the tensor
  std::uint64_t rows = 0, differing = 0;
  TraceCause cause;
  std::vector<TokenPair> tokens;  ///< the first few that differ
};

/// How far the results of a module are apart.
struct TraceGrowth {
  std::string module;
  std::uint64_t rows = 0, differing = 0;
  std::optional<double> relative;  ///< Frobenius, estimated from sketches; none: not finite
};

/// Operations that differ in how they are computed, too, but whose inputs differ already.
struct TraceFurther {
  TraceCause cause;
  std::uint64_t operations = 0;
  std::string first;
};

struct TraceDiff {
  const Trace* a = nullptr;
  const Trace* b = nullptr;
  std::uint64_t operations = 0, tokens = 0;  ///< compared
  std::uint64_t only_a = 0, only_b = 0;      ///< operations without a partner
  std::vector<TraceFinding> findings;        ///< in the order of A
  std::vector<TraceFurther> further;
  std::vector<TraceGrowth> growth;
  std::vector<std::string> machine;  ///< "driver: 570.1 -> 580.2"
  std::string gpus;                  ///< that both have not one kind of GPU; empty: they have
  std::string unseen;  ///< the first operation with other results where no finding says why; empty: none
  [[nodiscard]] bool same() const { return findings.empty() && unseen.empty(); }
};
/// Errors: InputError for rows or names that the traces lack, and where nothing can be compared.
TraceDiff diff_traces(const Trace& a, const Trace& b, const TraceDiffOptions& options);
report::Report report_of(const TraceDiff& diff);

/// Why an operation of both traces gives other bits from equal inputs. `values`: what the traces kept is
/// predicted, too.
TraceCause cause_of(const Trace& a, const TraceOperation& in_a, const Trace& b, const TraceOperation& in_b,
                    bool values);
/// What differs between the machines of both.
std::vector<std::string> machine_changes(const Trace& a, const Trace& b);

}  // namespace mmaudit::checks
