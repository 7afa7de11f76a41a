// mmaudit convert: numbers from one format to another, as the conversion instructions do, and what was lost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "common.hpp"
#include "json_table.hpp"
#include "mmaudit/cast_outcome.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/cvt.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/value_text.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct ConvertOptions {
  std::string to, from, in, out, values, rounding = "rn", ptx, random;
  bool saturate = false;
  Outputs outputs;
};

struct Counts {
  std::uint64_t total = 0, exact = 0, inexact = 0, overflow = 0, underflow = 0, subnormal = 0, nan = 0;

  void add(const CastOutcome& x) {
    ++total;
    count_outcome(x, *this);
  }

  [[nodiscard]] Json json() const {
    return {{"total", total},        {"exact", exact}, {"inexact", inexact},
            {"overflow", overflow},  {"nan", nan},     {"underflow_to_zero", underflow},
            {"subnormal", subnormal}};
  }

  [[nodiscard]] std::string text(const char* overflowed) const {
    return fmt::format(
        "{} number{}: {} exact, {} inexact, {} overflow ({}), {} NaN; of these {} underflow to zero, {} "
        "subnormal result{}",
        total, total == 1 ? "" : "s", exact, inexact, overflow, overflowed, nan, underflow, subnormal,
        subnormal == 1 ? "" : "s");
  }
};

/// What the JSON of values and of files has in common.
Json json_of(const ConvertOptions& options, const FormatSpec& to, const Counts& counts) {
  return {{"schema", "mmaudit.convert/1"},
          {"to", name_of(to.id)},
          {"round", options.rounding},
          {"saturate", options.saturate},
          {"counts", counts.json()}};
}

FormatSpec require_format(const std::string& option, const std::string& name) {
  if (const auto found = read_format(name)) return spec_of(*found);
  throw InputError(option + ": " + why_no_format(name));
}

/// Where a number beyond the range went.
const char* overflow_text(const FormatSpec& to, const CastRule& rule) {
  if (to.integer()) return "clamped";
  if (rule.saturate || to.specials == Specials::finite) return "saturated";
  if (rule.rounding == CastRounding::toward_zero) return "to the largest number";
  return to.specials == Specials::ieee ? "to infinity" : "to NaN";
}

/// Distance from `value` in units of the last place at the result, 1 for an integer; "-" where one of the two
/// is not finite.
std::string error_text(double value, std::uint64_t bits, const FormatSpec& to) {
  const double result = decode_value(bits, to);
  if (!std::isfinite(value) || !std::isfinite(result)) return "-";
  if (to.integer()) return fmt::format("{:+.4g}", result - value);
  const int exponent = result == 0 ? to.min_exponent() : std::max(std::ilogb(result), to.min_exponent());
  return fmt::format("{:+.4g}", std::ldexp(result - value, to.fraction_bits - exponent));
}

/// One number as typed, rounded to `from` when that is given.
double read_value(const std::string& text, const FormatSpec& from) {
  const FormatSpec wide = spec_of(Format::f64);
  const bool raw = text.rfind("0x", 0) == 0 && text.find_first_of("pP.") == std::string::npos;
  if (raw && from.id == Format::none)
    refuse("values: found raw bits \"{}\", allowed: with --from only", text);
  const FormatSpec& read_as = raw ? from : wide;
  const ParsedValue parsed = parse_value(text, read_as);
  if (!parsed.error.empty()) throw InputError("values: " + parsed.error);
  const double value = decode_value(parsed.bits, read_as);
  return from.id == Format::none ? value : decode_value(encode_nearest_even(value, from), from);
}

report::Report convert_values(const ConvertOptions& options, const FormatSpec& to, const CastRule& rule) {
  const FormatSpec from = options.from.empty() ? FormatSpec{} : require_format("--from", options.from);
  Counts counts;
  Json values = Json::array();
  for (const std::string& item : split_list(options.values)) {
    const double value = read_value(item, from);
    const std::uint64_t bits = encode_value(value, to, rule);
    counts.add(outcome_of_cast(value, bits, to, rule));
    values.push_back({{"source", item},
                      {"bits", "0x" + hex_text(bits, to.storage_bits)},
                      {"value", value_text(bits, to)},
                      {"error_ulps", error_text(value, bits, to)}});
  }
  report::Report out{.title = fmt::format("Numbers as {}", name_of(to.id))};
  out.headline = counts.text(overflow_text(to, rule));
  out.headline_last = true;
  out.sections.push_back({.tables = {table_of("", values,
                                              {{"source", {"source", true}},
                                               {"bits", {name_of(to.id), true}},
                                               {"value", {"value", true}},
                                               {"error_ulps", {"error/ulp", true}}})}});
  Json json = json_of(options, to, counts);
  json["values"] = std::move(values);
  out.json = [json] { return document(json); };
  return out;
}

/// The format of a file's elements: --from, which has to fit the dtype, or what the dtype says.
FormatSpec source_format(const ConvertOptions& options, corpus::Tensor& tensor) {
  if (options.from.empty()) {
    const Format found = corpus::format_of(tensor);
    if (found != Format::none) return spec_of(found);
    refuse("{}: dtype: found {}, allowed: a float type (say what raw bits are with --from)", options.in,
           corpus::type_text(tensor));
  }
  const FormatSpec from = require_format("--from", options.from);
  corpus::require_elements(options.in, tensor, from);
  if (tensor.untyped) corpus::take_as(tensor, from, options.in);
  return from;
}

report::Report convert_file(const ConvertOptions& options, const FormatSpec& to, const CastRule& rule) {
  if (options.out.empty()) refuse("--out: found none, allowed: file.npy or file.safetensors");
  corpus::check_tensor_target(options.out);
  corpus::Tensor source = corpus::load_tensor(options.in);
  const FormatSpec from = source_format(options, source);
  corpus::Tensor result;
  result.name = source.name;
  result.shape = source.shape;
  // A format without a float type of its own can only come as raw bits: that asks for nothing.
  result.dtype =
      source.dtype == corpus::value_type(from.id) ? corpus::value_type(to.id) : corpus::raw_type(to);
  const std::size_t elements = source.data.size() / from.storage_bytes();
  result.data.resize(elements * to.storage_bytes());
  Counts counts;
  cast_elements(
      source.data.data(), from, result.data.data(), to, rule, elements,
      [&](double value, std::uint64_t bits) { counts.add(outcome_of_cast(value, bits, to, rule)); });
  corpus::save_tensor(options.out, result);
  report::Report out{.title = fmt::format("{} as {}", options.in, name_of(to.id))};
  out.lead = {fmt::format("{} to {} ({}{}) -> {} ({} {})", name_of(from.id), name_of(to.id), options.rounding,
                          options.saturate ? ", saturated" : "", options.out,
                          corpus::safetensors_name(result.dtype), corpus::to_string(result.shape))};
  out.headline = counts.text(overflow_text(to, rule));
  out.headline_last = true;
  Json json = json_of(options, to, counts);
  json["from"] = name_of(from.id);
  json["shape"] = result.shape;
  json["out"] = options.out;
  json["dtype"] = corpus::safetensors_name(result.dtype);
  out.json = [json] { return document(json); };
  return out;
}

std::uint32_t random_of(const ConvertOptions& options) {
  if (options.random.empty()) return 0;
  const ParsedValue parsed = parse_value(options.random, spec_of(Format::f32));
  if (!parsed.error.empty() || options.random.rfind("0x", 0) != 0)
    refuse("--random: found \"{}\", allowed: 0x and up to 8 digits", options.random);
  return static_cast<std::uint32_t>(parsed.bits);
}

/// Random bits that cvt.rs takes for one element of a format; 0: no form of it has .rs.
int random_bits_of(Format format) {
  for (const PackedType& type : packed_types())
    if (type.format == format && type.random_bits != 0) return type.random_bits;
  return 0;
}

/// --round rs: both results of every number and how many random numbers give the upper one.
report::Report odds_of(const ConvertOptions& options, const FormatSpec& to) {
  const int bits = random_bits_of(to.id);
  if (bits == 0)
    refuse("--round rs: found --to {}, allowed: {}", name_of(to.id),
           names_of(kFormats, [](const NamedFormat& one) { return random_bits_of(one.spec.id) != 0; }));
  if (!options.in.empty() || !options.out.empty())
    refuse("--round rs: found --in or --out, allowed: with typed numbers: random bits are per element");
  if (!options.from.empty())
    refuse("--from: found with --round rs, allowed: without: its source is binary32");
  const std::uint32_t random = random_of(options);
  if (random >> bits != 0)
    refuse("--random: found {} with --to {}, allowed: 0x0 to 0x{}, {} random bits", options.random,
           name_of(to.id), fmt::format("{:x}", (1U << bits) - 1), bits);
  const bool saturate = options.saturate || to.storage_bits == 8;  // .satfinite is mandatory there
  const auto shown = [&](std::uint64_t raw) {
    return "0x" + hex_text(raw, to.storage_bits) + " " + value_text(raw, to);
  };
  report::Table table{
      .columns = {{"source", true}, {"down", true}, {"up", true}, {fmt::format("up of 2^{}", bits), true}}};
  if (!options.random.empty()) table.columns.emplace_back("with " + options.random, true);
  for (const std::string& item : split_list(options.values)) {
    const double value = read_value(item, spec_of(Format::f32));
    const RoundingOdds odds = stochastic_odds(value, to, bits, saturate);
    auto& row = table.rows.emplace_back();
    row = {item, shown(odds.down), shown(odds.up), std::to_string(odds.ups)};
    if (!options.random.empty())
      row.emplace_back(shown(encode_stochastic(value, to, random, bits, saturate)));
  }
  report::Report out{.title = fmt::format("Numbers stochastically rounded to {}", name_of(to.id))};
  out.sections.push_back({.tables = {std::move(table)}});
  return out;
}

/// --ptx: one packed instruction.
report::Report convert_packed(const ConvertOptions& options) {
  const std::string source = options.ptx.substr(options.ptx.rfind('.') + 1);
  const PackedType* const packed = find_packed_type(source);
  std::vector<std::uint32_t> operands;
  for (const std::string& item : split_list(options.values)) {
    const ParsedValue parsed = parse_value(item, spec_of(Format::f32));
    if (!parsed.error.empty() || (packed != nullptr && item.rfind("0x", 0) != 0))
      throw InputError(
          packed != nullptr
              ? refusal("values: found \"{}\", allowed: the register of .{} as 0x...", item, source)
              : "values: " + parsed.error);
    operands.push_back(static_cast<std::uint32_t>(parsed.bits));
  }
  if (!options.random.empty() && options.ptx.find(".rs.") == std::string::npos)
    refuse("--random: found with {}, allowed: with .rs", options.ptx);
  std::uint32_t result = 0;
  if (const std::string reason = run_cvt(options.ptx, operands, random_of(options), result); !reason.empty())
    throw InputError("--ptx: " + reason);
  const PackedType& to =
      *find_packed_type(options.ptx.substr(0, options.ptx.rfind('.'))
                            .substr(options.ptx.substr(0, options.ptx.rfind('.')).rfind('.') + 1));
  const FormatSpec format = spec_of(to.format);
  report::Report out{.title = options.ptx};
  out.headline = fmt::format("{} = 0x{}:", options.ptx, hex_text(result, to.count * to.pitch));
  report::Table table{.columns = {{"element", true}, {name_of(to.format), true}}};
  for (int i = to.count - 1; i >= 0; --i) {
    const std::uint64_t bits = result >> i * to.pitch & ((std::uint64_t{1} << format.value_bits()) - 1);
    out.headline += " " + value_text(bits, format);
    table.rows.push_back({std::to_string(i), value_text(bits, format)});
  }
  out.sections.push_back({.tables = {std::move(table)}, .shown = report::kInDocuments});
  return out;
}

report::Report report_of(const ConvertOptions& options) {
  if (!options.ptx.empty()) return convert_packed(options);
  if (!options.random.empty() && options.rounding != "rs")
    refuse("--random: found without --round rs, allowed: with it or with --ptx");
  if (options.to.empty()) refuse("--to: found none, allowed: a format (or --ptx with an instruction)");
  if (options.rounding == "rs") return odds_of(options, require_format("--to", options.to));
  const FormatSpec to = require_format("--to", options.to);
  CastRule rule;
  rule.saturate = options.saturate;
  rule.rounding = find_cast_rounding(options.rounding).value_or(CastRounding::nearest_even);
  if (options.in.empty() == options.values.empty())
    refuse("convert: found {}, allowed: either --in FILE or a list of values",
           options.in.empty() ? "neither" : "both");
  if (options.in.empty() && !options.out.empty())
    refuse("--out: found without --in, allowed: with it (typed numbers are printed)");
  return options.in.empty() ? convert_values(options, to, rule) : convert_file(options, to, rule);
}

}  // namespace

void add_convert(Command& app) {
  auto options = std::make_shared<ConvertOptions>();
  Command command = app.command("convert", "Numbers from one format to another, and what was lost",
                                {"mmaudit convert --to e4m3 1.1,448,500,-0.0001,nan",
                                 "mmaudit convert --to e2m1 --round rz --saturate 0.3,5,100",
                                 "mmaudit convert --to bf16 --in w.safetensors:w --out w16.npy"});
  command.section("From and to");
  const Option to =
      command.option("--to FORMAT", options->to, "target format: " + with_commas(names_of(kFormats)));
  const Option from =
      command.option("--from FORMAT", options->from,
                     "source format; default: what the file's dtype says, binary64 for typed values");
  const Option in =
      command.option("--in FILE", options->in, "file.npy[:format] or file.safetensors[:tensor]");
  const Option out = command.option("--out FILE", options->out,
                                    "result: .npy or .safetensors; raw bits if the source was raw bits");
  command.option("VALUES", options->values, "comma-separated numbers, as in `explain`; not with --in");
  command.section("Rounding");
  std::vector<std::string> roundings = names_of(kCastRoundings);
  roundings.emplace_back("rs");
  const Option round = command
                           .option("--round", options->rounding,
                                   "nearest even, toward zero, nearest away, toward +infinity, stochastic")
                           .one_of(roundings);
  Option ptx = command.option("--ptx OPCODE", options->ptx,
                              "a packed instruction: cvt.rn.satfinite.e2m1x2.f32; values are its operands");
  command.option("--random BITS", options->random,
                 "random bits of .rs, 0x...; without: how many of them round up");
  const Option saturate =
      command.flag("--saturate", options->saturate, "beyond the largest number gives that number");
  options->outputs.add_to(command, true);
  for (const Option& one : {to, from, in, out, round, saturate}) ptx.excludes(one);
  command.runs([options](const Context& context) {
    std::vector<NamedFile> files = options->outputs.files();
    files.push_back({"--out", options->out});
    if (options->values.empty() && options->in.empty())
      for (const NamedFile& file : options->outputs.files())
        if (file.path != "-")
          refuse("VALUES: found none behind {} {}, allowed: numbers before {}, or behind its file or -",
                 file.option, file.path, file.option);
    try_outputs(files, {{"--in", options->in}});
    return options->outputs.publish(report_of(*options), context);
  });
  add_pack(command);
}

}  // namespace mmaudit::cli
