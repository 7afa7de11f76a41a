#include "mmaudit/report/capture_audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <tuple>

#include "gemm/audit_tables.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

/// Names of the tensors of a file.
std::set<std::string> tensors_of(const corpus::SafetensorsHeader& header) {
  std::set<std::string> out;
  for (const corpus::TensorInfo& tensor : header.tensors) out.insert(tensor.name);
  return out;
}

/// Names of the products of a file with these tensors, sorted.
std::vector<std::string> products_of(const std::string& file, const std::set<std::string>& tensors) {
  std::vector<std::string> out;
  for (const std::string& name : tensors) {
    const bool of_b = name.ends_with(".b");
    if (name.size() < 3 || (!of_b && !name.ends_with(".a"))) continue;
    const std::string product = name.substr(0, name.size() - 2);
    if (tensors.count(product + (of_b ? ".a" : ".b")) == 0)
      refuse("--capture: {}: found {} without {}, allowed: both", file, printable(name),
             printable(product) + (of_b ? ".a" : ".b"));
    if (!of_b) out.push_back(product);
  }
  if (out.empty())
    refuse(
        "--capture: {}: found no tensors NAME.a and NAME.b, allowed: a file of mmaudit.torch.capture "
        "(docs/torch.md)",
        file);
  return out;
}

/// The share of the multiply-adds that was not looked at, and whose it is; empty: none.
std::string missed_text(const CaptureAudit& audit) {
  if (!audit.coverage || audit.coverage->share_missed == 0) return {};
  double all = 0;
  for (const auto& [name, count] : audit.coverage->missed) all += count;
  std::vector<std::string> shares;
  for (const auto& [name, count] : audit.coverage->missed)
    shares.push_back(fmt::format("{} ({:.1f} %)", printable(name),
                                 100 * audit.coverage->share_missed * (all > 0 ? count / all : 0)));
  return fmt::format("{:.1f} % of the multiply-adds of the run are not in the file: {}.",
                     100 * audit.coverage->share_missed, fmt::join(shares, ", "));
}

/// Two numbers that the file has of a product; none: it does not have them.
std::optional<std::pair<double, double>> numbers_of(const std::string& file, const std::string& name,
                                                    const std::set<std::string>& there) {
  if (there.count(name) == 0) return std::nullopt;
  const corpus::Tensor tensor = corpus::read_safetensors_tensor(file, name);
  if (tensor.dtype != corpus::DType::f32 || tensor.elements() != 2)
    refuse("--capture: {}: found {} of another type or shape, allowed: two F32", file, printable(name));
  float values[2] = {};
  std::memcpy(values, tensor.data.data(), sizeof values);
  for (const float value : values)
    if (!(value >= 0 && value < std::numeric_limits<float>::infinity()))
      refuse("--capture: {}: {}: found {}, allowed: finite numbers from 0", file, printable(name), value);
  return std::pair(static_cast<double>(values[0]), static_cast<double>(values[1]));
}

/// Whether `x` stands before `y` as people count: layers 0, 1, 2, 10.
bool comes_before(std::string_view x, std::string_view y) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t start = at;
    while (at < text.size() && digit(text[at])) ++at;
    return text.substr(start, at - start);
  };
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    if (digit(x[i]) && digit(y[j])) {
      const std::string_view a = number_at(x, i), b = number_at(y, j);
      if (a != b) return a.size() != b.size() ? a.size() < b.size() : a < b;
    } else if (x[i++] != y[j++]) {
      return x[i - 1] < y[j - 1];
    }
  }
  return x.size() - i < y.size() - j;
}

bool unjudged(const GemmAuditRow& row) { return row.verdict == GemmVerdict::not_judged; }

/// The error of a layer by one combination, from the rows of its products: "overflow" where one fails on it,
/// "-" where one has no error, else the largest.
Cell layer_cell(const std::vector<const GemmAuditRow*>& rows, const std::optional<double>& limit) {
  const auto rank = [](const GemmAuditRow* row) {
    return unjudged(*row) ? 1 : row->errors.overflow != 0 ? 2 : 0;
  };
  const auto worst =
      std::max_element(rows.begin(), rows.end(), [&](const GemmAuditRow* x, const GemmAuditRow* y) {
        return std::pair(rank(x), x->errors.total) < std::pair(rank(y), y->errors.total);
      });
  if (worst == rows.end()) return {"-"};
  const GemmAuditRow& row = **worst;
  if (unjudged(row)) return {"-", tone_of(row.verdict)};
  if (row.errors.overflow != 0) return {"overflow", tone_of(row.verdict)};
  Cell cell(error_text(row.errors.total), tone_of(row.verdict));
  if (limit) cell.heat = HeatScale{*limit, true}.colour_of(row.errors.total);
  return cell;
}

/// Why the first product of the layer that can't be judged can't; empty: all can.
std::string why_not_judged(const CaptureAudit& audit, const std::string& layer) {
  for (const CapturedProduct& product : audit.products) {
    if (product.layer != layer) continue;
    if (audit.gain_says_nothing(product))
      return printable(product.name) + ": its gain is 0, which says nothing about an error of the output";
    for (const GemmAuditRow& row : product.audit.rows_of)
      if (unjudged(row)) return fmt::format("{}: {}", printable(product.name), row.why);
  }
  return {};
}

/// Layers down, combinations across: the largest error of the layer's products.
Table layer_table(const CaptureAudit& audit, const std::vector<LayerChoice>& choices, bool several) {
  Table out{.title = "Largest error of every layer by combination",
            .remark =
                "Norm of the error of D over the norm of the exact product (docs/audit.md). -: a product "
                "of the layer has no error.",
            .columns = {{"layer"}}};
  std::vector<std::string> combinations;
  for (const CapturedProduct& product : audit.products)
    for (const GemmAuditRow& row : product.audit.rows_of)
      if (std::string text = subject_text(row, several);
          std::find(combinations.begin(), combinations.end(), text) == combinations.end())
        combinations.push_back(std::move(text));
  for (const std::string& one : combinations) out.columns.emplace_back(one, true);
  for (const LayerChoice& choice : choices) {
    std::vector<Cell>& cells = out.rows.emplace_back();
    cells.emplace_back(printable(choice.layer));
    for (const std::string& combination : combinations) {
      std::vector<const GemmAuditRow*> rows;
      for (const CapturedProduct& product : audit.products)
        for (const GemmAuditRow& row : product.audit.rows_of)
          if (product.layer == choice.layer && subject_text(row, several) == combination)
            rows.push_back(&row);
      cells.push_back(layer_cell(rows, audit.products.front().audit.limit));
    }
  }
  return out;
}

/// How the choices under a limit on the output were found, and what of them is not certain.
std::string output_remark(const OutputRecipes& found) {
  std::string out =
      "The fewest bits times multiplications of all layers together for which the root of the sum of squares "
      "of the last column stays within the limit";
  out += found.least_cost < found.cost ? fmt::format("; another choice may be cheaper, by {:.2g} % at most.",
                                                     100 * (found.cost - found.least_cost) / found.cost)
                                       : std::string("; no other choice is cheaper.");
  return out +
         " The error is an estimate to first order and may be exceeded: tighten() of mmaudit.torch measures "
         "it and goes on to a plan that is within the limit.";
}

}  // namespace

CaptureAudit audit_capture(const TensorAuditRequest& request, const std::string& file,
                           const TensorAuditProgress& progress, std::optional<double> output_limit) {
  CaptureAudit out;
  out.output_limit = output_limit;
  const corpus::FileStamp before = corpus::stamp_of_file(file);
  const corpus::SafetensorsHeader header = corpus::read_safetensors_header(file);
  if (const auto drawn = header.metadata.find("activations"); drawn != header.metadata.end())
    out.activations = drawn->second;
  out.coverage = coverage_of(file, header.metadata);
  const std::set<std::string> tensors = tensors_of(header);
  out.attentions = std::count_if(tensors.begin(), tensors.end(),
                                 [](const std::string& name) { return name.ends_with(".attention"); });
  const std::vector<std::string> names = products_of(file, tensors);
  TensorAuditRequest one = request;
  std::error_code ignored;  // facts_of_file() says what is wrong
  const std::uintmax_t size = std::filesystem::file_size(file, ignored);
  progress.begin("checksums", ignored ? 0 : size);
  const corpus::FileFacts facts = corpus::facts_of_file(file, progress.advance);
  one.inputs = {{"capture", file, facts.bytes, facts.checksum}};
  for (const std::string& name : names) {
    one.a = fmt::format("{}:{}.a", file, name);
    one.b = fmt::format("{}:{}.b", file, name);
    one.b_transposed = false;
    one.product = fmt::format("--capture: {}: {}", file, printable(name));
    // Of the whole A and B, of which the file has a sample; 0: it does not say.
    std::tie(one.largest_a, one.largest_b) =
        numbers_of(file, name + ".largest", tensors).value_or(std::pair(0.0, 0.0));
    const auto gain = numbers_of(file, name + ".gain", tensors);
    if (output_limit && !gain)
      refuse(
          "--max-output-error: {}: found no {}.gain, allowed: a file of mmaudit.torch.capture with "
          "gains=True (docs/torch.md)",
          file, printable(name));
    CapturedProduct product{name, name.substr(0, name.rfind('#')), audit_tensors(one, progress), {}};
    if (gain) product.gain = LayerGain{gain->first, gain->second};
    const Origin& origin = product.audit.provenance;
    if (out.products.empty()) {
      out.provenance = origin;
    } else {
      for (const ModelRow& row : origin.rows)
        if (std::none_of(out.provenance.rows.begin(), out.provenance.rows.end(), [&](const ModelRow& seen) {
              return seen.architecture == row.architecture && seen.instruction == row.instruction;
            }))
          out.provenance.rows.push_back(row);
    }
    out.products.push_back(std::move(product));
  }
  if (corpus::stamp_of_file(file) != before)
    refuse("--capture: {}: found a file that changed while it was read, allowed: a file at rest", file);
  if (output_limit) out.output_recipes = output_recipes_of(out.products, *output_limit);
  return out;
}

Report report_of(const CaptureAudit& audit) {
  std::vector<LayerChoice> choices = audit.choices();
  std::stable_sort(choices.begin(), choices.end(),
                   [](const LayerChoice& x, const LayerChoice& y) { return comes_before(x.layer, y.layer); });
  std::vector<const CapturedProduct*> products;
  for (const CapturedProduct& product : audit.products) products.push_back(&product);
  std::stable_sort(products.begin(), products.end(), [](const CapturedProduct* x, const CapturedProduct* y) {
    return comes_before(x->name, y->name);
  });
  const bool several = !audit.products.empty() && several_architectures(audit.products.front().audit);
  const bool by_layer = !audit.products.empty() && audit.products.front().audit.limit.has_value();
  const bool limited = by_layer || audit.output_limit;
  Report out;
  out.title = "Errors of the products of a network";
  out.meta = {fmt::format("mmaudit {} \u00b7 {}", audit.provenance.version, audit.provenance.date)};
  const auto passing = std::count_if(choices.begin(), choices.end(),
                                     [](const LayerChoice& one) { return one.row != nullptr; });
  if (audit.output_limit) {
    out.headline = fmt::format(
        "The output's error is estimated as {}, within {:.3g}; {} of {} layers have a combination.",
        error_text(output_error_of(choices)), *audit.output_limit, passing, choices.size());
    out.tone = audit.passes() ? Tone::good : Tone::bad;
  } else if (limited) {
    out.headline = fmt::format("{} of {} layers have a combination within {:.3g}.", passing, choices.size(),
                               *audit.products.front().audit.limit);
    out.tone = passing == static_cast<std::ptrdiff_t>(choices.size()) ? Tone::good : Tone::bad;
  } else {
    out.headline = "No limit was given (--max-rel-fro, --max-output-error), so nothing is judged.";
  }
  out.lead = {fmt::format("{} products of {} layers.", audit.products.size(), choices.size())};
  if (audit.attentions != 0)
    out.lead.push_back(fmt::format(
        "`mmaudit attention audit --capture` judges {} calls of attention by fused kernels and FP8 recipes.",
        audit.attentions));
  if (!audit.activations.empty())
    out.lead.push_back(
        fmt::format("Weights are a checkpoint's, and A is drawn: {}.", printable(audit.activations)));
  if (const std::string missed = missed_text(audit); !missed.empty()) {
    out.lead.push_back(missed + " Nothing here is about these.");
    if (out.tone == Tone::good) out.tone = Tone::note;
  } else if (audit.coverage) {
    out.lead.front() += " The file has every product of the run.";
  }
  if (const std::size_t count = audit.not_judged(); count != 0) {
    out.lead.front() += fmt::format(" {} can't be judged.", count);
    out.tone = Tone::bad;
  }
  for (const std::string& one : audit.missing()) {
    out.lead.push_back(one + " (--allow-missing lets this pass).");
    out.cases.push_back({"missing", one, TestCase::Outcome::failure, one});
    out.tone = Tone::bad;
  }

  Table cheapest{.title = "The cheapest combination of every layer",
                 .remark = audit.output_limit
                               ? output_remark(*audit.output_recipes)
                               : "Of those that pass in all of its products: the fewest bits per "
                                 "element, then one chain over K, then what most layers can take, "
                                 "then the least error of all layers. All on one GPU.",
                 .columns = {{"layer"}, {"products", true}, {"combination"}, {"error", true}}};
  if (audit.output_limit) {
    cheapest.columns.emplace_back("gain", true);
    cheapest.columns.emplace_back("error of the output", true);
  }
  for (const LayerChoice& one : choices) {
    std::vector<Cell> row = {printable(one.layer), std::to_string(one.products)};
    row.push_back(one.row != nullptr   ? Cell(subject_text(*one.row, several), Tone::good)
                  : audit.output_limit ? Cell("keep it", Tone::note)
                                       : Cell("nothing passes: keep it", Tone::bad));
    row.push_back(one.row != nullptr ? Cell(error_text(one.row->errors.total)) : Cell("-"));
    if (audit.output_limit) {
      row.emplace_back(fmt::format("{:.3g}", one.gain));
      row.emplace_back(error_text(one.output_error()));
    }
    cheapest.rows.push_back(std::move(row));
    TestCase judged{"layers", printable(one.layer)};
    if (const std::string why = why_not_judged(audit, one.layer); !why.empty()) {
      judged.outcome = TestCase::Outcome::error;
      judged.message = fmt::format("{}: {}", name_of(GemmVerdict::not_judged), why);
      out.warnings.lines.push_back(fmt::format("{} can't be judged: {}", printable(one.layer), why));
    } else if (limited && !audit.output_limit && one.row == nullptr) {
      judged.outcome = TestCase::Outcome::failure;
      judged.message = "nothing passes";
    }
    out.cases.push_back(judged);
  }
  if (limited) out.sections.push_back(section_of(cheapest));

  Table ranked{
      .title = "Every product, least error first",
      .remark = "Norm of the error of D over the norm of the exact product, and its parts (docs/audit.md).",
      .columns = {{"product"},
                  {"combination"},
                  {"total", true},
                  {"quantization", true},
                  {"accumulation", true},
                  {"verdict"}}};
  Table records{.title = "",
                .columns = {{"product"},
                            {"layer"},
                            {"m", true},
                            {"n", true},
                            {"k", true},
                            {"architecture"},
                            {"dtype"},
                            {"scaling"},
                            {"accumulation"},
                            {"instruction"},
                            {"total", true},
                            {"quantization", true},
                            {"accumulation_error", true},
                            {"output_error", true},
                            {"verdict"}}};
  for (const CapturedProduct* const of : products) {
    const CapturedProduct& product = *of;
    std::vector<const GemmAuditRow*> rows;
    for (const GemmAuditRow& row : product.audit.rows_of) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [](const GemmAuditRow* x, const GemmAuditRow* y) {
      const auto last = [](const GemmAuditRow* row) { return unjudged(*row) || !has_total(*row); };
      return last(x) != last(y) ? last(y) : x->errors.total < y->errors.total;
    });
    for (const GemmAuditRow* row : rows) {
      const GemmErrors& e = row->errors;
      const auto number = [&e](double x) {
        return has_figures(e) && std::isfinite(x) ? fmt::format("{}", x) : std::string();
      };
      const std::string_view verdict =
          row->verdict == GemmVerdict::not_asked ? std::string_view() : name_of(row->verdict);
      const Cell judged(verdict, tone_of(row->verdict));
      ranked.rows.push_back({printable(product.name), subject_text(*row, several), figure_text(e, e.total),
                             figure_text(e, e.quantization), figure_text(e, e.accumulation), judged});
      records.rows.push_back({product.name, product.layer, std::to_string(product.audit.m),
                              std::to_string(product.audit.n), std::to_string(product.audit.k),
                              row->architecture, row->dtype, row->scaling, row->accumulation,
                              row->instruction, number(e.total), number(e.quantization),
                              number(e.accumulation), number(e.output), verdict});
    }
    for (const std::string& finding : findings(product.audit))
      out.warnings.lines.push_back(fmt::format("{}: {}", printable(product.name), finding));
  }
  out.warnings.title = "What is wrong with the tensors";
  out.sections.push_back(section_of(layer_table(audit, choices, several)));
  out.sections.push_back(section_of(ranked, kInDocuments));
  out.json = [audit] { return to_json(audit); };
  out.records = records;
  out.suite = "mmaudit audit --capture";
  return out;
}

}  // namespace mmaudit::report
