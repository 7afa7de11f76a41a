// The C interface: tiles, matrix products, one dot product.
#include <cstring>
#include <span>
#include <vector>

#include "../json/writer.hpp"
#include "guard.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/shrink.hpp"
#include "mmaudit/tolerance.hpp"

namespace mmaudit::capi {
namespace {

constexpr FormatSpec kByte = spec_of(Format::u8);

std::uint64_t length(int x) { return static_cast<std::uint64_t>(x); }

void require_modifiers(const Instruction& inst, unsigned bits) {
  if (bits == 0) return;
  if (!is_wgmma(inst.op) && inst.op != Op::tcgen05)
    refuse("modifiers", "found with " + name_of(inst) + ", allowed with wgmma and tcgen05 only");
  constexpr unsigned kAllowed = kScaleDZero | kNegateA | kNegateB;
  if ((bits & ~kAllowed) != 0)
    refuse("modifiers", "found " + std::to_string(bits) + ", allowed: 0 to " + std::to_string(kAllowed));
}

/// Of all operands but C and D; `tiles` times a row of A of `m` rows, `n` columns of B.
struct Sides {
  mmaudit_in a, b, scale_a, scale_b, metadata;
};

void require_sides(const Instruction& inst, const Sides& x, std::uint64_t tiles, std::uint64_t m,
                   std::uint64_t n) {
  const std::uint64_t k = length(inst.k), stored = length(inst.stored_k()), blocks = length(scales_of(inst));
  const char* depth = is_sparse(inst.op) ? "k / 2" : "k";
  require("a", x.a, {{"tiles", tiles}, {"m", m}, {depth, stored}}, spec_of(inst.a));
  require("b", x.b, {{"tiles", tiles}, {"k", k}, {"n", n}}, spec_of(inst.b));
  const auto scales = [&](const char* field, mmaudit_in bytes, std::initializer_list<Axis> axes) {
    if (!given(bytes)) return;
    if (inst.scale == Format::none)
      refuse(field,
             "found with " + name_of(inst) + ", allowed with block-scaled instructions only (kind_mx...)");
    require(field, bytes, axes, spec_of(inst.scale));
  };
  scales("scale_a", x.scale_a, {{"tiles", tiles}, {"m", m}, {"k / block", blocks}});
  scales("scale_b", x.scale_b, {{"tiles", tiles}, {"k / block", blocks}, {"n", n}});
  const bool has_metadata = given(x.metadata);
  if (has_metadata != is_sparse(inst.op))
    refuse("metadata", std::string("found ") + (has_metadata ? "some" : "none") + " with " + name_of(inst) +
                           ", allowed: with sparse instructions, which need it");
  if (!has_metadata) return;
  require("metadata", x.metadata, {{"tiles", tiles}, {"m", m}, {"k / 2", stored}}, kByte);
  Instruction rows = inst;
  rows.m = static_cast<std::int16_t>(m);
  const std::span bytes(static_cast<const std::uint8_t*>(x.metadata.data), x.metadata.bytes);
  if (const std::string why = why_bad_metadata(rows, bytes, tiles); !why.empty()) refuse("metadata", why);
}

const std::uint8_t* bytes_at(mmaudit_in x) { return static_cast<const std::uint8_t*>(x.data); }

void run_tiles(const mmaudit_tiles& work) {
  const Instruction inst = capi::instruction_of(work.inst);
  const DatapathEntry& datapath = entry_of(architecture_of(work.arch), inst);
  const std::uint64_t tiles = work.tiles, m = length(inst.m), n = length(inst.n);
  require_sides(inst, {work.a, work.b, work.scale_a, work.scale_b, work.metadata}, tiles, m, n);
  const std::initializer_list<Axis> result = {{"tiles", tiles}, {"m", m}, {"n", n}};
  require_if_given("c", work.c, result, spec_of(inst.c));
  require("d", work.d, result, spec_of(inst.d));
  if (given(work.modifiers)) {
    require("modifiers", work.modifiers, {{"tiles", tiles}}, kByte);
    for (std::uint64_t i = 0; i < tiles; ++i) require_modifiers(inst, bytes_at(work.modifiers)[i]);
  }
  require_apart("c", work.d, work.c, inst.c == inst.d);
  for (const auto& [field, operand] : {std::pair{"a", work.a},
                                       {"b", work.b},
                                       {"scale_a", work.scale_a},
                                       {"scale_b", work.scale_b},
                                       {"metadata", work.metadata},
                                       {"modifiers", work.modifiers}})
    require_apart(field, work.d, operand);
  emulate(inst, datapath.datapath,
          {.tiles = work.tiles,
           .a = work.a.data,
           .b = work.b.data,
           .c = work.c.data,
           .d = work.d.data,
           .modifiers = bytes_at(work.modifiers),
           .scale_a = bytes_at(work.scale_a),
           .scale_b = bytes_at(work.scale_b),
           .metadata = bytes_at(work.metadata)});
}

/// The request for a matrix product, checked except for its arrays.
struct Product {
  Instruction inst;
  const DatapathEntry* datapath = nullptr;
  Matmul problem;
  MatmulOptions options;
  bool blocked = false;                        ///< the caller's scales are; the problem's never are
  std::vector<std::uint8_t> scale_a, scale_b;  ///< what blocked ones became
};

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
  if (!x.blocked && layout != "rows")
    refuse("scale_layout", "found " + std::string(layout) + ", allowed: rows, blocked");
  x.problem.promote = work.promote;
  x.problem.split_k = work.split_k;
  if (work.epilogue > 1) refuse("epilogue", "found " + std::to_string(work.epilogue) + ", allowed: 0, 1");
  if (work.epilogue == 1) {
    const FormatSpec output =
        work.d_format == nullptr ? spec_of(Format::f32) : capi::format_of("d_format", work.d_format);
    x.problem.epilogue = Epilogue{work.alpha, work.beta, output.id};
  } else if (work.d_format != nullptr) {
    refuse("d_format", "found without an epilogue, allowed with one");
  }
  constexpr unsigned kMostThreads = 4096;
  if (work.threads > kMostThreads)
    refuse("threads",
           "found " + std::to_string(work.threads) + ", allowed: 0 to " + std::to_string(kMostThreads));
  x.options.threads = work.threads;
  x.options.fast = work.plain == 0;
  if (work.simd != nullptr) {
    x.options.level = find_simd_level(work.simd);
    if (!x.options.level || !has_simd_level(*x.options.level)) {
      std::string allowed;
      for (const SimdLevel level : kSimdLevels)
        if (has_simd_level(level)) allowed.append(allowed.empty() ? "" : ", ").append(name_of(level));
      refuse("simd", "found " + std::string(work.simd) + ", allowed here: " + allowed);
    }
  }
  if (const std::string why = why_no_matmul(x.inst, x.datapath->datapath, x.problem); !why.empty())
    throw Refused{why + " with " + name_of(x.inst)};
  return x;
}

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

/// A, B, scales and metadata; C and D where they are read or written.
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
    refuse("metadata", why);
}

void run_product(const mmaudit_product& work) {
  Product x = product_of(work);
  take_operands(work, x, true);
  require_apart("a", work.d, work.a);
  require_apart("b", work.d, work.b);
  require_apart("c", work.d, work.c, true);
  require_apart("scale_a", work.d, work.scale_a);
  require_apart("scale_b", work.d, work.scale_b);
  require_apart("metadata", work.d, work.metadata);
  matmul(x.inst, x.datapath->datapath, x.problem, x.options);
}

Product toleranced(const mmaudit_product& work, bool d) {
  Product x = product_of(work);
  if (const std::string why = why_no_tolerance(x.inst, x.datapath->datapath, x.problem); !why.empty())
    throw Refused{why + " with " + name_of(x.inst)};
  take_operands(work, x, d);
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

std::vector<std::uint64_t> words(mmaudit_in x, const FormatSpec& format) {
  std::vector<std::uint64_t> out(x.bytes / format.storage_bytes());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_word(x.data, format.storage_bytes(), i);
  return out;
}

DotCase dot_of(const Instruction& inst, const mmaudit_dot& work) {
  require_sides(inst, {work.a, work.b, work.scale_a, work.scale_b, work.metadata}, 1, 1, 1);
  require_if_given("c", work.c, {{"1", 1}}, spec_of(inst.c));
  require_modifiers(inst, work.modifiers);
  DotCase dot;
  dot.a = words(work.a, spec_of(inst.a));
  dot.b = words(work.b, spec_of(inst.b));
  dot.c = work.c.data == nullptr ? 0 : words(work.c, spec_of(inst.c))[0];
  dot.modifiers = static_cast<std::uint8_t>(work.modifiers);
  const auto bytes = [](mmaudit_in x) { return std::vector(bytes_at(x), bytes_at(x) + x.bytes); };
  dot.scale_a = bytes(work.scale_a);
  dot.scale_b = bytes(work.scale_b);
  dot.metadata = bytes(work.metadata);
  return dot;
}

/// Numbers of several dot products, one after another, in storage width.
class Packed {
 public:
  explicit Packed(const FormatSpec& format) : width_(format.storage_bytes()) {}
  void add(std::span<const std::uint64_t> words) {
    for (const std::uint64_t word : words) {
      bytes_.resize(bytes_.size() + width_);
      store_word(bytes_.data(), width_, bytes_.size() / width_ - 1, word);
    }
  }
  [[nodiscard]] mmaudit_in in() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::size_t width_;
  std::vector<std::byte> bytes_;
};

/// The operands of `dots` as the caller sees them.
struct PackedDots {
  PackedDots(const Instruction& inst, std::span<const DotCase> dots)
      : a(spec_of(inst.a)), b(spec_of(inst.b)), c(spec_of(inst.c)) {
    for (const DotCase& dot : dots) {
      a.add(dot.a);
      b.add(dot.b);
      c.add(std::span(&dot.c, 1));
      scale_a.insert(scale_a.end(), dot.scale_a.begin(), dot.scale_a.end());
      scale_b.insert(scale_b.end(), dot.scale_b.begin(), dot.scale_b.end());
    }
  }
  Packed a, b, c;
  std::vector<std::uint8_t> scale_a, scale_b;
};

void run_shrink(const mmaudit_dot& work, mmaudit_first_failing first_failing, void* user,
                const mmaudit_shrunk& result) {
  const Instruction inst = capi::instruction_of(work.inst);
  const DotCase dot = dot_of(inst, work);
  if (first_failing == nullptr) refuse("first_failing", "found null, allowed: a function");
  require("a", result.a, {{"k", dot.a.size()}}, spec_of(inst.a));
  require("b", result.b, {{"k", dot.b.size()}}, spec_of(inst.b));
  require("c", result.c, {{"1", 1}}, spec_of(inst.c));
  if (!dot.scale_a.empty()) require("scale_a", result.scale_a, {{"blocks", dot.scale_a.size()}}, kByte);
  if (!dot.scale_b.empty()) require("scale_b", result.scale_b, {{"blocks", dot.scale_b.size()}}, kByte);
  const auto give_dots = [&](std::span<const DotCase> dots, auto&& use) {
    const PackedDots packed(inst, dots);
    const auto in = [](const std::vector<std::uint8_t>& x) { return mmaudit_in{x.data(), x.size()}; };
    mmaudit_dot view = work;
    view.a = packed.a.in();
    view.b = packed.b.in();
    view.c = packed.c.in();
    view.scale_a = in(packed.scale_a);
    view.scale_b = in(packed.scale_b);
    return use(view);
  };
  const DotCase simplest = shrink_dot(inst, dot, [&](std::span<const DotCase> dots) -> std::size_t {
    return dots.empty() ? 0 : give_dots(dots, [&](const mmaudit_dot& view) {
      return first_failing(user, dots.size(), &view);
    });
  });
  give_dots(std::span(&simplest, 1), [&](const mmaudit_dot& view) {
    const auto copy = [](mmaudit_out out, mmaudit_in in) {
      if (in.bytes != 0) std::memcpy(out.data, in.data, in.bytes);
    };
    copy(result.a, view.a);
    copy(result.b, view.b);
    copy(result.c, view.c);
    copy(result.scale_a, view.scale_a);
    copy(result.scale_b, view.scale_b);
    return 0;
  });
}

std::string explained(const mmaudit_dot& work) {
  const Instruction inst = capi::instruction_of(work.inst);
  const Architecture& architecture = architecture_of(work.arch);
  const DatapathEntry& datapath = entry_of(architecture, inst);
  const DotCase dot = dot_of(inst, work);
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.trace/1");
  out.field("architecture", architecture.name).field("instruction", name_of(inst));
  out.key("row").json(instruction_json(inst, datapath));
  out.key("trace").json(trace_json(explain(inst, datapath.datapath, dot)));
  return out.end_object().text();
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;

extern "C" {

int mmaudit_emulate(const mmaudit_tiles* work) {
  return guarded([&] { run_tiles(taken(work)); });
}

int mmaudit_matmul(const mmaudit_product* work) {
  return guarded([&] { run_product(taken(work)); });
}

int mmaudit_matmul_bytes(const mmaudit_product* work, uint64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) refuse("bytes", "found null, allowed: where to put the number");
    const auto x = product_of(taken(work));
    *bytes = mmaudit::matmul_bytes(x.inst, x.problem, x.options).value_or(UINT64_MAX);
  });
}

int mmaudit_gemm_tolerance(const mmaudit_product* work, mmaudit_out exact, mmaudit_out bound) {
  return guarded([&] { run_tolerance(taken(work), exact, bound); });
}

int mmaudit_check_gemm(const mmaudit_product* work, mmaudit_gemm_check* result, char** explanation) {
  return guarded([&] {
    if (result == nullptr) refuse("result", "found null, allowed: a structure");
    const mmaudit::GemmCheck found = checked(taken(work));
    give(given_check(found), result);
    if (explanation != nullptr) give_text(explanation, [&] { return found.explanation(); });
  });
}

int mmaudit_explain(const mmaudit_dot* work, char** json) {
  return guarded([&] { give_text(json, [&] { return explained(taken(work)); }); });
}

int mmaudit_shrink(const mmaudit_dot* work, mmaudit_first_failing first_failing, void* user,
                   const mmaudit_shrunk* result) {
  return guarded([&] { run_shrink(taken(work), first_failing, user, taken(result)); });
}
}
