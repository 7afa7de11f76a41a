// The C interface: tiles, one dot product.
#include <cstring>
#include <span>
#include <vector>

#include "guard.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/shrink.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::capi {
namespace {

std::uint64_t length(int x) { return static_cast<std::uint64_t>(x); }

void require_modifiers(const Instruction& inst, unsigned bits) {
  if (bits == 0) return;
  if (!is_asynchronous(inst.op))
    refuse("modifiers: found with {}, allowed: with wgmma and tcgen05 only", name_of(inst));
  constexpr unsigned kAllowed = kScaleDZero | kNegateA | kNegateB;
  if ((bits & ~kAllowed) != 0) refuse("modifiers: found {}, allowed: 0 to {}", bits, kAllowed);
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
  require_unpacked("a", x.a, spec_of(inst.a));
  require_unpacked("b", x.b, spec_of(inst.b));
  const auto scales = [&](const char* field, mmaudit_in bytes, std::initializer_list<Axis> axes) {
    if (!given(bytes)) return;
    if (inst.scale == Format::none)
      refuse("{}: found with {}, allowed: with block-scaled instructions only (kind_mx...)", field,
             name_of(inst));
    require(field, bytes, axes, spec_of(inst.scale));
  };
  scales("scale_a", x.scale_a, {{"tiles", tiles}, {"m", m}, {"k / block", blocks}});
  scales("scale_b", x.scale_b, {{"tiles", tiles}, {"k / block", blocks}, {"n", n}});
  const bool has_metadata = given(x.metadata);
  if (has_metadata != is_sparse(inst.op))
    refuse("metadata: found {} with {}, allowed: with sparse instructions, which need it",
           has_metadata ? "some" : "none", name_of(inst));
  if (!has_metadata) return;
  require("metadata", x.metadata, {{"tiles", tiles}, {"m", m}, {"k / 2", stored}}, kByte);
  Instruction rows = inst;
  rows.m = static_cast<std::int16_t>(m);
  const std::span bytes(bytes_at(x.metadata), x.metadata.bytes);
  if (const std::string why = why_bad_metadata(rows, bytes, tiles); !why.empty())
    throw InputError("metadata: " + why);
}

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
  if (first_failing == nullptr) refuse("first_failing: found null, allowed: a function");
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

int mmaudit_explain(const mmaudit_dot* work, char** json) {
  return guarded([&] { give_text(json, [&] { return explained(taken(work)); }); });
}

int mmaudit_shrink(const mmaudit_dot* work, mmaudit_first_failing first_failing, void* user,
                   const mmaudit_shrunk* result) {
  return guarded([&] { run_shrink(taken(work), first_failing, user, taken(result)); });
}
}
