#pragma once
// What the files of mutants/ share. Each defines one MutantGroup named after its file; CMake lists them.
#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

#include "mmaudit/dot.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::mutants {

/// The mutants of one instruction's datapath, collected.
class MutantList {
 public:
  MutantList(const Instruction& inst, const Datapath& datapath);

  const Instruction instruction;
  const Datapath original;
  const DotSpec spec;  ///< of the original

  /// Appends the datapath that `apply` changes, unless nothing changes.
  template <typename Change>
  void add(std::string_view rule, std::string change, Change&& apply, std::string invisible = {}) {
    Datapath datapath = original;
    apply(datapath);
    if (datapath == original) return;
    if (invisible.empty() && spec.unpacks()) invisible = why_same_steps(datapath);
    all_.push_back({std::string(rule), std::move(change), datapath, std::move(invisible)});
  }
  /// The same for a field that takes one of several values, each with its name.
  template <typename Field, typename Value, std::size_t Count>
  void add_each(std::string_view rule, const std::pair<Value, std::string_view> (&values)[Count],
                Field&& field) {
    for (const auto& [value, name] : values)
      add(rule, std::string(name),
          [&, chosen = value](Datapath& datapath) { std::invoke(field, datapath) = chosen; });
  }

  [[nodiscard]] std::vector<Mutant> take() { return std::move(all_); }

 private:
  /// Datapaths that differ only in how k falls into steps are equal when the steps are.
  [[nodiscard]] std::string why_same_steps(const Datapath& datapath) const;

  std::vector<Mutant> all_;
};

/// For add_each().
inline Rounding& rounding_of(Datapath& datapath) { return datapath.output.rounding; }

struct MutantGroup {
  int order;  ///< of listings
  void (*add_to)(MutantList&);
};

#include "mutant_declarations.hpp"

/// What the formats let reach the alignment.
struct Reach {
  int least_product = 0;    ///< least exponent of a non-zero product
  int largest_product = 0;  ///< largest exponent of a product
  int finest_product = 0;   ///< exponent of the last bit a product can have
  int finest = 0;           ///< the same with c, where c enters a step
  int zero_exponent = 0;    ///< largest exponent that a zero would bring if zeros counted
  bool addend_in_step = true;
  bool c_is_widened = false;     ///< a binary16 c, added in binary32
  bool exact_alignment = false;  ///< F reaches every bit that can decide the rounding of a step
  bool infinity = false;
  int subnormal_product = 0;  ///< largest exponent of a product with a factor the datapath sees as subnormal
  bool wide_subnormals = false;  ///< the operands the datapath sees can be subnormal
};
Reach reach_of(const DotSpec& spec);

}  // namespace mmaudit::mutants
