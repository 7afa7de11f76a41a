// The model behind the page explorer.html, compiled to WebAssembly: requests and answers are text, and every
// answer comes from the JSON writers that the tool and the C interface use.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/cast_outcome.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/value_text.hpp"
#include "mmaudit/whole_number.hpp"
#include "mmaudit/wmma_fragments.hpp"
#include "request.hpp"
#include "row_of_attention.hpp"
#include "special_functions.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::explorer {
namespace {

Request request_of(std::string_view text) {
  Request request;
  for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
    request.fields.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return request;
}

/// Positions of the stored elements in their groups; missing groups take their first positions.
std::vector<std::uint8_t> read_metadata(const std::string& text, const Instruction& inst,
                                        std::string& error) {
  std::vector<std::uint8_t> metadata;
  if (!is_sparse(inst.op)) return metadata;
  const Sparsity sparsity = sparsity_of(inst);
  const auto kept = static_cast<std::size_t>(sparsity.kept),
             stored = static_cast<std::size_t>(inst.stored_k());
  for (const std::string& word : words_of(text)) {
    const unsigned position = whole_number<unsigned>(word).value_or(8);
    if (position > 7)
      error = refusal("metadata: found {}, allowed: 0 to {}", in_quotes(word), sparsity.group - 1);
    metadata.push_back(static_cast<std::uint8_t>(position & 7U));
  }
  while (metadata.size() < stored && metadata.size() % kept == 0) {
    metadata.resize(metadata.size() + kept);
    write_pattern(sparsity, 0, &metadata[metadata.size() - kept]);
  }
  return metadata;
}

/// The instruction of the same formats and least depth that `architecture` has instead, for `used` products.
const Instruction* stand_in(const Architecture& architecture, const Instruction& wanted, std::size_t used) {
  const Instruction* best = nullptr;
  for (const Instruction& inst : kInstructions)
    if (!is_sparse(inst.op) && !is_sparse(wanted.op) && inst.a == wanted.a && inst.b == wanted.b &&
        inst.c == wanted.c && inst.d == wanted.d && inst.scale == wanted.scale &&
        inst.scale_block == wanted.scale_block && static_cast<std::size_t>(inst.k) >= used &&
        (best == nullptr || inst.k < best->k) && find_datapath(architecture, inst) != nullptr)
      best = &inst;
  return best;
}

void write_values(json::Writer& out, std::string_view name, const std::vector<std::uint64_t>& bits,
                  Format format) {
  const FormatSpec spec = spec_of(format);
  out.key(name).begin_array();
  for (const std::uint64_t one : bits) {
    out.begin_array().value(hex_text(one, spec.storage_bits));
    out.value(value_text(one, spec)).end_array();
  }
  out.end_array();
}

std::vector<std::uint8_t> bytes_of(const std::vector<std::uint64_t>& words) {
  return {words.begin(), words.end()};
}

/// D of the same dot product on every architecture that has the instruction.
void write_answers(json::Writer& out, const Instruction& inst, const DotCase& dot) {
  out.key("answers").begin_array();
  for (const Architecture& each : architectures()) {
    const DatapathEntry* entry = find_datapath(each, inst);
    if (entry == nullptr) continue;
    const std::uint64_t d = explain(inst, entry->datapath, dot).result;
    out.begin_object().field("architecture", each.name).field("evidence", name_of(entry->evidence));
    out.field("d", hex_text(d, spec_of(inst.d).storage_bits)).field("value", value_text(d, spec_of(inst.d)));
    out.end_object();
  }
  out.end_array();
}

/// architecture, instruction, a, b, c, scales of a, scales of b, metadata, modifiers; "1" when a stand-in
/// may take the place of an instruction that the architecture lacks; "1" for the answers of every GPU.
std::string explain_text(const Request& request) {
  const Architecture* architecture = find_architecture(request.at(0));
  if (architecture == nullptr) return error_text("GPU: " + why_no_architecture(request.at(0)));
  auto inst = read_instruction(request.at(1));
  if (!inst)
    return error_text(refusal("instruction: found {}, allowed: one of the list", in_quotes(request.at(1))));
  const bool lacks = find_datapath(*architecture, *inst) == nullptr;
  if (lacks && request.at(9) == "1") {
    const std::size_t used = std::max(words_of(request.at(2)).size(), words_of(request.at(3)).size());
    if (const Instruction* other = stand_in(*architecture, *inst, used))
      inst = read_instruction(name_of(*other));
  }
  const DatapathEntry* entry = find_datapath(*architecture, *inst);
  if (entry == nullptr) return error_text("instruction: " + why_no_datapath(*architecture, *inst));

  std::vector<std::string> notes;
  const int blocks = scales_of(*inst);
  const FormatSpec scale = spec_of(inst->scale);
  const std::uint64_t one = blocks == 0 ? 0 : encode_value(1.0, scale);
  const Read a = read_list("A", request.at(2), spec_of(inst->a), inst->stored_k(), 0, notes);
  const Read b = read_list("B", request.at(3), spec_of(inst->b), inst->k, 0, notes);
  const Read c = read_list("C", request.at(4), spec_of(inst->c), 1, 0, notes);
  Read scale_a, scale_b;
  if (blocks != 0) {
    scale_a = read_list("scale of A", request.at(5), scale, blocks, one, notes);
    scale_b = read_list("scale of B", request.at(6), scale, blocks, one, notes);
  }
  for (const Read* list : std::initializer_list<const Read*>{&a, &b, &c, &scale_a, &scale_b})
    if (!list->error.empty()) return error_text(list->error);
  std::string error;
  DotCase dot{.a = a.bits, .b = b.bits, .c = c.bits[0]};
  dot.metadata = read_metadata(request.at(7), *inst, error);
  dot.scale_a = bytes_of(scale_a.bits);
  dot.scale_b = bytes_of(scale_b.bits);
  if (is_asynchronous(inst->op))
    std::from_chars(request.at(8).data(), request.at(8).data() + request.at(8).size(), dot.modifiers);
  dot.modifiers &= kScaleDZero | kNegateA | kNegateB;
  if (error.empty()) error = why_bad_dot(*inst, dot);
  if (!error.empty()) return error_text(error);

  const Explanation trace = explain(*inst, entry->datapath, dot);
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.trace/1").field("architecture", architecture->name);
  out.field("instruction", name_of(*inst)).field("stands_in", lacks);
  out.key("row").json(instruction_json(*inst, *entry)).key("trace").json(trace_json(trace));
  write_values(out, "a", a.bits, inst->a);
  write_values(out, "b", b.bits, inst->b);
  write_values(out, "c", c.bits, inst->c);
  write_values(out, "scale_a", scale_a.bits, inst->scale);
  write_values(out, "scale_b", scale_b.bits, inst->scale);
  write_values(out, "d", {trace.result}, inst->d);
  out.field("modifiers", dot.modifiers);
  out.field("takes_modifiers", is_asynchronous(inst->op));
  out.key("metadata").begin_array();
  for (const std::uint8_t position : dot.metadata) out.value(position);
  out.end_array().field("group", sparsity_of(*inst).group).field("kept", sparsity_of(*inst).kept);
  out.key("notes").begin_array();
  for (const std::string& note : notes) out.value(note);
  out.end_array();
  if (request.at(10) == "1") write_answers(out, *inst, dot);
  return out.end_object().text();
}

std::string catalog_text() {
  json::Writer out;
  out.begin_object().key("architectures").begin_array();
  for (const Architecture& each : architectures()) {
    out.begin_object().field("name", each.name).key("aliases").begin_array();
    for (const std::string_view alias : each.aliases) out.value(alias);
    out.end_array().key("instructions").begin_array();
    for (const Instruction& inst : kInstructions)
      if (find_datapath(each, inst) != nullptr) out.value(name_of(inst));
    out.end_array().end_object();
  }
  out.end_array().key("formats").begin_array();
  for (const NamedFormat& format : kFormats) out.json(format_json(format));
  return out.end_array().end_object().text();
}

/// format: the value of every code, of a format of at most 8 bits.
std::string codes_text(const Request& request) {
  const auto format = find_format(request.at(0));
  if (!format || spec_of(*format).value_bits() > 8) return error_text("format: found none of at most 8 bits");
  json::Writer out;
  out.begin_object().key("values").begin_array();
  for (unsigned code = 0; code < 1U << spec_of(*format).value_bits(); ++code)
    out.value(value_text(code, spec_of(*format)));
  return out.end_array().end_object().text();
}

/// number, format that it is rounded to first, rounding, "1" to saturate: the number in every format.
std::string cast_text(const Request& request) {
  const auto from = find_format(request.at(1));
  if (!from) return error_text("from: " + why_no_format(request.at(1)));
  const auto rounding = find_cast_rounding(request.at(2));
  if (!rounding)
    return error_text(
        refusal("rounding: found {}, allowed: {}", in_quotes(request.at(2)), names_of(kCastRoundings)));
  std::vector<std::string> notes;
  const Read source = read_list("number", request.at(0), spec_of(*from), 1, 0, notes);
  if (!source.error.empty()) return error_text(source.error);
  const CastRule rule{*rounding, request.at(3) == "1"};
  const double value = decode_value(source.bits[0], spec_of(*from));
  json::Writer out;
  out.begin_object();
  write_values(out, "source", source.bits, *from);
  out.key("notes").begin_array();
  for (const std::string& note : notes) out.value(note);
  out.end_array().key("results").begin_array();
  for (const NamedFormat& to : kFormats) {
    const std::uint64_t bits = cast_bits(source.bits[0], spec_of(*from), to.spec, rule);
    const CastOutcome outcome = outcome_of_cast(value, bits, to.spec, rule);
    out.begin_object().field("format", to.name).field("bits", hex_text(bits, to.spec.storage_bits));
    out.field("value", value_text(bits, to.spec)).field("error", decode_value(bits, to.spec) - value);
    out.field("exact", outcome.exact).field("overflow", outcome.overflow).field("nan", outcome.nan);
    out.field("underflow", outcome.underflow).field("subnormal", outcome.subnormal).end_object();
  }
  return out.end_array().end_object().text();
}

void write_map(json::Writer& out, const char* operand, const Instruction& inst, Format format,
               const FragmentMap& map) {
  out.begin_object().field("operand", operand).field("format", name_of(format));
  out.field("rows", map.rows).field("cols", map.cols);
  out.field("values_per_register", elements_per_register(inst, format));
  out.key("row_col_by_lane_and_value").begin_array();
  for (int lane = 0; lane < map.lanes; ++lane) {
    out.begin_array();
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      out.begin_array().value(at.row).value(at.col).end_array();
    }
    out.end_array();
  }
  out.end_array().end_object();
}

/// The GPUs whose fragments of a wmma instruction are known; the result lists them for a message.
std::string write_known(json::Writer& out, const Instruction& inst) {
  std::string text;
  out.key("known_of").begin_array();
  for (const WmmaFragments& one : published_wmma_fragments())
    if (one.holds(inst)) {
      out.value(one.architecture);
      text += std::string(one.architecture) + ", ";
    }
  out.end_array();
  return text;
}

/// wmma: what is known of one GPU, A in memory by rows, B by columns, D by rows.
std::string wmma_layout_text(const Instruction& inst, const std::string& gpu) {
  const Architecture* architecture = find_architecture(gpu);
  const WmmaFragments* known =
      architecture == nullptr ? nullptr : find_wmma_fragments(architecture->name, inst);
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.layout/1").field("instruction", name_of(inst));
  const std::string gpus = write_known(out, inst);
  if (known == nullptr) {
    const std::string why = refusal(
        "PTX leaves the fragments of wmma open: found GPU {}, allowed: {}`mmaudit explain layout --discover` "
        "on such a GPU",
        printable(gpu), gpus);
    return out.field("error", why).end_object().text();
  }
  out.field("architecture", known->architecture).field("evidence", name_of(known->evidence));
  out.field("known", known->source).key("operands").begin_array();
  write_map(out, "A", inst, inst.a, known->a(inst, volta::Layout::row));
  write_map(out, "B", inst, inst.b, known->b(inst, volta::Layout::column));
  write_map(out, "D", inst, inst.d, known->accumulator(inst, inst.d));
  return out.end_array().end_object().text();
}

/// instruction, and of wmma a GPU: which lane and value holds which element, as `mmaudit explain layout
/// --json` writes it.
std::string layout_text(const Request& request) {
  const auto inst = read_instruction(request.at(0));
  if (!inst) return error_text("instruction: found none of the list");
  if (inst->op == Op::wmma) return wmma_layout_text(*inst, request.at(1));
  if (!has_fragment_maps(*inst)) return error_text(std::string(why_no_fragment_maps(*inst)));
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.layout/1").field("instruction", name_of(*inst));
  out.key("operands").begin_array();
  write_map(out, "A", *inst, inst->a, fragment_a(*inst));
  write_map(out, "B", *inst, inst->b, fragment_b(*inst));
  write_map(out, "D", *inst, inst->d, fragment_d(*inst));
  return out.end_array().end_object().text();
}

std::string answer_of(int function, const Request& request) {
  switch (function) {
    case 0:
      return catalog_text();
    case 1:
      return explain_text(request);
    case 2:
      return codes_text(request);
    case 3:
      return cast_text(request);
    case 4:
      return layout_text(request);
    case 5:
      return functions_text();
    case 6:
      return function_text(request);
    case 7:
      return binade_text(request);
    case 8:
      return attentions_text();
    case 9:
      return attention_text(request);
    default:
      return error_text("function: found none");
  }
}

std::string request_buffer, answer_buffer;

}  // namespace
}  // namespace mmaudit::explorer

extern "C" {

/// Where the next request of that many bytes goes.
char* explorer_request(std::size_t bytes) {
  mmaudit::explorer::request_buffer.resize(bytes);
  return mmaudit::explorer::request_buffer.data();
}

/// Answers the request: JSON text of explorer_length() bytes, valid until the next call.
const char* explorer_answer(int function) {
  using namespace mmaudit::explorer;
  answer_buffer = answer_of(function, request_of(request_buffer));
  return answer_buffer.data();
}

std::size_t explorer_length() { return mmaudit::explorer::answer_buffer.size(); }
}
