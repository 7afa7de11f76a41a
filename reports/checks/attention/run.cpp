#include "attention/run.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/name_in.hpp"
#include "python_run.hpp"

namespace mmaudit::checks {
namespace {

/// Raw bits in, raw bits out. The lower right corner is torch's own mask, which flash takes.
constexpr std::string_view kTorch = R"(import sys
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

folder, device, backend, name, causal, scale = sys.argv[1:7]
batch, heads, kv_heads, queries, keys, depth, mask_batch, mask_heads = map(int, sys.argv[7:])
kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[name]

def read(name, *shape):
    size = torch.Size(shape).numel()
    return torch.from_file(folder + "/" + name, size=size, dtype=kind).view(shape).to(device)

q, k, v = read("q", batch, heads, queries, depth), *(read(x, batch, kv_heads, keys, depth) for x in "kv")
top = causal == "top_left" or causal == "bottom_right" and queries == keys
mask = causal_lower_right(queries, keys) if causal == "bottom_right" and not top else None
if mask_batch:
    mask = read("mask", mask_batch, mask_heads, queries, keys)
with torch.no_grad(), sdpa_kernel(getattr(SDPBackend, backend)):
    o = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=top, scale=float(scale) or None, enable_gqa=heads != kv_heads)
with open(folder + "/o", "wb") as out:
    out.write(o.contiguous().cpu().view(torch.uint8).numpy().tobytes())
with open(folder + "/where", "w") as out:
    out.write(f"torch {torch.__version__} on " + (torch.cuda.get_device_name() if o.is_cuda else device))
)";

constexpr std::string_view kReveal = R"(import importlib.util, json, os, sys
import mmaudit

folder, function, kind, causal, device = sys.argv[1:6]
heads, queries, keys, depth, seed = map(int, sys.argv[6:])
file, _, name = function.rpartition(":")
try:
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise ValueError(f"function: found no {name} in {file}, allowed: a function that the file defines")
    found = mmaudit.reveal_attention(
        getattr(module, name), kind=kind, heads=heads, queries=queries, keys=keys, depth=depth,
        causal=None if causal == "none" else causal, seed=seed, device=None if device == "numpy" else device)
except ImportError:
    raise
except Exception as error:
    said = (str(error).splitlines() or [""])[0]
    print("\n" + (said if isinstance(error, ValueError) else f"function: found {type(error).__name__}: {said}"
                  ", allowed: one that returns O"))
    sys.exit(2)
others = {"qk" if x == "products" else x: [y.format(kind) if x == "products" else y for y in all]
          for x, all in found.others.items()}
with open(folder + "/found", "w") as out:
    json.dump({**found._asdict(), "others": others}, out)
)";

struct TorchKernels {
  std::string_view name, backend;  ///< a family, and what torch.nn.attention.SDPBackend calls it
};
constexpr TorchKernels kTorchKernels[] = {{"torch-flash", "FLASH_ATTENTION"},
                                          {"torch-efficient", "EFFICIENT_ATTENTION"},
                                          {"torch-cudnn", "CUDNN_ATTENTION"}};

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

TorchAttention torch_attention(const PythonPlace& place, std::string_view family, const AttentionProblem& x,
                               const AttentionOperands& operands) {
  const TorchKernels* const kernels = find_named(kTorchKernels, family);
  if (kernels == nullptr)
    refuse("--like: found {}, allowed: {}, or --o with what the kernel gave", family,
           names_of(kTorchKernels));
  if (x.softcap != 0)
    refuse("--softcap: found {}, allowed: 0 with torch, or --o with what the kernel gave", x.softcap);
  const PythonRun python;
  const std::size_t bytes = spec_of(x.type).storage_bytes(), of_q = x.batch * x.heads * x.queries * x.depth,
                    of_k = x.batch * x.kv_heads * x.keys * x.depth,
                    of_mask = operands.bias_batch * operands.bias_heads * x.queries * x.keys;
  python.write("q", operands.q, of_q * bytes);
  python.write("k", operands.k, of_k * bytes);
  python.write("v", operands.v, of_k * bytes);
  if (x.bias) python.write("mask", operands.bias, of_mask * bytes);
  std::vector<std::string> words = {place.device, std::string(kernels->backend), std::string(name_of(x.type)),
                                    std::string(names::kCausal[static_cast<std::size_t>(x.causal)]),
                                    fmt::format("{}", x.scale)};
  for (const std::uint64_t size : {x.batch, x.heads, x.kv_heads, x.queries, x.keys, x.depth,
                                   x.bias ? operands.bias_batch : 0, operands.bias_heads})
    words.push_back(std::to_string(size));
  python.run(place.python, kTorch, words, fmt::format("{} by torch of {}", family, place.python));
  const std::string o = python.read("o", of_q * bytes);
  const auto* const first = reinterpret_cast<const std::byte*>(o.data());
  return {{first, first + o.size()}, python.read("where")};
}

report::Report compare_attention(const AttentionProblem& x, const AttentionPlan& plan,
                                 const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                                 const std::string& where) {
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const std::uint64_t elements = x.batch * x.heads * x.queries * x.depth;
  const auto at = [&](std::uint64_t i) {
    return fmt::format("{},{},{}", i / x.depth / x.queries, i / x.depth % x.queries, i % x.depth);
  };
  std::uint64_t wrong = 0, rows = 0, first = 0, last_row = elements;
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (load_word(found.data(), bytes, i) == load_word(expected.data(), bytes, i)) continue;
    if (wrong++ == 0) first = i;
    rows += i / x.depth != last_row ? 1 : 0;
    last_row = i / x.depth;
  }
  report::Report out{.title = "O of an attention compared with its plan"};
  out.headline = fmt::format("{} of {} elements have other bits than predicted, {}", wrong, elements, where);
  out.tone = wrong == 0 && elements != 0 ? report::Tone::good : report::Tone::bad;
  out.lead = {"Plan: " + mmaudit::text_of(plan)};
  if (wrong != 0) {
    out.lead.push_back(
        fmt::format("{} of {} rows differ. The first element, at head, query, column {}: "
                    "{:#x} instead of {:#x}.",
                    rows, elements / x.depth, at(first), load_word(found.data(), bytes, first),
                    load_word(expected.data(), bytes, first)));
    if (plan.splits == 1)
      out.lead.push_back(fmt::format(  // which explain takes
          "How the plan makes it: `mmaudit attention explain --at {}` with the same files.", at(first)));
  }
  return out;
}

report::Report reveal_attention(const PythonPlace& place, const AttentionReveal& asked) {
  const std::size_t colon = asked.function.rfind(':');
  const std::string file = asked.function.substr(0, colon);
  if (colon == std::string::npos || !file.ends_with(".py") || !std::filesystem::is_regular_file(file))
    refuse("function: found {}, allowed: FILE.py:FUNCTION of a file that is there", asked.function);
  const PythonRun python;
  python.run(place.python, kReveal,
             {asked.function, asked.kind, asked.causal, place.device, std::to_string(asked.heads),
              std::to_string(asked.queries), std::to_string(asked.keys), std::to_string(asked.depth),
              std::to_string(asked.seed)},
             fmt::format("{} by {}", asked.function, place.python));
  const Json json = parse_json(python.read("found"));
  const auto same = json.at("same").get<std::uint64_t>(), compared = json.at("compared").get<std::uint64_t>();
  report::Report out{.title = "The plan of an attention, from the callable"};
  out.tone = same == compared && compared != 0 ? report::Tone::good : report::Tone::bad;
  out.headline = same == compared
                     ? fmt::format("the plan gives each of {} elements of {}", compared, asked.function)
                     : fmt::format("no plan fits: the nearest one gives {} of {} elements of {}", same,
                                   compared, asked.function);
  report::Table table{.title = "Plan", .columns = {"field", "value", "the same bits on all that was tried"}};
  for (const auto& [name, value] : json.at("plan").items()) {
    std::vector<std::string> also;
    if (const Json* const others = json.at("others").find(name); others != nullptr)
      for (const Json& one : *others) also.push_back(shown(one));
    table.rows.push_back({name, shown(value), with_commas(also)});
  }
  out.sections.push_back(report::section_of(std::move(table)));
  return out;
}

}  // namespace mmaudit::checks
