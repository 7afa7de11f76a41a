// mmaudit attention: the bits of fused attention kernels, and what FP8 does to them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "attention/run.hpp"
#include "attention/study.hpp"
#include "common.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct AttentionOptions {
  std::string q, k, v, o, capture, function, mask, out, type, like = "torch-flash", causal = "none",
                                                              at = "0,0,0";
  std::vector<std::string> kernels, recipes = {"bf16", "fa3-head", "fa4-e4m3", "fa4-e4m3-mended"};
  std::uint64_t batch = 1, heads = 1, kv_heads = 0, queries = 1, keys = 1, depth = 64, rows = 64, most = 4096,
                seed = 1;
  double scale = 0, softcap = 0, limit = 0;
  unsigned threads = 0;
  PythonPlace place;
  Outputs outputs;
};

struct Loaded {
  AttentionProblem problem;
  corpus::Tensor q, k, v, mask;
  [[nodiscard]] AttentionOperands operands() const {
    AttentionOperands out{q.data.data(), k.data.data(), v.data.data()};
    if (problem.bias)
      out.bias = mask.data.data(), out.bias_batch = mask.shape[0], out.bias_heads = mask.shape[1];
    return out;
  }
};
struct Planned {
  AttentionPlan plan;
  const Architecture* architecture;
};

Causal causal_of(const std::string& name) {
  const auto* const found = std::find(std::begin(names::kCausal), std::end(names::kCausal), name);
  if (found == std::end(names::kCausal))
    refuse("--causal: found {}, allowed: {}", name, names_of(names::kCausal));
  return static_cast<Causal>(found - std::begin(names::kCausal));
}

corpus::Tensor load_part(const char* option, const std::string& file) {
  corpus::Tensor out = corpus::load_tensor(file);
  while (out.shape.size() < 4) out.shape.insert(out.shape.begin(), 1);
  if (out.shape.size() != 4 || std::find(out.shape.begin(), out.shape.end(), 0) != out.shape.end())
    refuse("{}: {}: shape: found {}, allowed: batch, heads, rows, depth, none of them 0", option, file,
           corpus::to_string(out.shape));
  return out;
}

/// The format of a file of numbers; raw bits need --type.
Format format_of(const char* option, const corpus::Tensor& tensor, const std::string& type) {
  constexpr std::array kTypes{Format::f16, Format::bf16, Format::e4m3, Format::e5m2, Format::f32};
  const Format found =
      type.empty() ? corpus::format_of(tensor.dtype) : read_format(type).value_or(Format::none);
  if (std::find(kTypes.begin(), kTypes.end(), found) != kTypes.end()) return found;
  if (!type.empty()) refuse("--type: found {}, allowed: {}", type, names_of(kTypes));
  refuse("{}: found {}, allowed: {}, or raw bits with --type", option, corpus::safetensors_name(tensor.dtype),
         names_of(kTypes));
}

Loaded load(const AttentionOptions& options) {
  Loaded out{{}, load_part("--q", options.q), load_part("--k", options.k), load_part("--v", options.v), {}};
  AttentionProblem& x = out.problem;
  x.type = format_of("--q", out.q, options.type);
  for (const auto& [option, tensor] : {std::pair{"--q", &out.q}, {"--k", &out.k}, {"--v", &out.v}})
    corpus::require_elements(option, *tensor, spec_of(x.type));
  x.batch = out.q.shape[0], x.heads = out.q.shape[1], x.queries = out.q.shape[2], x.depth = out.q.shape[3];
  x.kv_heads = out.k.shape[1], x.keys = out.k.shape[2];
  const std::vector<std::uint64_t> wanted = {x.batch, x.kv_heads, x.keys, x.depth};
  for (const auto& [option, tensor] : {std::pair{"--k", &out.k}, {"--v", &out.v}})
    if (tensor->shape != wanted)
      refuse("{}: shape: found {}, allowed: {}", option, corpus::to_string(tensor->shape),
             corpus::to_string(wanted));
  x.causal = causal_of(options.causal);
  x.scale = options.scale, x.softcap = options.softcap, x.bias = !options.mask.empty();
  if (!x.bias) return out;
  out.mask = load_part("--mask", options.mask);
  corpus::require_elements("--mask", out.mask, spec_of(x.type));
  const std::vector<std::uint64_t>& shape = out.mask.shape;
  if ((shape[0] != 1 && shape[0] != x.batch) || (shape[1] != 1 && shape[1] != x.heads) ||
      shape[2] != x.queries || shape[3] != x.keys)
    refuse("--mask: shape: found {}, allowed: batch or 1, heads or 1, queries, keys",
           corpus::to_string(shape));
  return out;
}

std::vector<NamedFile> inputs_of(const AttentionOptions& options) {
  return {{"--q", options.q}, {"--k", options.k},       {"--v", options.v},
          {"--o", options.o}, {"--mask", options.mask}, {"--capture", options.capture}};
}

Planned planned(const AttentionOptions& options, const AttentionProblem& problem) {
  std::string why;
  const auto plan = options.kernels.empty() ? attention_plan_of(options.like, problem, &why)
                                            : attention_plan_of(problem, options.kernels, &why);
  if (!plan) throw InputError(why);
  const auto* const family = options.kernels.empty() ? find_attention_family(options.like) : nullptr;
  const auto* const architecture = find_architecture(family ? family->architecture : kDefaultArchitecture);
  if (why = why_no_attention(problem, *plan, *architecture); !why.empty()) throw InputError(why);
  return {*plan, architecture};
}

/// O by the plan.
corpus::Tensor predicted(const AttentionOptions& options, const Loaded& given, const Planned& how) {
  const AttentionProblem& x = given.problem;
  corpus::Tensor o = corpus::result_tensor(spec_of(how.plan.output), {x.batch * x.heads, x.queries, x.depth},
                                           {}, std::nullopt);
  o.shape = {x.batch, x.heads, x.queries, x.depth};
  attention(x, how.plan, given.operands(), {o.data.data()}, options.threads, *how.architecture);
  return o;
}

int predict_attention(const AttentionOptions& options, const Context& context) {
  try_outputs(options.outputs.files({{"--out", options.out}}), inputs_of(options));
  const Loaded given = load(options);
  const Planned how = planned(options, given.problem);
  const corpus::Tensor o = predicted(options, given, how);
  corpus::save_tensor(options.out, o);
  report::Report found{.title = "O of one attention by its plan"};
  found.headline =
      fmt::format("{} {} -> {}", fmt::join(o.shape, " x "), name_of(how.plan.output), options.out);
  found.lead = {"Plan: " + mmaudit::text_of(how.plan)};
  return options.outputs.publish(found, context);
}

int compare_with_plan(const AttentionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), inputs_of(options));
  const Loaded given = load(options);
  const Planned how = planned(options, given.problem);
  const corpus::Tensor wanted = predicted(options, given, how);
  TorchAttention ran{{}, printable(options.o, 200)};
  if (options.o.empty()) {
    ran = torch_attention(options.place, options.kernels.empty() ? options.like : "--kernels", given.problem,
                          given.operands());
  } else {
    corpus::Tensor o = load_part("--o", options.o);
    if (o.shape != wanted.shape || corpus::format_of(o.dtype) != how.plan.output)
      refuse("--o: found {} of {}, allowed: {} of {}", corpus::to_string(o.shape),
             corpus::safetensors_name(o.dtype), corpus::to_string(wanted.shape), name_of(how.plan.output));
    ran.o = std::move(o.data);
  }
  return options.outputs.publish(compare_attention(given.problem, how.plan, wanted.data, ran.o, ran.where),
                                 context);
}

int reveal_plan(const AttentionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  causal_of(options.causal);
  return options.outputs.publish(
      reveal_attention(options.place, {options.function, options.type, options.causal, options.heads,
                                       options.queries, options.keys, options.depth, options.seed}),
      context);
}

int explain_element(const AttentionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), inputs_of(options));
  std::vector<std::uint64_t> at;
  for (const std::string& each : split_list(options.at))
    at.push_back(each.empty() || each.find_first_not_of("0123456789") != std::string::npos || each.size() > 9
                     ? std::uint64_t{1} << 60
                     : std::stoull(each));
  if (at.size() != 3) refuse("--at: found {}, allowed: HEAD,QUERY,COLUMN", options.at);
  const Loaded given = load(options);
  const auto [plan, architecture] = planned(options, given.problem);
  return options.outputs.publish(
      explain_attention(given.problem, plan, given.operands(), *architecture, at[0], at[1], at[2],
                        options.threads, options.kernels.empty() ? options.like : std::string()),
      context);
}

AttentionCase numbers_of(const Loaded& given) {
  AttentionCase out{given.problem, {}, {}, {}};
  const FastDecode decode(spec_of(given.problem.type));
  const std::size_t bytes = spec_of(given.problem.type).storage_bytes();
  for (const auto& [from, to] : {std::pair{&given.q, &out.q}, {&given.k, &out.k}, {&given.v, &out.v}})
    for (std::uint64_t i = 0; i < from->data.size() / bytes; ++i) {
      to->push_back(decode.at(from->data.data(), i));
      if (!(std::abs(to->back()) < std::numeric_limits<double>::infinity()))
        refuse("--q, --k, --v: found {}, allowed: finite numbers", to->back());
    }
  return out;
}

/// The attentions of a file of mmaudit.torch.capture(), by every recipe.
std::vector<AttentionAudit> captured(const AttentionOptions& options) {
  constexpr std::string_view kEnd = ".attention";
  constexpr std::size_t kCorners = std::size(names::kCausal);  // one more: no plan takes the call
  std::vector<AttentionAudit> out;
  for (const corpus::TensorInfo& each : corpus::read_safetensors_header(options.capture).tensors) {
    if (!each.name.ends_with(kEnd)) continue;
    const std::string name = each.name.substr(0, each.name.size() - kEnd.size()),
                      file = options.capture + ":" + name;
    const corpus::Tensor how = corpus::load_tensor(file + std::string(kEnd));
    std::array<float, 2> said{};  // which of _CORNERS of _capture.py, and the scale
    if (how.data.size() == sizeof said) std::memcpy(said.data(), how.data.data(), sizeof said);
    if (how.data.size() != sizeof said || !(said[0] >= 0 && said[0] <= static_cast<float>(kCorners)) ||
        said[0] != std::trunc(said[0]) || !std::isfinite(said[1]))
      refuse("--capture: {}: found {} bytes, corner {}, scale {}, allowed: {}, 0 to {}, finite", file,
             how.data.size(), said[0], said[1], sizeof said, kCorners);
    const auto corner = static_cast<std::size_t>(said[0]);
    AttentionOptions one = options;
    one.scale = static_cast<double>(said[1]);
    one.q = file + ".q", one.k = file + ".k", one.v = file + ".v";
    std::optional<AttentionCase> numbers;
    for (const std::string& recipe : options.recipes) {
      AttentionAudit audit;
      audit.recipe = &require_attention_recipe(recipe);
      audit.why = "no plan takes its mask, dropout or shapes (`attentions` in the file)";
      try {
        if (corner < kCorners) {
          one.causal = names::kCausal[corner];
          if (!numbers) numbers = numbers_of(load(one));
          audit = audit_attention(*numbers, *audit.recipe, options.rows, options.threads);
        }
      } catch (const InputError& error) {
        audit.why = error.what();
      }
      audit.layer = name.substr(0, name.rfind('#'));
      out.push_back(std::move(audit));
    }
  }
  if (out.empty())
    refuse(
        "--capture: {}: found no attention, allowed: a file of mmaudit.torch.capture() of a module that "
        "calls scaled_dot_product_attention",
        options.capture);
  return out;
}

int audit_file(const AttentionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), inputs_of(options));
  const bool any = !options.q.empty() || !options.k.empty() || !options.v.empty();
  if (any == !options.capture.empty() ||
      (any && (options.q.empty() || options.k.empty() || options.v.empty())))
    refuse("--q, --k, --v: found {}, allowed: all three, or --capture", any ? "some of them" : "none");
  if (!(options.limit >= 0)) refuse("--limit: found {}, allowed: 0 or more", options.limit);
  if (!options.capture.empty())
    return options.outputs.publish(report_of(captured(options), {options.capture}, options.limit), context);
  const AttentionCase numbers = numbers_of(load(options));
  std::vector<AttentionAudit> audits;
  for (const std::string& name : options.recipes)
    audits.push_back(audit_attention(numbers, require_attention_recipe(name), options.rows, options.threads));
  return options.outputs.publish(report_of(audits, {sizes_of(numbers.problem)}, options.limit), context);
}

int show_ranges(const AttentionOptions& options, const Context& context) {
  AttentionProblem problem;
  problem.batch = options.batch, problem.heads = problem.kv_heads = options.heads;
  if (options.kv_heads != 0) problem.kv_heads = options.kv_heads;
  problem.queries = options.queries, problem.keys = options.keys, problem.depth = options.depth;
  problem.causal = causal_of(options.causal);
  problem.type = format_of("--type", corpus::Tensor{}, options.type.empty() ? "f16" : options.type);
  try_outputs(options.outputs.files(), {});
  return options.outputs.publish(attention_invariance(options.like, problem, options.most), context);
}

void add_operands(Command& command, AttentionOptions& options, bool required = true) {
  const std::tuple<const char*, std::string&, const char*> files[] = {
      {"--q FILE", options.q, "Q, (batch, heads, queries, depth)"},
      {"--k FILE", options.k, "K, (batch, key heads, keys, depth)"},
      {"--v FILE", options.v, "V, as K"}};
  for (const auto& [name, file, what] : files) {
    auto option = command.option(name, file, what);
    if (required) option.required();
  }
  command.option("--type NAME", options.type, "of raw bits: f16, bf16, e4m3, e5m2");
  command.option("--causal NAME", options.causal, "none, top_left, bottom_right: the corner of the diagonal");
  command.option("--scale", options.scale, "of the scores; 0: 1 / sqrt(depth)");
  command.option("--threads", options.threads, "0: one per core");
}
void add_plan_options(Command& command, AttentionOptions& options) {
  command.option("--like NAME", options.like,
                 "whose kernel: torch-flash, torch-efficient, torch-cudnn, fa3, fa4");
  command.option("--kernels NAMES", options.kernels, "the kernel's name instead, as profilers print it");
}

void add_score_options(Command& command, AttentionOptions& options) {
  command.option("--mask FILE", options.mask, "added to the scores, (batch or 1, heads or 1, queries, keys)");
  command.option("--softcap", options.softcap, "scores become softcap * tanh(score / softcap); 0: none");
}
void add_sizes(Command& command, AttentionOptions& options, double most) {
  command.option("--heads", options.heads, "of Q").range(1, most);
  command.option("--queries", options.queries, "sizes").range(1, most);
  command.option("--keys", options.keys, "sizes").range(1, most);
  command.option("--depth", options.depth, "of a head").range(1, 256);
  command.option("--causal NAME", options.causal, "the diagonal: none, top_left, bottom_right");
}
void add_place(Command& command, AttentionOptions& options, const char* devices) {
  command.option("--device NAME", options.place.device, devices);
  command.option("--python PROGRAM", options.place.python, "a Python that has torch");
}

/// A subcommand with options of its own, which `takes` lists and `run` reads.
void add(Command& group, const char* name, const char* about,
         std::initializer_list<std::string_view> examples,
         int (*run)(const AttentionOptions&, const Context&), void (*takes)(Command&, AttentionOptions&)) {
  const auto options = std::make_shared<AttentionOptions>();
  Command command = group.command(name, about, examples);
  takes(command, *options);
  options->outputs.add_to(command);
  command.runs([options, run](const Context& context) { return run(*options, context); });
}

}  // namespace

void add_attention(Command& app) {
  Command group =
      app.command("attention", "Which bits fused attention returns, and what FP8 costs there",
                  {"mmaudit attention families", "mmaudit attention audit --q q.npy --k k.npy --v v.npy"});
  group.requires_command();

  add(group, "predict", "O by the plan of a library's kernel, without a GPU",
      {"mmaudit attention predict --q q.npy --k k.npy --v v.npy --like torch-flash --out o.npy",
       "mmaudit attention predict --q q.npy --k k.npy --v v.npy --causal bottom_right --out o.npy"},
      predict_attention, [](Command& command, AttentionOptions& options) {
        add_operands(command, options);
        add_plan_options(command, options);
        add_score_options(command, options);
        command.option("--out FILE", options.out, "O, (batch, heads, queries, depth)").required();
      });
  add(group, "compare", "Every bit of O beside its plan: of a file, or of torch's kernels on this GPU",
      {"mmaudit attention compare --q q.npy --k k.npy --v v.npy --o o.npy --like torch-flash",
       "mmaudit attention compare --q q.npy --k k.npy --v v.npy --like torch-efficient --html compared.html"},
      compare_with_plan, [](Command& command, AttentionOptions& options) {
        add_operands(command, options);
        command.option("--o FILE", options.o, "what the kernel gave; without it torch runs here");
        add_plan_options(command, options);
        add_score_options(command, options);
        add_place(command, options, "where torch runs");
      });
  add(group, "reveal", "Find the plan of an attention from the callable alone",
      {"mmaudit attention reveal kernel.py:attention --type bf16 --depth 128",
       "mmaudit attention reveal kernel.py:attention --causal bottom_right --keys 1024"},
      reveal_plan, [](Command& command, AttentionOptions& options) {
        options.type = "f16", options.heads = 2, options.queries = 128, options.keys = 512;
        command.option("function", options.function, "FILE.py:FUNCTION: takes q, k, v, returns O").required();
        command.option("--type NAME", options.type, "f16 or bf16").one_of({"f16", "bf16"});
        add_sizes(command, options, 4096);
        command.option("--seed", options.seed, "of the operands");
        add_place(command, options, "of torch's tensors; numpy: arrays");
      });
  add(group, "explain", "One element of O: maxima, P and sums, block of keys by block",
      {"mmaudit attention explain --q q.npy --k k.npy --v v.npy --at 0,5,3",
       "mmaudit attention explain --q q.npy --k k.npy --v v.npy --at 2,0,0 --causal bottom_right"},
      explain_element, [](Command& command, AttentionOptions& options) {
        add_operands(command, options);
        add_plan_options(command, options);
        command.option("--at HEAD,QUERY,COLUMN", options.at, "which element, counted from 0");
      });
  add(group, "audit", "The error of each recipe on your Q, K, V, by cause",
      {"mmaudit attention audit --q q.npy --k k.npy --v v.npy --recipe bf16,fa3-head,fa4-e4m3 --limit 0.05",
       "mmaudit attention audit --capture net.safetensors --recipe fa3-head --limit 0.05"},
      audit_file, [](Command& command, AttentionOptions& options) {
        add_operands(command, options, false);
        command.option("--capture FILE", options.capture,
                       "every attention of a file of mmaudit.torch.capture() instead");
        command.option("--recipe NAMES", options.recipes, "recipes of `mmaudit attention families`")
            .comma_separated();
        command.option("--limit", options.limit,
                       "the largest error that passes, |O - exact O| / |exact O|; 0: none");
        command.option("--rows", options.rows, "queries of each head that are compared with exact ones")
            .range(1, 1e6);
      });
  add(group, "invariant", "Over which sizes a row keeps its bits, by the plans",
      {"mmaudit attention invariant --heads 32 --keys 4096 --depth 128",
       "mmaudit attention invariant --like torch-efficient --heads 8 --keys 1024 --depth 64"},
      show_ranges, [](Command& command, AttentionOptions& options) {
        command.option("--like NAME", options.like, "whose kernel");
        command.option("--type NAME", options.type, "f16, bf16, e4m3, e5m2");
        command.option("--batch", options.batch, "sizes").range(1, 1e6);
        add_sizes(command, options, 1e6);
        command.option("--kv-heads", options.kv_heads, "of K; 0: as Q");
        command.option("--most", options.most, "the largest size that is tried").range(1, 1e5);
      });
  add(
      group, "families", "Kernels that have a plan, recipes, and the evidence",
      {"mmaudit attention families", "mmaudit attention families --json families.json"},
      [](const AttentionOptions& options, const Context& context) {
        try_outputs(options.outputs.files(), {});
        return options.outputs.publish(attention_families_report(), context);
      },
      [](Command&, AttentionOptions&) {});
}

}  // namespace mmaudit::cli
