#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/gemm_combination.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::corpus {
namespace {

/// The fields of a problem, a plan or a call.
class Fields : public JsonFields {
 public:
  using JsonFields::JsonFields;

  void format(std::string_view field, Format& value) {
    const std::optional<std::string> name = text(field);
    if (!name) return;
    const auto found = read_format(*name);
    if (!found) throw InputError(fmt::format("{}: {}", at(field), why_no_format(printable(*name, 40))));
    value = *found;
  }
  /// A format that a product's matrices may have; why_no_problem() says which go together.
  void matrix_format(std::string_view field, Format& value, const std::vector<std::string>& allowed) {
    const std::optional<std::string> name = text(field);
    if (!name) return;
    const auto format = read_format(*name);
    if (!format && !meaning_of(*name).empty())
      throw InputError(fmt::format("{}: {}", at(field), why_no_format(printable(*name, 40))));
    if (!format) {
      const std::string near = nearest_word(*name, allowed);
      refuse(field, *name, near.empty() ? fmt::format("{}", fmt::join(allowed, ", ")) : near + "?");
    }
    value = *format;
  }
  void instruction(std::string_view field, Instruction& value) {
    const std::string name = text(field).value_or("nothing");
    const auto found = find_instruction(name);
    if (!found) refuse(field, name, "a name of `mmaudit list`");
    value = *found;
  }
};

/// Writes the fields of a plan that are not as in GemmPlan{}.
struct PlanWriter {
  Json out = Json::object();

  void instruction(std::string_view name, const Instruction& value) { out[name] = name_of(value); }
  void boolean(std::string_view name, bool value) {
    if (value) out[name] = true;
  }
  void count(std::string_view name, std::uint64_t value, std::uint64_t least) {
    if (value != least) out[name] = value;
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum value) {
    if (value != Enum{}) out[name] = name_in(names, value);
  }
  void format(std::string_view name, Format value) {
    if (value != Format::f32) out[name] = name_of(value);
  }
};

/// The sizes of a problem by name, with what each is unless given; a batch has at least one product.
template <typename Problem, typename Visit>
void for_each_size(Problem& problem, const Visit& visit) {
  const GemmProblem usual;
  visit("lda", problem.lda, usual.lda, 0);
  visit("ldb", problem.ldb, usual.ldb, 0);
  visit("ldd", problem.ldd, usual.ldd, 0);
  visit("offset_a", problem.offset_a, usual.offset_a, 0);
  visit("offset_b", problem.offset_b, usual.offset_b, 0);
  visit("offset_d", problem.offset_d, usual.offset_d, 0);
  visit("algorithm", problem.algorithm, usual.algorithm, 0);
  visit("batch", problem.batch, usual.batch, 1);
  visit("stride_a", problem.stride_a, usual.stride_a, 0);
  visit("stride_b", problem.stride_b, usual.stride_b, 0);
  visit("stride_d", problem.stride_d, usual.stride_d, 0);
}

template <typename Problem, typename Visit>
void for_each_factor(Problem& problem, const Visit& visit) {
  visit("alpha", problem.alpha);
  visit("beta", problem.beta);
  visit("scale_a", problem.scale_a);
  visit("scale_b", problem.scale_b);
}

std::vector<std::uint64_t> numbers(const Json* json, std::size_t most, const std::string& where) {
  const auto refuse = [&](const std::string& found) {
    throw InputError(fmt::format("{}: found {}, allowed: up to {} integers from 0", where, found, most));
  };
  if (json == nullptr) refuse("nothing");
  if (!json->is_array()) refuse(printable(json->dump(), 60));
  if (json->size() > most) refuse(fmt::format("{} entries", json->size()));
  std::vector<std::uint64_t> out;
  out.reserve(json->size());
  for (const Json& each : *json) {
    if (!each.is_number_unsigned()) refuse(printable(each.dump(), 60));
    out.push_back(each.get<std::uint64_t>());
  }
  return out;
}

void dimensions(const Json* json, std::uint32_t (&out)[3], const std::string& where) {
  if (json == nullptr) return;
  const std::vector<std::uint64_t> found = numbers(json, 3, where);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] > UINT32_MAX)
      throw InputError(fmt::format("{}: found {}, allowed: 32 bits", where, found[i]));
    out[i] = static_cast<std::uint32_t>(found[i]);
  }
}

}  // namespace

Json to_json(const GemmProblem& problem) {
  const GemmProblem usual;
  Json out = {{"api", name_in(names::kGemmApi, problem.api)},
              {"type", name_of(problem.type)},
              {"d", name_of(output_of(problem))},
              {"m", problem.m},
              {"n", problem.n},
              {"k", problem.k},
              {"layout", layout_of(problem)}};
  for_each_size(problem, [&](const char* name, std::uint64_t value, std::uint64_t without, int) {
    if (value != without) out[name] = value;
  });
  if (problem.fast_accum) out["fast_accum"] = true;
  if (!problem.reduced_reduction) out["reduced_reduction"] = false;
  if (problem.workspace != usual.workspace) out["workspace"] = problem.workspace;
  for_each_factor(problem, [&](const char* name, double value) {
    if (value != (std::string_view(name) == "beta" ? 0 : 1))
      out[name] = problem.type == Format::f64 ? Json(value) : Json(static_cast<float>(value));
  });
  if (problem.bias) out["bias"] = true;
  if (problem.activation != usual.activation)
    out["activation"] = name_in(names::kGemmActivation, problem.activation);
  return out;
}

GemmProblem gemm_problem_of(const Json& json, const std::string& where) {
  Fields fields(json, where);
  GemmProblem out;
  fields.choice("api", names::kGemmApi, out.api);
  out.type = Format::none;
  const std::vector<std::string> types{"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8"};
  if (const Json* const type = json.is_object() && json.contains("type") ? &json["type"] : nullptr;
      type != nullptr && type->is_string()) {
    const GemmDtype* const row = find_gemm_dtype(type->get<std::string>());
    if (row != nullptr && row->scale != Format::none)
      fields.refuse(
          "type", *type,
          fmt::format("{} (cuBLASLt has scales of blocks on Blackwell alone, and no kernel of that was "
                      "recorded)",
                      fmt::join(types, ", ")));
  }
  fields.matrix_format("type", out.type, types);
  fields.matrix_format("d", out.d, {"f16", "bf16", "f32", "f64", "e4m3", "e5m2", "s32"});
  fields.count("m", out.m);
  fields.count("n", out.n);
  fields.count("k", out.k);
  enum class Layout : std::uint8_t { nn, nt, tn, tt } layout = Layout::nn;
  fields.choice("layout", names::kLayout, layout);
  out.transposed_a = layout == Layout::tn || layout == Layout::tt;
  out.transposed_b = layout == Layout::nt || layout == Layout::tt;
  for_each_size(out, [&](const char* name, std::uint64_t& value, std::uint64_t, std::uint64_t least) {
    fields.count(name, value, least);
  });
  fields.boolean("fast_accum", out.fast_accum);
  fields.boolean("reduced_reduction", out.reduced_reduction);
  fields.count("workspace", out.workspace);
  for_each_factor(out, [&](const char* name, auto& value) {
    auto single = static_cast<float>(value);  // what the library reads
    if (out.type == Format::f64) return fields.number(name, value);
    fields.number(name, single);
    value = single;
  });
  fields.boolean("bias", out.bias);
  fields.choice("activation", names::kGemmActivation, out.activation);
  fields.refuse_unknown();
  if (const std::string why = why_no_problem(out); !why.empty()) throw InputError(where + ": " + why);
  return out;
}

Json to_json(const GemmPlan& plan) {
  PlanWriter writer;
  for_each_field(plan, writer);
  if (!plan.scalar) return writer.out;
  writer.out.erase("instruction");
  writer.out["a"] = name_of(plan.instruction.a);
  writer.out["b"] = name_of(plan.instruction.b);
  return writer.out;
}

GemmPlan gemm_plan_of(const Json& json, const std::string& where) {
  GemmPlan out;
  Fields fields(json, where);
  bool scalar = false;
  fields.boolean("scalar", scalar);
  if (!scalar) {
    for_each_field(out, fields);
  } else {
    if (const Json* const instruction = fields.take("instruction"); instruction != nullptr)
      fields.refuse("instruction",
                    (instruction->is_string() ? instruction->get<std::string>() : instruction->dump()) +
                        " beside scalar",
                    "one of both");
    Json rest = json;
    for (const char* const name : {"a", "b"}) rest.erase(name);
    rest["instruction"] = "mma.m16n8k8.f32.f16.f16.f32";  // any: only its formats count
    Fields others(rest, where);
    for_each_field(out, others);
    others.refuse_unknown();
    Format a = Format::f32, b = Format::f32;
    fields.format("a", a);
    fields.format("b", b);
    out.instruction = scalar_instruction(a, b);
    return out;
  }
  fields.refuse_unknown();
  return out;
}

Json to_json(const LibraryCall& call) {
  Json algorithm = Json::object(), kernels = Json::array();
  for (const auto& [name, value] : call.algorithm) algorithm[name] = value;
  for (const KernelLaunch& each : call.kernels) {
    Json one = {{"name", each.name}, {"grid", each.grid}, {"block", each.block}};
    if (each.cluster[0] != 0) one["cluster"] = each.cluster;
    kernels.push_back(std::move(one));
  }
  return {{"algorithm", std::move(algorithm)}, {"kernels", std::move(kernels)}};
}

LibraryCall library_call_of(const Json& json, const std::string& where) {
  Fields fields(json, where);
  LibraryCall out;
  if (const Json* const algorithm = fields.take("algorithm"); algorithm != nullptr) {
    if (!algorithm->is_object()) fields.refuse("algorithm", *algorithm, "names with integers");
    for (const auto& [name, value] : algorithm->items()) {
      constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost))
        fields.refuse("algorithm", value, "integers of 64 bits with a sign");
      out.algorithm.emplace_back(name, value.get<std::int64_t>());
    }
  }
  if (const Json* const kernels = fields.take("kernels"); kernels != nullptr) {
    if (!kernels->is_array()) fields.refuse("kernels", *kernels, "a list");
    for (const Json& each : *kernels) {
      Fields one(each, where + ": kernels");
      KernelLaunch launch;
      launch.name = one.text("name").value_or("");
      dimensions(one.take("grid"), launch.grid, where + ": grid");
      dimensions(one.take("block"), launch.block, where + ": block");
      dimensions(one.take("cluster"), launch.cluster, where + ": cluster");
      one.refuse_unknown();
      out.kernels.push_back(std::move(launch));
    }
  }
  fields.refuse_unknown();
  return out;
}

std::string line_of(const GemmSample& sample) {
  Json out = {{"problem", to_json(sample.problem)},
              {"call", to_json(sample.call)},
              {"seed", sample.seed},
              {"rows", sample.rows},
              {"columns", sample.columns},
              {"d", sample.d}};
  if (sample.problem.batch != 1) out["matrices"] = sample.matrices;
  return out.sorted().dump() + "\n";
}

std::vector<GemmSample> read_gemm_samples(std::string_view text, const std::string& file) {
  std::vector<GemmSample> out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string where = fmt::format("{}: line {}", file, line);
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty()) continue;
    const Json json = parse_bounded(one, where, "a sample of a product per line");
    Fields fields(json, where);
    GemmSample sample;
    const Json *const problem = fields.take("problem"), *const call = fields.take("call");
    sample.problem = gemm_problem_of(problem == nullptr ? Json() : *problem, where + ": problem");
    sample.call = library_call_of(call == nullptr ? Json() : *call, where + ": call");
    fields.count("seed", sample.seed);
    constexpr std::size_t kMost = 64;
    if (const Json* const matrices = fields.take("matrices"); matrices != nullptr)
      sample.matrices = numbers(matrices, kMost, where + ": matrices");
    sample.rows = numbers(fields.take("rows"), kMost, where + ": rows");
    sample.columns = numbers(fields.take("columns"), kMost, where + ": columns");
    sample.d = numbers(fields.take("d"), kMost * kMost, where + ": d");
    fields.refuse_unknown();
    const auto beyond = [](const std::vector<std::uint64_t>& all, std::uint64_t most) {
      return std::any_of(all.begin(), all.end(), [&](std::uint64_t each) { return each >= most; });
    };
    if (sample.d.size() != sample.matrices.size() * sample.rows.size() * sample.columns.size() ||
        sample.d.empty() || beyond(sample.rows, sample.problem.m) ||
        beyond(sample.columns, sample.problem.n) || beyond(sample.matrices, sample.problem.batch))
      throw InputError(where +
                       ": rows, columns, d: found others, allowed: of the problem, a d for each pair");
    out.push_back(std::move(sample));
  }
  if (out.empty()) throw InputError(file + ": found no sample, allowed: one or more");
  return out;
}

}  // namespace mmaudit::corpus
