#pragma once
// One dot product step by step: what each addend brings, what alignment takes from it, how the sum is
// rounded. Built from the functions of the model, so that both always agree.
#include <cstdint>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/dot_case.hpp"

namespace mmaudit {

/// significand * 2^exponent, exactly.
struct Dyadic {
  std::int64_t significand = 0;
  int exponent = 0;
};

struct ExplainedAddend {
  int k = -1;                  ///< position in the instruction's depth; -1: the addend c or the running sum
  std::uint64_t a = 0, b = 0;  ///< raw bits of the factors; for c, `a` holds its bits
  int count = 1;               ///< products from k on: more than one where groups of them are added first
  Dyadic products;             ///< their exact sum before the scales; of a group only
  Kind kind = Kind::finite;    ///< nan or infinite: the rest is meaningless
  bool in_maximum = false;     ///< took part in the exponent maximum
  int exponent = 0;            ///< what it brought to the maximum
  Dyadic exact;                ///< the exact product (or sum of the group's) with its scales, or c
  Dyadic kept;                 ///< after alignment
  Dyadic lost;                 ///< exact - kept; -kept where a datapath that floors made a unit of an addend
                               ///< over 61 bits below it, and 64 bits don't hold both
};

struct ExplainedStep {
  FormatSpec addend_format;  ///< format of the addend that entered (c, or the sum of the step before)
  std::vector<ExplainedAddend> addends;
  int maximum = 0;             ///< alignment exponent E
  bool floor_decided = false;  ///< no addend reached the datapath's floor: E is the floor
  bool special = false;        ///< NaN or infinity among the inputs: no sum was formed
  Dyadic sum;                  ///< exact sum of the aligned addends
  std::uint64_t result = 0;    ///< bits of the output format
  std::uint64_t total = 0;     ///< the running sum after it; `result` unless each_add
};

/// binary64 chain: one fused multiply-add.
struct ExplainedFma {
  int k = 0;
  std::uint64_t a = 0, b = 0, before = 0, after = 0;
};

/// One product of a staged datapath. Factors have at most 24 significand bits, so binary64 holds it exactly.
struct ExplainedTerm {
  int k = 0;
  std::uint64_t a = 0, b = 0;
  double product = 0;    ///< of the factors as stored
  double taken = 0;      ///< what the step adds: 0 where it is flushed, an infinity beyond binary32, ...
  bool flushed = false;  ///< a factor is subnormal and read as zero
};

/// A sum inside a step of a staged datapath.
struct ExplainedPartial {
  std::vector<int> ks;  ///< the k of its products
  int exponent = 0;     ///< two_stage_dot_add: the largest of its products
  Dyadic sum;        ///< exact: two_stage_dot_add of what is kept of the products, rounded_tree of two terms
  bool fits = true;  ///< 64 bits hold `sum`; else it is 0
  std::uint64_t bits = 0;  ///< rounded_tree: the rounded sum, raw bits of the output format
};

/// How a step of a staged datapath ends.
struct ExplainedTotal {
  int exponent = 0;      ///< two_stage_dot_add, as the next three: the larger of the products' and c's
  Dyadic products;       ///< the partial sums, aligned and added
  Dyadic kept_products;  ///< of them after alignment with c
  Dyadic kept_addend;    ///< of c after alignment
  Dyadic sum;        ///< exact: of the two; rounded_tree: of c and the last partial; exact_dot_add: of all
  bool fits = true;  ///< 64 bits hold `sum`; else it is 0
  Dyadic kept;       ///< two_stage_dot_add: sum_fraction_bits of it below its leading bit: what is rounded
};

/// One step of a staged datapath (staged_dot.hpp): its products in evaluation order and the running sum, raw
/// bits.
struct ExplainedStage {
  std::vector<ExplainedTerm> products;
  std::uint64_t before = 0, after = 0;
  bool flushed = false;  ///< `before` is subnormal and read as zero
  bool special = false;  ///< NaN or infinity among the inputs: no sum is formed. rounded_tree: false
  /// rounded_tree: sums of two, then of two of those, ...; two_stage_dot_add: of every partial_sums-th
  /// product.
  std::vector<ExplainedPartial> partials;
  ExplainedTotal total;  ///< unless NaN or infinity take part
};

/// integer: one product and the sum after it, both exact.
struct ExplainedProduct {
  int k = 0;
  std::uint64_t a = 0, b = 0;
  std::int64_t x = 0, y = 0;  ///< what a and b are read as
  std::int64_t product = 0, sum = 0;
  bool clamped = false;  ///< a step ended here and cut the sum
};

struct Explanation {
  DotSpec spec;
  std::vector<std::uint64_t> scale_a, scale_b;  ///< scale bytes, block-scaled only
  std::vector<ExplainedStep> steps;
  std::vector<ExplainedFma> fmas;
  std::vector<ExplainedProduct> products;
  std::vector<ExplainedStage> stages;
  bool final_add = false;    ///< c was added after the steps
  bool each_add = false;     ///< every step was by itself, and added to c and the steps before
  std::uint64_t addend = 0;  ///< bits of c
  std::uint64_t result = 0;  ///< bits of D
};

/// What: the trace of D = sum a_k*b_k + c. Shapes: a and b hold spec.k raw bit patterns. Errors: none.
/// `modifiers` as in TileView. The result equals dot()'s for every input. Block-scaled: `scale_a` and
/// `scale_b` hold the scale bytes of the row and the column; null: every scale is 1.
Explanation explain(const DotSpec& spec, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c,
                    unsigned modifiers, const std::uint8_t* scale_a = nullptr,
                    const std::uint8_t* scale_b = nullptr);

/// The same for a whole case: of a sparse instruction as the dense dot product of the elements that meet.
Explanation explain(const Instruction& instruction, const Datapath& datapath, const DotCase& dot);

}  // namespace mmaudit
