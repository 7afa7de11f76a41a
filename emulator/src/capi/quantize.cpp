// The C interface: the instruction of a dtype, scaling and accumulation; numbers to elements, scales and
// factors.
#include "quantize.hpp"

#include <vector>

#include "mmaudit/attention.hpp"
#include "mmaudit/names.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::capi {
namespace {

[[noreturn]] void refuse_name(std::string_view field, const char* name,
                              const std::vector<std::string>& allowed) {
  refuse("{}: found {}{}, allowed: {}", field, name == nullptr ? "null" : name,
         name == nullptr ? "" : did_you_mean(name, allowed), allowed);
}

template <std::size_t Size>
void put(const std::string& text, char (&out)[Size]) {
  if (text.size() >= Size)
    refuse("size: found a name of {} characters, allowed: less than {}", text.size(), Size);
  std::memcpy(out, text.c_str(), text.size() + 1);
}

Accumulation policy_of(const char* name) {
  if (name == nullptr) return {};
  const auto found = find_accumulation(name);
  if (!found) refuse_name("policy", name, {"plain", "half", "promote:128", "split-k:2"});
  return *found;
}

GemmDtype dtype_of(const char* name) {
  if (name != nullptr)
    if (const GemmDtype* row = find_gemm_dtype(name)) return *row;
  refuse_name("dtype", name, names_of(gemm_dtypes()));
}

/// `name` null: the usual one of these operands.
Scaling scaling_of(const char* name, const GemmDtype& dtype) {
  if (name == nullptr) return *dtype.usual;
  for (const Scaling& own : usual_scalings(dtype))  // perhaps by a name that others have too
    if (own.name == name) return own;
  const std::vector<Scaling> found = find_scalings(name);
  if (found.empty()) refuse_name("scaling", name, scaling_names());
  return found[0];
}

GemmCombination combination_of(const char* dtype, const char* scaling) {
  GemmCombination out;
  out.dtype = dtype_of(dtype);
  out.scaling = scaling_of(scaling, out.dtype);
  return settled(out);
}

void find(mmaudit_gemm_path* out) {
  mmaudit_gemm_path path = taken(out);
  GemmCombination combination = combination_of(path.dtype, path.scaling);
  combination.architecture = &architecture_of(path.arch);
  combination.accumulation = policy_of(path.policy);
  const GemmPath found = mmaudit::find_path(combination);
  if (!found.why_not.empty())
    throw InputError("dtype, scaling, policy: found " + std::string(combination.dtype.name) + ", " +
                     std::string(combination.scaling.name) + ", " + name_of(combination.accumulation) +
                     ", which can't be computed: " + found.why_not);
  const QuantizeRule rule = quantize_rule(combination.dtype, combination.scaling, false);
  put(name_of(found.instruction), path.inst);
  put(std::string(combination.scaling.name), path.taken_scaling);
  const auto named = [](Format format) { return format == Format::none ? nullptr : name_of(format).data(); };
  path.a = named(found.instruction.a), path.b = named(found.instruction.b),
  path.d = named(found.instruction.d);
  path.scale = named(found.instruction.scale);
  path.output = named(combination.output);
  path.scale_block = rule.scale_block();
  path.factor_block = rule.factor_block();
  path.factor_per_lane = rule.factor_per_lane() ? 1 : 0;
  path.factor_per_tensor = rule.one_factor() ? 1 : 0;
  path.promote = combination.accumulation.promote;
  path.split_k = combination.accumulation.split_k;
  path.factor_order = name_of(combination.scaling.order).data();
  path.activations =
      combination.scaling.activations.empty() ? nullptr : combination.scaling.activations.data();
  give(path, out);
}

std::string recipes_json() {
  json::Writer out;
  const auto granularity = [&](std::string_view name, const Granularity& x) {
    out.key(name).begin_object().field("lanes", x.lanes).field("k", x.k).end_object();
  };
  const auto text = [&](std::string_view name, std::string_view x) {
    out.key(name);
    if (x.empty())
      out.json("null");
    else
      out.value(x);
  };
  out.begin_object().field("schema", "mmaudit.recipes/1").key("recipes").begin_array();
  for (const Recipe& each : recipes()) {
    const GemmCombination taken_as = combination_of(each.dtype.data(), each.scaling.data());
    const auto& [dtype, scaling] = std::tie(taken_as.dtype, taken_as.scaling);
    const QuantizeRule a = quantize_rule(dtype, scaling, false), b = quantize_rule(dtype, scaling, true);
    out.begin_object().field("name", each.name).field("arch", each.arch).field("dtype", each.dtype);
    text("scaling", each.scaling);
    out.field("policy", each.policy);
    text("gradient", each.gradient);
    out.field("history", each.history).field("source", each.source);
    out.field("a", name_of(dtype.element)).field("b", name_of(dtype.element_b()));
    text("scale", a.scaled() ? name_of(dtype.scale) : a.factors ? "f32" : "");
    granularity("scale_a", a.covers);
    granularity("scale_b", b.covers);
    out.field("scaled_by", name_of(scaling.by)).field("scale_rounding", name_of(scaling.rounding));
    out.field("second_level", scaling.second_level).field("factor_order", name_of(scaling.order));
    out.field("arithmetic", scaling.division == Division::exact ? "f64" : "f32");
    out.field("division", name_of(scaling.division)).field("counted", name_of(scaling.counted));
    text("scale_source", scaling.source);
    text("bytes_of", each.bytes_of);
    out.end_object();
  }
  out.end_array().key("attention").begin_array();
  const auto attention = [&](const auto& each, std::string_view family, std::string_view dtype) {
    out.begin_object().field("name", each.name).field("arch", find_attention_family(family)->architecture);
    text("dtype", dtype);
    out.field("evidence", each.evidence).field("source", each.source).end_object();
  };
  for (const AttentionFamily& each : attention_families()) attention(each, each.name, "");
  for (const AttentionRecipe& each : attention_recipes()) attention(each, each.family, name_of(each.base()));
  return out.end_array().end_object().text();
}

}  // namespace

Quantization quantization_of(const mmaudit_quantization& work) {
  const GemmCombination combination = combination_of(work.dtype, work.scaling);
  const bool of_b = work.of_b != 0;
  Quantization out;
  out.rule = quantize_rule(combination.dtype, combination.scaling, of_b);
  out.batch = work.batch, out.lanes = work.lanes, out.k = work.k;
  out.from = capi::format_of("from", work.from);
  const auto is_source = [](const FormatSpec& spec) { return !spec.integer() && spec.storage_bits >= 16; };
  if (!is_source(out.from))
    refuse("from: found {}, allowed: {}", name_of(out.from.id),
           names_of(kFormats, [&](const NamedFormat& one) { return is_source(one.spec); }));
  out.x = work.x.data;
  out.batch_stride = work.batch_stride, out.lane_stride = work.lane_stride, out.k_stride = work.k_stride;
  const std::uint64_t numbers = work.batch * work.lanes * work.k;
  const Axis batch{"batch", work.batch}, lanes{"lanes", work.lanes}, depth{"k", work.k};
  const FormatSpec f32 = spec_of(Format::f32);
  bytes_of("elements", {batch, lanes, depth}, spec_of(Format::f64));  // refused where sizes exceed 64 bits
  if (numbers != 0) {
    std::uint64_t last = 0;
    const std::pair<std::uint64_t, std::uint64_t> axes[] = {
        {work.batch, work.batch_stride}, {work.lanes, work.lane_stride}, {work.k, work.k_stride}};
    for (const auto& [count, stride] : axes) {
      std::uint64_t step = 0;
      if (__builtin_mul_overflow(count - 1, stride, &step) || __builtin_add_overflow(last, step, &last))
        refuse("x strides: found an element beyond 64 bits, allowed: within x");
    }
    if (work.x.data == nullptr || work.x.bytes / out.from.storage_bytes() <= last)
      refuse("x: found {} bytes, allowed: those up to element {}", work.x.bytes, last);
  }
  const Axis blocks{"blocks", out.rule.scaled() ? out.scale_blocks() : out.factor_blocks()};
  if (work.find_largest > 1) refuse("find_largest: found {}, allowed: 0, 1", work.find_largest);
  const bool find = work.find_largest == 1;
  if (out.rule.one_factor() && !(find && !given(work.tensor_largest)))
    require("tensor_largest", work.tensor_largest, {{"1", 1}}, f32);
  if (out.largest_count() != 0 && !(find && !given(work.largest)))
    require("largest", work.largest, {batch, lanes, blocks}, f32);
  require("elements", work.elements, {batch, lanes, depth}, out.rule.element);
  if (out.rule.scaled()) require("scales", work.scales, {batch, lanes, blocks}, kByte);
  if (out.factor_count() != 0) require("factors", work.factors, {{"factors", out.factor_count()}}, f32);
  out.tensor_largest = static_cast<const float*>(work.tensor_largest.data);
  out.largest = static_cast<const float*>(work.largest.data);
  out.k_outside = of_b;
  out.elements = work.elements.data;
  out.scales = static_cast<std::uint8_t*>(work.scales.data);
  out.factors = static_cast<float*>(work.factors.data);
  return out;
}

}  // namespace mmaudit::capi

using namespace mmaudit::capi;

extern "C" {

int mmaudit_recipes(char** json) {
  return guarded([&] { give_text(json, recipes_json); });
}

int mmaudit_find_path(mmaudit_gemm_path* path) {
  return guarded([&] { find(path); });
}

int mmaudit_quantize(const mmaudit_quantization* work) {
  return guarded([&] {
    const mmaudit_quantization given_one = taken(work);
    mmaudit::quantize(quantization_of(given_one), given_one.threads);
  });
}
}
