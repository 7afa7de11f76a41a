#include "mmaudit/gemm_plan.hpp"

#include <bit>
#include <cstring>
#include <tuple>

#include "gemm/finisher.hpp"
#include "gemm/sliced_product.hpp"
#include "mmaudit/detail/truncating_spec.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

constexpr CastRounding kCast[] = {CastRounding::toward_zero, CastRounding::nearest_even,
                                  CastRounding::nearest_away};

std::vector<std::byte> rounded_to_tf32(const void* from, std::uint64_t count, InputRounding rounding) {
  const FormatSpec f32 = spec_of(Format::f32), tf32 = spec_of(Format::tf32);
  std::vector<std::byte> out(count * 4);
  const CastRule rule{kCast[static_cast<std::size_t>(rounding)], false};
  for (std::uint64_t i = 0; i < count; ++i)
    store_word(out.data(), 4, i, cast_bits(load_word(from, 4, i), f32, tf32, rule));
  return out;
}

/// Of a scalar plan only A's and B's formats count.
bool in_binary64(const GemmPlan& plan) {
  return (plan.scalar ? plan.instruction.a : plan.instruction.d) == Format::f64;
}

/// What matmul() does by itself: slices as it cuts and adds them, padding at the end.
bool in_one_piece(const GemmPlan& plan, std::uint64_t k) {
  if (plan.scalar || (plan.head_tile != 0 && k % plan.head_tile != 0)) return false;
  return plan.slices == 1 ||
         (plan.c_place == CPlace::epilogue && !in_binary64(plan) && plan.slice_rule == SliceRule::even &&
          plan.partial == Format::f32 && plan.total == Format::f32 && plan.head_tile == 0 &&
          plan.tile_k % step_of(plan) == 0 && plan.slice_order == SliceOrder::ascending);
}

/// The product as matmul() takes it, with everything of the plan that matmul() can say.
Matmul whole(const GemmPlan& plan, const Matmul& problem) {
  Matmul out = problem;
  out.promote = plan.promote;
  if (plan.slices > 1 && in_one_piece(plan, problem.k)) {
    out.split_k = plan.slices;
    out.slice_tile = plan.tile_k;
  }
  if (!out.epilogue && plan.output != plan.instruction.d) out.epilogue = Epilogue{1, 0, plan.output};
  return out;
}

}  // namespace

Instruction scalar_instruction(Format a, Format b) {
  Instruction out{};
  out.a = a;
  out.b = b;
  out.c = out.d = a == Format::f64 ? Format::f64 : Format::f32;
  out.m = out.n = out.k = 1;
  return out;
}

std::string why_no_prediction(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem) {
  if (problem.promote != 0)
    return refusal("promote: found {}, allowed: the plan's, not a product's", problem.promote);
  if (problem.split_k != 1)
    return refusal("split_k: found {}, allowed: the plan's, not a product's", problem.split_k);
  if (problem.epilogue && problem.epilogue->output != plan.output)
    return refusal("epilogue output: found {}, allowed: {}, the plan's output",
                   name_of(problem.epilogue->output), name_of(plan.output));
  if (plan.c_place != CPlace::epilogue && problem.epilogue)
    return refusal("c_place: found {}, allowed: epilogue where there is one",
                   names::kCPlace[static_cast<std::size_t>(plan.c_place)]);
  if (const SliceOrder order = plan.slices > 1 ? plan.slice_order : plan.lane_order;
      plan.c_place == CPlace::total &&
      ((plan.slices == 1 && plan.lanes == 1) || order == SliceOrder::bisected || order == SliceOrder::halved))
    return refusal(
        "c_place: found total, allowed: epilogue, chain but with slices or lanes added to a total");
  const bool wide = in_binary64(plan);
  for (const auto& [field, format] :
       {std::pair{"running", plan.running}, {"partial", plan.partial}, {"total", plan.total}})
    if (format != Format::f32 && (wide || (format != Format::f16 && format != Format::bf16)))
      return refusal("{}: found {}, allowed: {}", field, name_of(format),
                     wide ? "f32 (as the sums are: binary64)" : "f32, f16, bf16");
  if (plan.running != Format::f32 && !plan.scalar)
    return refusal("running: found {}, allowed: f32 but with scalar", name_of(plan.running));
  if (wide && (plan.output != Format::f64 || problem.epilogue))
    return refusal("output: found {}, allowed: f64 alone where the sums are f64",
                   problem.epilogue ? "an epilogue" : std::string(name_of(plan.output)));
  if (wide && plan.promote != 0 && !plan.scalar)
    return refusal("promote: found {}, allowed: 0, or scalar, where the sums are f64", plan.promote);
  constexpr std::uint64_t kMostSlices = 1 << 20;
  for (const auto& [field, count, order] :
       {std::tuple{"slices", plan.slices, plan.slice_order}, {"lanes", plan.lanes, plan.lane_order}}) {
    if (order == SliceOrder::halved && !std::has_single_bit(count))
      return refusal("{}: found {}, allowed: a power of two where their sums are halved", field, count);
    if (count == 0 || count > kMostSlices)
      return refusal("{}: found {}, allowed: 1 to {}", field, count, kMostSlices);
  }
  if (!plan.scalar && plan.lanes != 1)
    return refusal("lanes: found {}, allowed: 1 but with scalar", plan.lanes);
  if (plan.lane_tile == 0) return refusal("lane_tile: found 0, allowed: 1 or more");
  if (plan.scalar) {
    for (const Format format : {plan.instruction.a, plan.instruction.b}) {
      const FormatSpec spec = spec_of(format);
      if (spec.integer() || spec.signless || (format == Format::f64) != wide)
        return refusal("a, b: found {} and {}, allowed: floating-point formats, f64 only with f64",
                       name_of(plan.instruction.a), name_of(plan.instruction.b));
      if (plan.running != Format::f32 && !detail::holds(spec_of(plan.running), spec))
        return refusal("running: found {}, allowed: f32, or a format that has every number of {}",
                       name_of(plan.running), name_of(format));
    }
    return plan.head_tile != 0 ? refusal("scalar: found true with head_tile, allowed: without it") : "";
  }
  if (plan.head_tile % static_cast<std::uint64_t>(plan.instruction.k) != 0)
    return refusal("head_tile: found {}, allowed: a multiple of k = {} of the instruction", plan.head_tile,
                   plan.instruction.k);
  if (problem.c != nullptr && !problem.epilogue && plan.c_place == CPlace::epilogue)
    return refusal("c: found some, allowed: with an epilogue, which adds it");
  Matmul work = whole(plan, problem);
  if (wide) work.epilogue.reset();
  if (plan.slices > 1 && !wide) work.split_k = plan.slices;  // refuses sums that can't be added
  return why_no_matmul(plan.instruction, datapath, work);
}

void predict(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product) {
  Matmul work = problem;
  std::vector<std::byte> a, b;
  if (!plan.scalar && plan.input != InputRounding::toward_zero && plan.instruction.a == Format::tf32) {
    a = rounded_to_tf32(problem.a, problem.batch * problem.m * problem.k, plan.input);
    b = rounded_to_tf32(problem.b, problem.batch * problem.k * problem.n, plan.input);
    work.a = a.data();
    work.b = b.data();
  }
  // C as the sums are; what comes of them is rounded at the end.
  const bool starts = plan.c_place != CPlace::epilogue && problem.c != nullptr;
  const Format of_sums = plan.scalar ? (in_binary64(plan) ? Format::f64 : Format::f32) : plan.instruction.d;
  if (starts && plan.output != of_sums) {
    const std::uint64_t count = problem.batch * problem.m * problem.n;
    const FormatSpec from = spec_of(plan.output), to = spec_of(of_sums);
    std::vector<std::byte> c(count * to.storage_bytes()), d(c.size());
    for (std::uint64_t e = 0; e < count; ++e)
      store_word(c.data(), to.storage_bytes(), e,
                 cast_bits(load_word(problem.c, from.storage_bytes(), e), from, to, {}));
    GemmPlan sums = plan;
    sums.output = of_sums;
    work.c = c.data();
    work.d = d.data();
    predict(sums, datapath, work, product);
    const Finisher finished({1, 0, plan.output}, to);
    for (std::uint64_t e = 0; e < count; ++e)
      store_word(problem.d, from.storage_bytes(), e, finished(load_word(d.data(), to.storage_bytes(), e), 0));
    return;
  }
  if (in_binary64(plan)) {
    if (in_one_piece(plan, problem.k)) return product(plan.instruction, datapath, work);
    if (!starts) work.c = nullptr;
    const std::vector<std::uint64_t> total = SlicedProduct<double>(plan, datapath, work, product).total();
    std::memcpy(problem.d, total.data(), total.size() * sizeof(double));
    return;
  }
  if (in_one_piece(plan, problem.k)) return product(plan.instruction, datapath, whole(plan, work));
  if (!starts) work.c = nullptr;
  const std::vector<std::uint32_t> total = SlicedProduct<float>(plan, datapath, work, product).total();
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const Finisher finished(problem.epilogue.value_or(Epilogue{1, 0, plan.output}), spec_of(Format::f32));
  for (std::uint64_t e = 0; e < total.size(); ++e) {
    const std::uint64_t c = problem.epilogue && problem.c != nullptr ? load_word(problem.c, bytes, e) : 0;
    store_word(problem.d, bytes, e, finished(total[e], c));
  }
}

}  // namespace mmaudit
