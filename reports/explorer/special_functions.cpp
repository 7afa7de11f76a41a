#include "special_functions.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mmaudit/functions.hpp"

namespace mmaudit::explorer {
namespace {

constexpr std::uint32_t kColumns = 1024;
constexpr std::size_t kWorst = 5;

void write_bound(json::Writer& out, const functions::Bound& bound) {
  constexpr std::string_view kKinds[] = {"none", "relative", "absolute", "ulps"};
  out.begin_object().field("kind", kKinds[static_cast<std::size_t>(bound.kind)]).field("most", bound.most);
  out.field("low", bound.low).field("high", bound.high).field("per_x", bound.per_x);
  out.field("source", bound.source).end_object();
}

struct Worst {
  std::uint32_t x, result;
  double error;
};
/// The first ones of the largest errors.
void keep_worst(std::vector<Worst>& worst, const Worst& one) {
  if (worst.size() == kWorst && !(std::fabs(one.error) > std::fabs(worst.back().error))) return;
  const auto before = std::find_if(worst.begin(), worst.end(), [&](const Worst& other) {
    return std::fabs(other.error) < std::fabs(one.error);
  });
  worst.insert(before, one);
  if (worst.size() > kWorst) worst.pop_back();
}

std::uint32_t word_of(const std::string& text, int base) {
  std::uint32_t word = 0;
  std::from_chars(text.data(), text.data() + text.size(), word, base);
  return word;
}

}  // namespace

std::string functions_text() {
  json::Writer out;
  out.begin_object().key("functions").begin_array();
  for (const functions::Function& one : functions::all()) {
    out.begin_object().field("name", one.name).field("value", one.value).field("operands", one.operands);
    out.field("format", name_of(functions::format_of(one).id)).field("steps", one.steps);
    out.field("evidence", one.evidence).key("bounds").begin_array();
    for (const functions::Bound* bound : {&one.bound, &one.elsewhere})
      if (bound->kind != functions::BoundKind::none) write_bound(out, *bound);
    out.end_array().end_object();
  }
  return out.end_array().end_object().text();
}

std::string function_text(const Request& request) {
  const functions::Function* function = functions::find(request.at(0));
  if (function == nullptr)
    return error_text(refusal("function: found {}, allowed: one of the list", in_quotes(request.at(0))));
  const FormatSpec format = functions::format_of(*function);
  std::vector<std::string> notes;
  const Read x = read_list("x", request.at(1), format, 1, 0, notes);
  const Read y = read_list("y", function->operands == 2 ? request.at(2) : "", format, 1, 0, notes);
  for (const Read* one : {&x, &y})
    if (!one->error.empty()) return error_text(one->error);
  const auto a = static_cast<std::uint32_t>(x.bits[0]), b = static_cast<std::uint32_t>(y.bits[0]);
  const std::uint32_t result = functions::evaluate(function->id, a, b, functions::kUnit);
  const double exact = functions::exact(*function, decode_value(a, format), decode_value(b, format));
  const std::uint64_t nearest = std::isnan(exact) ? result : encode_nearest_even(exact, format);
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.explain_function/1").field("function", function->name);
  out.field("x", hex_text(a, function->bits))
      .field("x_value", value_text(a, format))
      .field("y", hex_text(b, function->bits));
  out.field("result", hex_text(result, function->bits)).field("exact", exact);
  out.field("correctly_rounded", hex_text(nearest, function->bits));
  out.field("ulps_from_exact", functions::ulps_from_exact(*function, a, result, exact));
  out.key("unit").begin_array();
  for (const functions::UnitStep& step : functions::unit_steps(*function, a))
    out.begin_object().field("step", step.name).field("value", step.text).end_object();
  out.end_array().key("notes").begin_array();
  for (const std::string& note : notes) out.value(note);
  return out.end_array().end_object().text();
}

std::string binade_text(const Request& request) {
  const functions::Function* function = functions::find(request.at(0));
  if (function == nullptr) return error_text("function: found none of the list");
  const FormatSpec format = functions::format_of(*function);
  const std::uint32_t operands = 1U << format.fraction_bits, columns = std::min(kColumns, operands);
  const std::uint32_t first = word_of(request.at(1), 16) & ~(operands - 1), y = word_of(request.at(2), 16);
  const std::uint32_t from = std::min(word_of(request.at(3), 10), columns);
  const std::uint32_t to = from + std::min(word_of(request.at(4), 10), columns - from);
  const std::uint32_t each = operands / columns;
  std::vector<std::uint32_t> xs(each), ys(each, y), results(each);
  std::vector<Worst> worst;
  std::uint64_t judged = 0;
  const double divisor = decode_value(y, format);
  json::Writer out;
  out.begin_object().field("operands", operands).field("columns", columns).key("errors").begin_array();
  for (std::uint32_t column = from; column < to; ++column) {
    for (std::uint32_t i = 0; i < each; ++i) xs[i] = first + column * each + i;
    functions::evaluate(*function, xs.data(), ys.data(), results.data(), each);
    double low = NAN, high = NAN;
    for (std::uint32_t i = 0; i < each; ++i) {
      const double exact = functions::exact(*function, decode_value(xs[i], format), divisor);
      const double error = functions::ulps_from_exact(*function, xs[i], results[i], exact);
      if (std::isnan(error)) continue;
      ++judged;
      low = std::fmin(low, error), high = std::fmax(high, error);
      keep_worst(worst, {xs[i], results[i], error});
    }
    out.begin_array().value(low).value(high).end_array();
  }
  out.end_array().field("judged", judged).key("worst").begin_array();
  for (const Worst& one : worst) {
    out.begin_object().field("x", hex_text(one.x, function->bits)).field("value", value_text(one.x, format));
    out.field("result", hex_text(one.result, function->bits)).field("error", one.error).end_object();
  }
  return out.end_array().end_object().text();
}

}  // namespace mmaudit::explorer
