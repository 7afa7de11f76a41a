#include "mmaudit/gemm_plan.hpp"

#include <algorithm>
#include <cstring>

#include "epilogue.hpp"
#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// Collects the fields that differ from the defaults, as words.
struct Words {
  std::string text;

  void add(const std::string& words) { text += (text.empty() ? "" : ", ") + words; }
  static std::string spaced(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '_', ' ');
    return out;
  }
  void instruction(std::string_view /*name*/, const Instruction& value) { add(name_of(value)); }
  void count(std::string_view name, std::uint64_t value, std::uint64_t least) {
    if (value != least) add(spaced(name) + " " + std::to_string(value));
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum value) {
    if (value != Enum{}) add(spaced(name) + " " + spaced(name_in(names, value)));
  }
  void format(std::string_view name, Format value) {
    if (value != Format::f32) add(spaced(name) + " " + std::string(name_of(value)));
  }
};

std::uint64_t tile_of(const GemmPlan& plan) {
  return plan.tile_k != 0 ? plan.tile_k : static_cast<std::uint64_t>(plan.instruction.k);
}

/// Columns [range.first, range.last) of a (batch * m, k) matrix, contiguous.
std::vector<std::byte> columns_of(const void* a, std::uint64_t rows, std::uint64_t k, KRange range,
                                  std::size_t bytes) {
  const std::size_t length = (range.last - range.first) * bytes;
  std::vector<std::byte> out(rows * length);
  for (std::uint64_t row = 0; row < rows; ++row)
    std::memcpy(out.data() + row * length, static_cast<const std::byte*>(a) + (row * k + range.first) * bytes,
                length);
  return out;
}

/// Rows [range.first, range.last) of every (k, n) matrix of a batch.
std::vector<std::byte> rows_of(const Matmul& problem, KRange range, std::size_t bytes) {
  const std::size_t row = problem.n * bytes, length = (range.last - range.first) * row;
  std::vector<std::byte> out(problem.batch * length);
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
    std::memcpy(out.data() + matrix * length,
                static_cast<const std::byte*>(problem.b) + (matrix * problem.k + range.first) * row, length);
  return out;
}

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

/// The product as matmul() takes it, with everything of the plan that matmul() can say.
Matmul whole(const GemmPlan& plan, const Matmul& problem) {
  Matmul out = problem;
  out.promote = plan.promote;
  out.split_k = plan.slices;
  out.slice_tile = plan.slices > 1 ? plan.tile_k : 0;
  if (!out.epilogue && plan.output != plan.instruction.d) out.epilogue = Epilogue{1, 0, plan.output};
  return out;
}

/// The slices apart, each a product of its own, and their sums added one after another.
void sum_slices(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem,
                const Product& product) {
  const DotPlan dot = make_plan(plan.instruction, datapath);
  const FormatSpec f32 = spec_of(Format::f32), partial = spec_of(plan.partial);
  const std::uint64_t elements = problem.batch * problem.m * problem.n;
  std::vector<std::uint32_t> total(elements), sums(elements);
  std::vector<KRange> slices = slices_of(plan, problem.k);
  if (plan.slice_order == SliceOrder::descending) std::reverse(slices.begin(), slices.end());
  for (const KRange& slice : slices) {
    Matmul part = problem;
    part.k = slice.last - slice.first;
    const auto a = columns_of(problem.a, problem.batch * problem.m, problem.k, slice, dot.a.storage_bytes());
    const auto b = rows_of(problem, slice, dot.b.storage_bytes());
    part.a = a.data();
    part.b = b.data();
    part.c = nullptr;
    part.d = sums.data();
    part.promote = plan.promote;
    part.epilogue.reset();
    product(plan.instruction, datapath, part);
    for (std::uint64_t e = 0; e < elements; ++e) {
      const std::uint64_t sum = plan.partial == Format::f32
                                    ? sums[e]
                                    : cast_bits(cast_bits(sums[e], f32, partial, {}), partial, f32, {});
      total[e] = static_cast<std::uint32_t>(
          add_rounded(total[e], sum, f32, Rounding::nearest_even, dot.datapath.output));
    }
  }
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const Epilogue epilogue = problem.epilogue.value_or(Epilogue{1, 0, plan.output});
  for (std::uint64_t e = 0; e < elements; ++e) {
    const std::uint64_t c = problem.c != nullptr ? load_word(problem.c, bytes, e) : 0;
    store_word(problem.d, bytes, e, finished(epilogue, total[e], f32, c));
  }
}

/// What matmul() does by itself: slices as it cuts and adds them.
bool in_one_piece(const GemmPlan& plan) {
  return plan.slices == 1 || (plan.slice_rule == SliceRule::even && plan.partial == Format::f32 &&
                              plan.slice_order == SliceOrder::ascending);
}

std::string refusal(const char* field, const std::string& found, const std::string& allowed) {
  return std::string(field) + ": found " + found + ", allowed: " + allowed;
}

}  // namespace

std::string text_of(const GemmPlan& plan) {
  Words words;
  for_each_field(plan, words);
  return words.text;
}

std::vector<KRange> slices_of(const GemmPlan& plan, std::uint64_t k) {
  const std::uint64_t tile = tile_of(plan), tiles = detail::quotient_up(k, tile);
  const std::uint64_t slices = std::min(std::max<std::uint64_t>(plan.slices, 1), tiles);
  const bool even = plan.slice_rule == SliceRule::even;
  std::vector<KRange> out;
  out.reserve(slices);
  for (std::uint64_t slice = 0, first = 0; first < tiles; ++slice) {
    const std::uint64_t count =
        even ? detail::quotient_up(tiles, slices) : tiles / slices + (slice < tiles % slices ? 1 : 0);
    const std::uint64_t last = std::min(first + count, tiles);
    out.push_back({first * tile, std::min(last * tile, k)});
    first = last;
  }
  return out;
}

std::string why_no_prediction(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem) {
  if (problem.promote != 0)
    return refusal("promote", std::to_string(problem.promote), "the plan's, not a product's");
  if (problem.split_k != 1)
    return refusal("split_k", std::to_string(problem.split_k), "the plan's, not a product's");
  if (problem.epilogue && problem.epilogue->output != plan.output)
    return refusal("epilogue output", std::string(name_of(problem.epilogue->output)),
                   std::string(name_of(plan.output)) + ", the plan's output");
  if (plan.partial != Format::f32 && plan.partial != Format::f16 && plan.partial != Format::bf16)
    return refusal("partial", std::string(name_of(plan.partial)), "f32, f16, bf16");
  if (problem.c != nullptr && !problem.epilogue)
    return refusal("c", "some", "with an epilogue, which adds it");
  return why_no_matmul(plan.instruction, datapath, whole(plan, problem));
}

void predict(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product) {
  Matmul work = problem;
  std::vector<std::byte> a, b;
  if (plan.input != InputRounding::toward_zero && plan.instruction.a == Format::tf32) {
    a = rounded_to_tf32(problem.a, problem.batch * problem.m * problem.k, plan.input);
    b = rounded_to_tf32(problem.b, problem.batch * problem.k * problem.n, plan.input);
    work.a = a.data();
    work.b = b.data();
  }
  if (in_one_piece(plan)) return product(plan.instruction, datapath, whole(plan, work));
  sum_slices(plan, datapath, work, product);
}

}  // namespace mmaudit
