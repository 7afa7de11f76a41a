#include "row_of_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attention/rows.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::explorer {
namespace {

using attention_rows::Block;

constexpr std::uint64_t kMostKeys = 4096, kMostDepth = 256;

struct Planned {
  AttentionProblem problem;
  std::optional<AttentionPlan> plan;
  const AttentionFamily* family = nullptr;
  std::string_view evidence, source;
};

/// The plan of a grid that fills a GPU, so that nothing is split.
Planned planned(const std::string& like, std::uint64_t keys, std::uint64_t depth, std::string& why) {
  Planned out;
  out.problem.batch = 64, out.problem.heads = out.problem.kv_heads = 16;
  out.problem.queries = kMostKeys, out.problem.keys = keys, out.problem.depth = depth;
  const AttentionRecipe* recipe = find_attention_recipe(like);
  out.family = find_attention_family(recipe == nullptr ? like : recipe->family);
  if (recipe != nullptr) {
    out.problem.type = recipe->type, out.evidence = recipe->evidence, out.source = recipe->source;
    out.plan = attention_plan_of(*recipe, out.problem, &why);
  } else {
    if (out.family != nullptr) out.evidence = out.family->evidence, out.source = out.family->source;
    out.plan = attention_plan_of(like, out.problem, &why);
  }
  // Scales of scores and of P's blocks come from Q, K and the whole of P, which a row of scores doesn't have.
  if (out.plan && (out.plan->score == ScoreRule::dequantized || out.plan->p_block != 0)) {
    why = refusal("plan: found {}, whose scales need Q and K, allowed: one of the list", in_quotes(like));
    out.plan.reset();
  }
  return out;
}

/// `count` numbers out of those typed, each for a run of keys.
std::vector<std::uint64_t> spread(const std::vector<std::uint64_t>& typed, std::uint64_t count) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(typed[i * typed.size() / count]);
  return out;
}

struct RowCase {
  const Planned& planned;
  std::vector<float> scores;
  std::vector<std::uint64_t> v;
};

/// P V of one row and column by the plan's instruction, block by block, as Strips of attention.cpp do it.
float output_of(const RowCase& row, const attention_rows::RowRule& rule,
                const attention_rows::BlockOrder& blocks, const std::vector<std::uint64_t>& p,
                const std::vector<float>& rescales, float sum) {
  const AttentionPlan& plan = *row.planned.plan;
  const Datapath& datapath =
      find_datapath(*find_architecture(row.planned.family->architecture), plan.pv)->datapath;
  const auto depth = static_cast<std::uint64_t>(plan.pv.k);
  const float factor = factor_of(rule, sum, functions::kUnit);
  float o = 0;
  DotCase dot;
  for (std::uint64_t b = 0; b < blocks.count; ++b) {
    const Block block = blocks.at(b);
    const bool any = b != 0, last = b + 1 == blocks.count, chain = plan.output_sum == OutputSum::chain;
    const auto held = functions::as_float(static_cast<std::uint32_t>(dot.c));
    dot.c = !chain || !any ? 0 : functions::bits_of(attention_rows::times(held, rescales[b]));
    for (std::uint64_t key = block.first; key < block.last; key += depth) {
      const auto end = static_cast<std::ptrdiff_t>(std::min(key + depth, block.last)),
                 begin = static_cast<std::ptrdiff_t>(key);
      dot.a.assign(p.begin() + begin, p.begin() + end), dot.a.resize(depth);
      dot.b.assign(row.v.begin() + begin, row.v.begin() + end), dot.b.resize(depth);
      dot.c = explain(plan.pv, datapath, dot).result;
    }
    if (!chain || last)
      o = output_with(rule, functions::as_float(static_cast<std::uint32_t>(dot.c)), o, rescales[b], factor,
                      any, last);
  }
  return o;
}

void write_block(json::Writer& out, const RowCase& row, const Block& block, const std::vector<float>& weights,
                 const std::vector<float>& rounded) {
  float largest = attention_rows::kNoKey, most = 0;
  double sum = 0;
  int saturated = 0, flushed = 0;
  for (std::uint64_t i = block.first; i < block.last; ++i) {
    largest = std::max(largest, row.scores[i]), most = std::max(most, weights[i]);
    sum += static_cast<double>(weights[i]);
    const double limit =
        decode_value(spec_of(row.planned.plan->p).max_finite_bits(), spec_of(row.planned.plan->p));
    saturated += static_cast<double>(weights[i]) > limit ? 1 : 0;
    flushed += weights[i] != 0 && rounded[i] == 0 ? 1 : 0;
  }
  out.field("first", block.first)
      .field("last", block.last - 1)
      .field("largest", static_cast<double>(largest));
  out.field("most", static_cast<double>(most)).field("sum", sum);
  out.field("saturated", saturated).field("flushed", flushed);
}

std::string row_text(const RowCase& row, const std::vector<std::string>& notes) {
  const AttentionPlan& plan = *row.planned.plan;
  const FormatSpec p_spec = spec_of(plan.p), v_spec = spec_of(row.planned.problem.type),
                   o_spec = spec_of(plan.output);
  const std::uint64_t keys = row.scores.size();
  const attention_rows::BlockOrder blocks(plan, keys, 0);
  const attention_rows::RowRule rule = attention_rows::rule_of(plan, row.planned.problem);
  std::vector<float> weights((keys + plan.block_k - 1) / plan.block_k * plan.block_k), rescales(blocks.count),
      bases(blocks.count), rounded;
  const attention_rows::RowEnd end = attention_rows::RowSoftmax(rule).run(
      {row.scores.data(), nullptr, nullptr, 0, keys, weights.data(), rescales.data(), bases.data()}, blocks);
  const FastCast to_p(p_spec, {CastRounding::nearest_even, true});
  std::vector<std::uint64_t> p;
  for (std::uint64_t i = 0; i < keys; ++i) {
    p.push_back(to_p(static_cast<double>(weights[i])));
    rounded.push_back(static_cast<float>(decode_value(p[i], p_spec)));
  }
  const float o = output_of(row, rule, blocks, p, rescales, end.sum);
  const std::uint64_t bits = FastCast(o_spec, {CastRounding::nearest_even, false})(static_cast<double>(o));
  const double most = *std::max_element(row.scores.begin(), row.scores.end()), scale = rule.scale;
  double exact = 0, whole = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const double v = decode_value(row.v[i], v_spec), weight = std::exp((row.scores[i] - most) * scale);
    exact += weight * v, whole += weight;
  }

  json::Writer out;
  out.begin_object()
      .field("plan", text_of(plan))
      .field("type", name_of(v_spec.id))
      .field("p", name_of(plan.p));
  out.field("evidence", row.planned.evidence).field("source", row.planned.source);
  out.field("scale", static_cast<double>(rule.scale)).field("block_k", plan.block_k);
  out.field("sum", static_cast<double>(end.sum)).field("o", hex_text(bits, o_spec.storage_bits));
  out.field("o_format", name_of(plan.output))
      .field("o_value", decode_value(bits, o_spec))
      .field("exact", exact / whole);
  out.field("lse", static_cast<double>(lse_of(rule, end.maximum, end.sum, false, functions::kUnit)));
  out.key("blocks").begin_array();
  for (std::uint64_t b = 0; b < blocks.count; ++b) {
    out.begin_object().field("rescale", static_cast<double>(rescales[b]));
    out.field("maximum", static_cast<double>(attention_rows::times(
                             bases[b], attention_rows::unit_of(plan.score, rule.scale2))));
    write_block(out, row, blocks.at(b), weights, rounded);
    out.end_object();
  }
  for (const auto& [name, values] :
       {std::pair{"scores", &row.scores}, {"weights", &weights}, {"rounded", &rounded}}) {
    out.end_array().key(name).begin_array();
    for (std::uint64_t i = 0; i < keys; ++i) out.value(static_cast<double>((*values)[i]));
  }
  out.end_array().key("notes").begin_array();
  for (const std::string& note : notes) out.value(note);
  return out.end_array().end_object().text();
}

}  // namespace

std::string attentions_text() {
  json::Writer out;
  out.begin_object().key("attentions").begin_array();
  const auto add = [&](std::string_view name, std::string_view type, std::string_view evidence) {
    if (std::string why; !planned(std::string(name), 128, 64, why).plan) return;
    out.begin_object().field("name", name).field("type", type).field("evidence", evidence).end_object();
  };
  for (const AttentionFamily& one : attention_families()) add(one.name, name_of(Format::f16), one.evidence);
  for (const AttentionRecipe& one : attention_recipes()) add(one.name, name_of(one.type), one.evidence);
  return out.end_array().end_object().text();
}

std::string attention_text(const Request& request) {
  const auto keys = whole_number<std::uint64_t>(request.at(1)),
             depth = whole_number<std::uint64_t>(request.at(2));
  for (const auto& [name, found, most] : {std::tuple{"keys", keys, kMostKeys}, {"depth", depth, kMostDepth}})
    if (!found || *found == 0 || *found > most)
      return error_text(refusal("{}: found {}, allowed: 1 to {}", name,
                                in_quotes(request.at(name[0] == 'k' ? 1 : 2)), most));
  std::string why;
  const Planned found = planned(request.at(0), *keys, *depth, why);
  if (!found.plan) return error_text(why);
  std::vector<std::string> notes;
  std::vector<Read> lists;
  for (const auto& [name, text, format] :
       {std::tuple{"scores", request.at(3), Format::f32}, {"V", request.at(4), found.problem.type}}) {
    const std::size_t count = words_of(text).size();
    if (count == 0 || count > *keys)
      return error_text(
          refusal("{}: found {} numbers, allowed: 1 to {}, one per key or run of keys", name, count, *keys));
    lists.push_back(read_list(name, text, spec_of(format), static_cast<int>(count), 0, notes));
    if (!lists.back().error.empty()) return error_text(lists.back().error);
  }
  RowCase row{found, {}, spread(lists[1].bits, *keys)};
  for (const std::uint64_t bits : spread(lists[0].bits, *keys))
    row.scores.push_back(functions::as_float(static_cast<std::uint32_t>(bits)));
  return row_text(row, notes);
}

}  // namespace mmaudit::explorer
