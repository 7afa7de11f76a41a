// tcgen05.mma as a program writes it. Source: PTX ISA 9.0, 9.7.16.10.9.
#include <algorithm>
#include <iterator>

#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "state.hpp"

namespace mmaudit::tmem {
namespace {

constexpr MmaKind kKinds[] = {MmaKind::f16,      MmaKind::tf32, MmaKind::f8f6f4,  MmaKind::i8,
                              MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4};
constexpr std::string_view kBuffers[] = {"a", "b0", "b1", "b2", "b3"},
                           kOperations[] = {"fill", "use", "lastuse", "discard"};

/// Qualifiers besides .cta_group, .kind and .collector.
constexpr std::string_view kQualifiers[] = {
    "tcgen05",       "mma",           "ws",      "sp",     "block_scale", "ashift", "scale_vec::1X",
    "scale_vec::2X", "scale_vec::4X", "block16", "block32"};

std::string lanes_text(const Mma& mma, std::uint32_t d) {
  const DLayout& layout = mma.layout;
  const int first = Address::of(d).lane, last = first + d_lane(layout, layout.rows - 1, layout.blocks - 1);
  return "lanes " + std::to_string(first) + " to " + std::to_string(last) + " (layout " + layout.id + ")";
}

}  // namespace

bool Interpreter::State::read_form(MmaForm& form) {
  form = {};
  for (const std::string& part : instruction->opcode) {
    const bool prefixed =
        part.starts_with("cta_group::") || part.starts_with("kind::") || part.starts_with("collector::");
    if (!prefixed &&
        std::find(std::begin(kQualifiers), std::end(kQualifiers), part) == std::end(kQualifiers)) {
      fail("qualifier", "." + part);
      return false;
    }
  }
  const std::string_view kind = instruction->after("kind::");
  const auto* const known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](MmaKind x) { return mmaudit::name_of(x) == kind; });
  if (known == std::end(kKinds) || instruction->after("cta_group::").empty()) {
    fail("qualifier", known == std::end(kKinds) ? ".kind::" + std::string(kind) : "no .cta_group");
    return false;
  }
  form.kind = *known;
  form.sparse = instruction->has("sp");
  form.weight_stationary = instruction->has("ws");
  form.block_scale = instruction->has("block_scale");
  form.ashift = instruction->has("ashift");
  form.cta_group = cta_group == "2" ? 2 : 1;
  const bool scaled = instruction->after("kind::").starts_with("mx");
  if (scaled != form.block_scale) {
    fail("block_scale", scaled ? "none" : "one with another kind");
    return false;
  }
  const std::string_view vec = instruction->after("scale_vec::");
  if (!vec.empty()) form.scale_vec = vec.front() - '0';
  // .block16 and .block32 are other names of .scale_vec.
  if (instruction->has("block16")) form.scale_vec = 4;
  if (instruction->has("block32")) form.scale_vec = form.kind == MmaKind::mxf8f6f4 ? 1 : 2;
  if (const std::string_view usage = instruction->after("collector::"); !usage.empty()) {
    const auto colons = usage.find("::");
    const std::string_view buffer = usage.substr(0, colons),
                           op = colons == std::string_view::npos ? "" : usage.substr(colons + 2);
    const auto* const at = std::find(std::begin(kBuffers), std::end(kBuffers), buffer);
    if (at == std::end(kBuffers) || (*at == "a") == form.weight_stationary ||
        std::find(std::begin(kOperations), std::end(kOperations), op) == std::end(kOperations)) {
      fail("collector_op", std::string(usage));
      return false;
    }
    form.collector_buffer = static_cast<int>(at - std::begin(kBuffers));
    form.collector = op;
  } else if (form.weight_stationary) {
    form.collector_buffer = 1;
  }
  if (form.ashift && (form.collector == "fill" || form.collector == "use")) {
    fail("ashift_collector", form.collector);
    return false;
  }
  if (form.ashift && (form.block_scale || form.weight_stationary)) {
    fail("qualifier", ".ashift");
    return false;
  }
  return true;
}

bool Interpreter::State::use_collector(const MmaForm& form, std::uint64_t source,
                                       const std::vector<std::byte>& content) {
  Collector& buffer = collectors[static_cast<std::size_t>(form.collector_buffer)];
  if (form.collector == "use" || form.collector == "lastuse") {
    // Reuse is only permitted, not certain: the bits are known where memory still holds the filled matrix.
    if (!buffer.valid || buffer.source != source || buffer.content != content) {
      fail("collector_filled", !buffer.valid             ? "an empty one"
                               : buffer.source != source ? "another matrix"
                                                         : "a matrix that changed since");
      return false;
    }
  }
  if (form.collector == "fill") buffer = {true, source, content};
  if (form.collector == "lastuse" || form.collector == "discard") buffer = {};
  return true;
}

void Interpreter::State::mma() {
  MmaForm form;
  if (single_thread() < 0 || !read_form(form)) return;
  const int thread = active.front();
  using Kind = Operand::Kind;
  MmaOperands operands;
  std::size_t next_operand = 0;
  const auto place = [&](std::string_view name) {  // an [address] of tensor memory
    const Operand& one = operand(next_operand++);
    if (one.kind != Kind::address) fail(name, "no [address]");
    return !failed() ? static_cast<std::uint32_t>(address(thread, one)) : 0U;
  };
  operands.d = place("place_d");
  const Operand a = operand(next_operand++);
  operands.a_in_tensor_memory = a.kind == Kind::address;
  if (a.kind == Kind::vector) fail("place_a", "a vector");
  if (!failed()) operands.a = operands.a_in_tensor_memory ? address(thread, a) : value(thread, a);
  const Operand b = operand(next_operand++);
  if (b.kind != Kind::reg && b.kind != Kind::immediate)
    fail("place_b", b.kind == Kind::address ? "[address]" : "no descriptor");
  if (!failed()) operands.b = value(thread, b);
  if (form.sparse) operands.metadata = place("place_metadata");
  const Operand descriptor = operand(next_operand++);
  if (descriptor.kind != Kind::reg && descriptor.kind != Kind::immediate)
    fail("mma_operands", "no instruction descriptor after B");
  const auto idesc = !failed() ? static_cast<std::uint32_t>(value(thread, descriptor)) : 0U;
  if (form.block_scale) {
    operands.scale_a = place("place_scales");
    operands.scale_b = place("place_scales");
  }
  if (!failed() && operand(next_operand).kind == Kind::vector) {
    const Operand lanes = operand(next_operand++);
    if (form.block_scale || form.weight_stationary || lanes.elements.size() != index_at(form.cta_group, 4, 0))
      fail("disable_size", std::to_string(lanes.elements.size()));
    for (const Operand& element : lanes.elements)
      operands.disabled.push_back(static_cast<std::uint32_t>(value(thread, element)));
  }
  const Operand enable = operand(next_operand++);
  if (!failed() && enable.kind != Kind::reg) fail("mma_operands", "no predicate for enable-input-d");
  if (!failed()) operands.read_d = value(thread, enable) != 0;
  if (!failed() && next_operand < instruction->operands.size()) {
    const Operand last = operand(next_operand++);
    if (form.weight_stationary) {
      operands.mask = value(thread, last);
    } else {
      if (form.kind != MmaKind::f16 && form.kind != MmaKind::tf32)
        fail("scale_d_kind", instruction->after("kind::"));
      if (last.kind != Kind::immediate || last.value < 0 || last.value > 15)
        fail("scale_d_range", last.kind == Kind::immediate ? std::to_string(last.value) : "a register");
      operands.scale_d = static_cast<int>(last.value);
    }
  }
  if (next_operand < instruction->operands.size())
    fail("mma_operands", std::to_string(instruction->operands.size()) + " operands");
  if (failed()) return;

  Mma mma;
  // kind::i8 is not in the targets of the family.
  fail(understand(form, idesc, program.target.empty() || program.target == "sm_100a", mma));
  if (failed()) return;
  const DatapathEntry* const entry = find_datapath(architecture, mma.instruction);
  if (entry == nullptr)
    return fail(
        refusal("architecture: found {}, which lacks tcgen05, allowed: blackwell", architecture.name));

  std::vector<Cta*> used;
  for (int cta = 0; cta < count; ++cta)
    if (form.cta_group == 2 || cta == thread / kThreads)
      used.push_back(ctas[static_cast<std::size_t>(cta)].get());
  const MmaRegions regions = regions_of(mma, operands);
  const Region reads[] = {regions.a, regions.scale_a, regions.scale_b, regions.metadata};
  const std::uint64_t accumulator = std::uint64_t{operands.d} << 32 |
                                    static_cast<std::uint64_t>(mma.instruction.m) << 16 |
                                    static_cast<std::uint64_t>(mma.instruction.n);
  const int first_cta = form.cta_group == 2 ? 0 : thread / kThreads;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const int cta = first_cta + static_cast<int>(i);
    const auto inside = [](Region region) { return region.first_column + region.columns <= kColumns; };
    if (inside(regions.d)) check_asynchronous(cta, regions.d, 'm', true, accumulator);
    for (const Region& region : reads)
      if (inside(region)) check_asynchronous(cta, region, 'm', false);
  }
  if (failed()) return;
  MmaResult result = run_mma(mma, operands, entry->datapath, used);
  fail(result.refusal);
  if (failed()) return;
  const std::vector<std::byte>& content = form.weight_stationary ? result.tiles[0].b : result.collected_a;
  if (!use_collector(form, form.weight_stationary ? operands.b : operands.a, content)) return;
  constexpr char kLetters[] = {'A', 'a', 'b', 'm'};
  for (std::size_t i = 0; i < used.size(); ++i) {
    const int cta = first_cta + static_cast<int>(i);
    mark_written(cta, regions.d, 'm', accumulator);
    paint(cta, regions.d, 'D');
    for (std::size_t r = 0; r < std::size(reads); ++r) {
      mark_read(cta, reads[r]);
      paint(cta, reads[r], kLetters[r]);
    }
  }
  step.what = mmaudit::name_of(mma.instruction) + ", D = A * B" + (operands.read_d ? " + D" : "") +
              (operands.scale_d != 0 ? " * 2^-" + std::to_string(operands.scale_d) : "") + ", " +
              lanes_text(mma, operands.d) + ", columns " + std::to_string(regions.d.first_column) + " to " +
              std::to_string(regions.d.first_column + regions.d.columns - 1) + ", by the " +
              std::string(architecture.name) + " model (" + std::string(name_of(entry->evidence)) + ")";
}

}  // namespace mmaudit::tmem
