#pragma once
// Running laws: many tiles at once, one failing dot product shrunk.
#include <functional>
#include <optional>

#include "mmaudit/laws/law.hpp"

namespace mmaudit::laws {

struct Failure {
  std::string law;
  Instruction instruction;
  Dot dot;                                ///< as small as the shrinker found it
  std::uint64_t found = 0, expected = 0;  ///< raw bits of D
  int shrunk_from = 0;                    ///< non-zero products before
};

struct LawResult {
  const Law* law = nullptr;
  Instruction instruction;
  std::string skipped;  ///< why the law does not apply here, or why the backend can't run it
  std::uint64_t dots = 0, judged = 0, broken = 0;
  double reached = 0, to_reach = 0;
  std::optional<Failure> failure;

  /// No element breaks it, some were judged; an exhibit was seen; a bound was reached.
  [[nodiscard]] bool good() const;
  /// One clause when not good.
  [[nodiscard]] std::string complaint() const;
};

struct LawOptions {
  std::uint64_t seed = 0;
  std::uint64_t dots = 100'000;    ///< at least so many dot products of the base tiles
  std::uint64_t launch = 100'000;  ///< about so many of them at once
  std::vector<Dot> first{};        ///< tried before any generated one (known regressions)
  bool until_broken = false;       ///< stop at the first launch that breaks it, and shrink nothing
};

LawResult check_law(const Law& law, const Subject& subject, const Backend& backend,
                    const LawOptions& options);

/// The law over tiles whose D is known, of the subject's instruction: nothing is run or shrunk. Skipped where
/// the law compares with other dot products or does not apply to these.
LawResult check_recorded(const Law& law, const Subject& subject, std::span<const Tile> tiles);

/// Every instruction of an architecture with its datapath; wgmma and tcgen05 with the least n.
std::vector<Subject> subjects_of(const Architecture& architecture);

struct LawRun {
  std::function<LawOptions(const Law&, const Subject&)> options;  ///< called from several threads at once
  std::function<void(const LawResult&)> done = nullptr;           ///< told of every result, one at a time
  unsigned threads = 0;                                           ///< 0: as many as there are cores
};

/// Every law on every subject, spread over threads: a vector per law, its results in the order of the
/// subjects. Throws what a backend threw first.
std::vector<std::vector<LawResult>> check_laws(std::span<const Law* const> laws,
                                               std::span<const Subject> subjects, const Backend& backend,
                                               const LawRun& how);

/// What one dot product by itself says to `law`; nullopt: silent.
std::optional<LawVerdict> judge_alone(const Law& law, const Subject& subject, const Backend& backend,
                                      const Dot& dot, std::uint64_t* found = nullptr);

/// The smallest dot product found that still breaks the law: fewest non-zero products, then least
/// significands and exponents nearest to zero.
Failure shrink(const Law& law, const Subject& subject, const Backend& backend, const Dot& dot);

}  // namespace mmaudit::laws
