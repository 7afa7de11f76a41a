#pragma once
// Plans that a product may have: instructions of its formats, and what the tree of its sums allows.
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/probe/reveal.hpp"

namespace mmaudit::probe {

/// An instruction of an architecture.
struct Candidate {
  std::string architecture;
  Instruction instruction;
  Datapath datapath;
  Evidence evidence;
  bool scalar = false;  ///< no instruction: a chain of fma
};

/// The best known ones first.
std::vector<Candidate> candidates_of(const UnknownGemm& gemm,
                                     std::span<const Architecture* const> architectures);

/// Lanes of which the first one is a sum of the tree.
struct Lanes {
  std::uint64_t count = 0, tile = 0;
  std::uint64_t promote = 0;  ///< 0: the lane adds no sums
};

/// Lengths that promotion may have, slices, and lanes: what the sums of the tree allow.
struct Hints {
  std::set<std::uint64_t> promote{0};
  std::vector<std::vector<KRange>> slices;
  std::map<std::uint64_t, std::vector<Lanes>> lanes;  ///< by the end of the first slice
};

Hints hints_of(const SumTree& tree, std::uint64_t k);

std::vector<GemmPlan> plans_of(const Candidate& candidate, const UnknownGemm& gemm, const Hints& hints);

/// How C may be added.
struct Addition {
  CPlace place = CPlace::epilogue;
  EpilogueRule epilogue = EpilogueRule::fused_sum;
};

/// f16 and bf16, which sums may be kept in.
inline bool is_short(Format format) { return format == Format::f16 || format == Format::bf16; }

/// The plan with every rounding and format of sums: the tree shows none.
std::vector<GemmPlan> roundings_of(const GemmPlan& plan, const std::vector<Addition>& additions);

}  // namespace mmaudit::probe
