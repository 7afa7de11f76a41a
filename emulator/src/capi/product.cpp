// The C interface: matrix products and their tolerance.
#include <cstring>
#include <span>
#include <vector>

#include "guard.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/tolerance.hpp"
#include "product.hpp"

namespace mmaudit::capi {

Product product_of(const mmaudit_product& work) {
  Product x;
  x.inst = capi::instruction_of(work.inst);
  x.datapath = &entry_of(architecture_of(work.arch), x.inst);
  x.problem.batch = work.batch;
  x.problem.m = work.m;
  x.problem.n = work.n;
  x.problem.k = work.k;
  x.problem.a = work.a.data;
  x.problem.b = work.b.data;
  x.problem.c = work.c.data;
  x.problem.d = work.d.data;
  x.problem.scale_a = bytes_at(work.scale_a);
  x.problem.scale_b = bytes_at(work.scale_b);
  x.problem.metadata = bytes_at(work.metadata);
  const std::string_view layout = work.scale_layout == nullptr ? "rows" : work.scale_layout;
  x.blocked = layout == "blocked";
  if (!x.blocked && layout != "rows") refuse("scale_layout: found {}, allowed: rows, blocked", layout);
  x.problem.promote = work.promote;
  x.problem.split_k = work.split_k;
  if (work.epilogue > 1) refuse("epilogue: found {}, allowed: 0, 1", work.epilogue);
  if (work.epilogue == 1) {
    const FormatSpec output =
        work.d_format == nullptr ? spec_of(Format::f32) : capi::format_of("d_format", work.d_format);
    x.problem.epilogue = Epilogue{work.alpha, work.beta, output.id};
  } else if (work.d_format != nullptr) {
    refuse("d_format: found without an epilogue, allowed: with one");
  }
  constexpr unsigned kMostThreads = 4096;
  if (work.threads > kMostThreads) refuse("threads: found {}, allowed: 0 to {}", work.threads, kMostThreads);
  x.options.threads = work.threads;
  x.options.fast = work.plain == 0;
  if (work.simd != nullptr) {
    x.options.level = find_simd_level(work.simd);
    if (!x.options.level || !has_simd_level(*x.options.level))
      refuse("simd: found {}, allowed: {} (on this machine)", work.simd, simd_levels_here());
  }
  Matmul sums = x.problem;
  // Factors finish sums of integers, which have no other epilogue.
  if (x.inst.d == Format::s32 && (given(work.factor_a) || given(work.factor_b))) sums.epilogue.reset();
  if (const std::string why = why_no_matmul(x.inst, x.datapath->datapath, sums); !why.empty())
    throw InputError(why + " with " + name_of(x.inst));
  const auto factors = [&](const char* field, mmaudit_in given_ones, std::uint64_t lanes) {
    LaneFactors out;
    if (!given(given_ones)) return out;
    const std::uint64_t block = work.factor_block;
    const std::uint64_t blocks = block == 0 ? 1 : detail::quotient_up(work.k, block);
    out.base = static_cast<const float*>(given_ones.data);
    if (given_ones.data != nullptr && given_ones.bytes == sizeof(float) && block == 0) return out;
    require(field, given_ones, {{"batch", work.batch}, {"lanes", lanes}, {"blocks", blocks}},
            spec_of(Format::f32));
    out.matrix_stride = lanes * blocks, out.lane_stride = blocks, out.block_stride = 1;
    return out;
  };
  x.factors = {factors("factor_a", work.factor_a, work.m), factors("factor_b", work.factor_b, work.n),
               work.factor_block, FactorOrder::product};
  if (work.factor_order != nullptr) {
    const auto order = find_factor_order(work.factor_order);
    if (!order) refuse("factor_order: found {}, allowed: {}", work.factor_order, names_of(factor_orders()));
    x.factors.order = *order;
  }
  if (const std::string why = why_no_factors(x.inst, x.problem, x.factors); !why.empty())
    throw InputError(why);
  return x;
}

namespace {

/// Scales of `rows` rows of A or columns of B; blocked ones become plain in `kept`.
void take_scales(const char* field, mmaudit_in bytes, ScaleOwner owner, std::uint64_t rows, const Product& x,
                 const std::uint8_t*& scales, std::vector<std::uint8_t>& kept) {
  if (!given(bytes)) return;
  const std::uint64_t blocks = scale_blocks(x.inst, x.problem), batch = x.problem.batch;
  const FormatSpec format = spec_of(x.inst.scale);
  const Axis of_rows{owner == ScaleOwner::a ? "m" : "n", rows}, of_blocks{"k / block", blocks};
  if (!x.blocked) {
    if (owner == ScaleOwner::a) return require(field, bytes, {{"batch", batch}, of_rows, of_blocks}, format);
    return require(field, bytes, {{"batch", batch}, of_blocks, of_rows}, format);
  }
  require(field, bytes,
          {{"batch", batch},
           {"tiles along the rows", detail::quotient_up(rows, kScaleTileRows)},
           {"tiles along the blocks", detail::quotient_up(blocks, kScaleTileBlocks)},
           {"512", kScaleTileRows * kScaleTileBlocks}},
          format);
  kept = plain_scales(bytes_at(bytes), owner, batch, rows, blocks);
  scales = kept.data();
}

}  // namespace

void take_operands(const mmaudit_product& work, Product& x, bool d) {
  const Format output = x.problem.epilogue ? x.problem.epilogue->output : x.inst.d;
  const std::uint64_t stored = stored_k(x.inst, x.problem);
  const char* depth = is_sparse(x.inst.op) ? "k / 2" : "k";
  require("a", work.a, {{"batch", work.batch}, {"m", work.m}, {depth, stored}}, spec_of(x.inst.a));
  require("b", work.b, {{"batch", work.batch}, {"k", work.k}, {"n", work.n}}, spec_of(x.inst.b));
  const std::initializer_list<Axis> result = {{"batch", work.batch}, {"m", work.m}, {"n", work.n}};
  require_if_given("c", work.c, result, spec_of(output));
  if (d) require("d", work.d, result, spec_of(output));
  take_scales("scale_a", work.scale_a, ScaleOwner::a, work.m, x, x.problem.scale_a, x.scale_a);
  take_scales("scale_b", work.scale_b, ScaleOwner::b, work.n, x, x.problem.scale_b, x.scale_b);
  if (!given(work.metadata)) return;
  require("metadata", work.metadata, {{"batch", work.batch}, {"m", work.m}, {"k / 2", stored}}, kByte);
  const std::span bytes(bytes_at(work.metadata), work.metadata.bytes);
  if (const std::string why = why_bad_metadata(sparsity_of(x.inst), bytes, work.batch, work.m, stored);
      !why.empty())
    throw InputError("metadata: " + why);
}

namespace {

/// take_operands() of memory of the host, whose bytes can be looked at.
void take_host_operands(const mmaudit_product& work, Product& x, bool d) {
  take_operands(work, x, d);
  require_unpacked("a", work.a, spec_of(x.inst.a));
  require_unpacked("b", work.b, spec_of(x.inst.b));
}

void run_product(const mmaudit_product& work) {
  Product x = product_of(work);
  take_host_operands(work, x, true);
  require_apart("a", work.d, work.a);
  require_apart("b", work.d, work.b);
  require_apart("c", work.d, work.c, true);
  require_apart("scale_a", work.d, work.scale_a);
  require_apart("scale_b", work.d, work.scale_b);
  require_apart("metadata", work.d, work.metadata);
  scaled_matmul(x.inst, x.datapath->datapath, x.problem, x.factors, x.options);
}

Product toleranced(const mmaudit_product& work, bool d) {
  Product x = product_of(work);
  if (x.factors.any()) refuse("factor_a: found with a tolerance, allowed: without one");
  if (const std::string why = why_no_tolerance(x.inst, x.datapath->datapath, x.problem); !why.empty())
    throw InputError(why + " with " + name_of(x.inst));
  take_host_operands(work, x, d);
  return x;
}

void run_tolerance(const mmaudit_product& work, mmaudit_out exact, mmaudit_out bound) {
  const Product x = toleranced(work, false);
  const std::initializer_list<Axis> axes = {{"batch", work.batch}, {"m", work.m}, {"n", work.n}};
  require_if_given("exact", exact, axes, spec_of(Format::f64));
  require_if_given("bound", bound, axes, spec_of(Format::f64));
  const GemmTolerance found = gemm_tolerance(x.inst, x.datapath->datapath, x.problem);
  if (exact.bytes != 0) std::memcpy(exact.data, found.exact.data(), exact.bytes);
  if (bound.bytes != 0) std::memcpy(bound.data, found.bound.data(), bound.bytes);
}

GemmCheck checked(const mmaudit_product& work) {
  const Product x = toleranced(work, true);
  return check_gemm(x.inst, x.datapath->datapath, x.problem);
}

mmaudit_gemm_check given_check(const GemmCheck& found) {
  mmaudit_gemm_check out{};
  out.within = found.within ? 1 : 0;
  out.vacuous = found.vacuous ? 1 : 0;
  out.elements = found.elements;
  out.beyond = found.beyond;
  out.worst_matrix = found.worst_matrix;
  out.worst_row = found.worst_row;
  out.worst_column = found.worst_column;
  out.worst_exact = found.worst_exact;
  out.worst_found = found.worst_found;
  out.worst_bound = found.worst_bound;
  return out;
}

GemmCloseness closeness(const mmaudit_product& work, double false_alarm) {
  if (!(false_alarm > 0 && false_alarm < 1))
    refuse("false_alarm: found {}, allowed: above 0 and below 1", false_alarm);
  const Product x = toleranced(work, true);
  return check_gemm_close(x.inst, x.datapath->datapath, x.problem, {false_alarm, work.threads});
}

mmaudit_gemm_closeness given_closeness(const GemmCloseness& found) {
  mmaudit_gemm_closeness out{};
  out.close = found.close() ? 1 : 0;
  out.follows = found.follows ? 1 : 0;
  out.elements = found.elements;
  out.bit_exact = found.bit_exact;
  out.beyond = found.beyond;
  out.drift = found.drift;
  out.drift_limit = found.drift_limit;
  out.spread = found.spread;
  out.spread_limit = found.spread_limit;
  out.worst_matrix = found.worst_matrix;
  out.worst_row = found.worst_row;
  out.worst_column = found.worst_column;
  out.worst_exact = found.worst_exact;
  out.worst_found = found.worst_found;
  out.worst_model = found.worst_model;
  out.worst_limit = found.worst_limit;
  return out;
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;
using mmaudit::refuse;

extern "C" {

int mmaudit_matmul(const mmaudit_product* work) {
  return guarded([&] { run_product(taken(work)); });
}

int mmaudit_matmul_bytes(const mmaudit_product* work, uint64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) refuse("bytes: found null, allowed: where to put the number");
    const auto x = product_of(taken(work));
    *bytes = mmaudit::matmul_bytes(x.inst, x.problem, x.options).value_or(UINT64_MAX);
  });
}

int mmaudit_gemm_tolerance(const mmaudit_product* work, mmaudit_out exact, mmaudit_out bound) {
  return guarded([&] { run_tolerance(taken(work), exact, bound); });
}

int mmaudit_check_gemm(const mmaudit_product* work, mmaudit_gemm_check* result, char** explanation) {
  return guarded([&] {
    if (result == nullptr) refuse("result: found null, allowed: a structure");
    const mmaudit::GemmCheck found = checked(taken(work));
    give(given_check(found), result);
    if (explanation != nullptr) give_text(explanation, [&] { return found.explanation(); });
  });
}

int mmaudit_check_gemm_close(const mmaudit_product* work, double false_alarm, mmaudit_gemm_closeness* result,
                             char** explanation) {
  return guarded([&] {
    if (result == nullptr) refuse("result: found null, allowed: a structure");
    const mmaudit::GemmCloseness found = closeness(taken(work), false_alarm);
    give(given_closeness(found), result);
    if (explanation != nullptr) give_text(explanation, [&] { return found.explanation(); });
  });
}
}
