#include <cmath>

#include "mmaudit/datapath_text.hpp"
#include "mmaudit/value_text.hpp"
#include "writer.hpp"

namespace mmaudit {
namespace {

void write_dyadic(json::Writer& out, std::string_view name, Dyadic x) {
  out.key(name).begin_object();
  out.field("significand", x.significand).field("exponent", x.exponent);
  out.field("value", std::ldexp(static_cast<double>(x.significand), x.exponent));
  out.end_object();
}

void write_addend(json::Writer& out, const Explanation& trace, const ExplainedStep& step,
                  const ExplainedAddend& x) {
  out.begin_object();
  out.field("k", x.k).field("in_maximum", x.in_maximum).field("exponent", x.exponent);
  if (x.k < 0) {
    out.field("addend", hex_text(x.a, step.addend_format.storage_bits));
  } else if (trace.spec.grouped) {
    out.field("count", x.count);
    write_dyadic(out, "products", x.products);
  } else {
    out.field("a", hex_text(x.a, trace.spec.a.storage_bits));
    out.field("b", hex_text(x.b, trace.spec.b.storage_bits));
  }
  if (!step.special) {
    write_dyadic(out, "exact", x.exact);
    write_dyadic(out, "kept", x.kept);
    write_dyadic(out, "lost", x.lost);
  }
  out.end_object();
}

void write_steps(json::Writer& out, const Explanation& trace) {
  out.key("steps").begin_array();
  for (const ExplainedStep& step : trace.steps) {
    out.begin_object();
    out.field("maximum", step.maximum).field("floor_decided", step.floor_decided);
    out.field("special", step.special);
    out.key("addends").begin_array();
    for (const ExplainedAddend& x : step.addends) write_addend(out, trace, step, x);
    out.end_array();
    write_dyadic(out, "sum", step.sum);
    out.field("result", hex_text(step.result, trace.spec.step.output.storage_bits));
    out.end_object();
  }
  out.end_array();
}

void write_products(json::Writer& out, const Explanation& trace) {
  out.key("products").begin_array();
  for (const ExplainedProduct& x : trace.products) {
    out.begin_object().field("k", x.k);
    out.field("a", hex_text(x.a, trace.spec.a.storage_bits));
    out.field("b", hex_text(x.b, trace.spec.b.storage_bits));
    out.field("product", x.product).field("sum", x.sum).field("clamped", x.clamped);
    out.end_object();
  }
  out.end_array();
}

void write_fmas(json::Writer& out, const Explanation& trace) {
  out.key("fmas").begin_array();
  for (const ExplainedFma& x : trace.fmas) {
    out.begin_object().field("k", x.k);
    out.field("a", hex_text(x.a, 64)).field("b", hex_text(x.b, 64));
    out.field("before", hex_text(x.before, 64)).field("after", hex_text(x.after, 64));
    out.end_object();
  }
  out.end_array();
}

/// A number; text where it is NaN or an infinity, which JSON lacks.
void write_number(json::Writer& out, std::string_view name, double x) {
  if (std::isfinite(x))
    out.field(name, x);
  else
    out.field(name, std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

void write_stages(json::Writer& out, const Explanation& trace) {
  const int sum_bits = trace.spec.step.output.storage_bits;
  out.key("stages").begin_array();
  for (const ExplainedStage& stage : trace.stages) {
    const bool first = &stage == &trace.stages.front();
    const int before_bits = first ? trace.spec.step.addend.storage_bits : sum_bits;
    out.begin_object().field("before", hex_text(stage.before, before_bits)).field("flushed", stage.flushed);
    out.field("after", hex_text(stage.after, sum_bits));
    out.key("products").begin_array();
    for (const ExplainedTerm& x : stage.products) {
      out.begin_object().field("k", x.k);
      out.field("a", hex_text(x.a, trace.spec.a.storage_bits));
      out.field("b", hex_text(x.b, trace.spec.b.storage_bits));
      write_number(out, "product", x.product);
      write_number(out, "taken", x.taken);
      out.field("flushed", x.flushed);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array();
}

void write_scales(json::Writer& out, const Explanation& trace) {
  const auto list = [&](std::string_view name, const std::vector<std::uint64_t>& bytes) {
    out.key(name).begin_array();
    for (const std::uint64_t bits : bytes) out.value(hex_text(bits, trace.spec.scale.storage_bits));
    out.end_array();
  };
  out.key("scales").begin_object();
  out.field("format", name_of(trace.spec.scale.id)).field("block", trace.spec.scale_block);
  list("a", trace.scale_a);
  list("b", trace.scale_b);
  out.end_object();
}

}  // namespace

std::string trace_json(const Explanation& trace) {
  json::Writer out;
  out.begin_object();
  out.field("c", hex_text(trace.addend, trace.spec.step.addend.storage_bits));
  out.field("final_add", trace.final_add);
  out.field("d", hex_text(trace.result, trace.spec.d.storage_bits));
  if (trace.spec.integer) write_products(out, trace);
  if (!trace.steps.empty()) write_steps(out, trace);
  if (trace.spec.block_scaled()) write_scales(out, trace);
  if (!trace.fmas.empty()) write_fmas(out, trace);
  if (!trace.stages.empty()) write_stages(out, trace);
  return out.end_object().text();
}

}  // namespace mmaudit
