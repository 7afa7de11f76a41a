#pragma once
// One side of a pair of operations, as the causes of their difference look at it.
#include <fmt/format.h>

#include "trace/trace.hpp"

namespace mmaudit::checks {

/// An operation of one of both traces.
struct Side {
  const Trace& trace;
  const TraceOperation& of;

  [[nodiscard]] std::size_t number() const { return static_cast<std::size_t>(&of - trace.operations.data()); }
  [[nodiscard]] const corpus::Tensor* value(std::string_view name) const {
    const auto found = trace.values.find(fmt::format("{}.{}", number(), name));
    return found == trace.values.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const TraceTensor* result() const {
    return of.out.empty() ? nullptr : &trace.tensors[of.out[0]];
  }
  [[nodiscard]] std::string said(const std::string& key) const {
    const auto found = trace.machine.find(key);
    return found == trace.machine.end() ? "" : found->second;
  }
};

inline std::optional<Format> format_of_dtype(std::string_view dtype) {
  for (const auto& [name, format] :
       {std::pair{"float32", Format::f32}, {"bfloat16", Format::bf16}, {"float16", Format::f16}})
    if (dtype == name) return format;
  return std::nullopt;
}

/// The name by which an operation finds its partner: all operators of attention are one.
std::string one_name(const std::string& name);

/// Of operators without a partner, by name and, of a cast, the type of its result.
TraceCause operators_cause(const std::vector<std::string>& of_a, const std::vector<std::string>& of_b,
                           bool compiled);

/// Of two attentions that are the same problem by plans that are known: plans that differ, or an O that is
/// not its plan's. `values`: whether values that were kept are asked.
std::optional<TraceCause> attention_plan_cause(const Side& a, const Side& b, bool values);

/// Of two reductions of rows by plans that are known: plans that differ, or results that are not their
/// plan's.
std::optional<TraceCause> row_cause(const Side& a, const Side& b, bool values);

}  // namespace mmaudit::checks
