#pragma once
// What a library chose for layers on one GPU, for every M of a range: a file of JSON lines.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::corpus {

/// From this M on, up to the next start, the library takes this choice.
struct DecisionStart {
  std::uint64_t m = 0;
  std::size_t choice = 0;
  bool operator==(const DecisionStart&) const = default;
};
struct LayerDecisions {
  GemmProblem layer;                  ///< its m means nothing
  std::vector<DecisionStart> starts;  ///< ascending, the first one at the file's first M
};
struct DecisionFile {
  std::string gpu, architecture, library;  ///< "NVIDIA H200", "hopper", "130100"
  std::uint64_t first_m = 1, last_m = 8192;
  /// Without grids, which depend on M; one without kernels: the library refuses.
  std::vector<LibraryCall> choices;
  std::vector<LayerDecisions> layers;
};

// Lines of the file, each with its line feed. A choice stands above the layers that take it.
std::string header_line(const DecisionFile& file);
std::string line_of_choice(const LibraryCall& choice);
std::string line_of(const LayerDecisions& layer);

/// What: all of a file. Errors: InputError. `cut`, where not null: a last line without its line feed, as a
/// stopped recorder leaves it, is left out, and the bytes of the whole lines go there.
DecisionFile read_decisions(std::string_view text, const std::string& file, std::size_t* cut = nullptr);

/// The starts that hold an M; null outside of the file's range.
const LibraryCall* choice_at(const DecisionFile& file, const LayerDecisions& layer, std::uint64_t m);

/// What a file says of a product.
struct Decided {
  LibraryCall call;
  bool recorded = false;  ///< else of the nearest layer that was recorded: a guess
  const LayerDecisions* layer = nullptr;
};
/// What: the choice for a product. Recorded: a layer of the file is this product but for M, scales of FP8
/// aside. Else of the layers that differ in N and K alone, and whose N and K are multiples of the same powers
/// of two up to 16, the one with the smallest |log2(N / N')| + |log2(K / K')|. Returns: nullopt, and in `why`
/// what is not recorded.
std::optional<Decided> decided(const DecisionFile& file, const GemmProblem& problem,
                               std::string* why = nullptr);

}  // namespace mmaudit::corpus
