#include "mmaudit/sweeps/subject.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "mmaudit/error.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kWarpLanes = 32, kMostWarpgroups = 4;

// One name a row. For wgmma with n = 8, which stands for every n.
constexpr std::string_view kMatrixSubjects[] = {
    "mma.m16n8k8.f32.f16.f16.f32",
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k8.f16.f16.f16.f16",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k8.f32.bf16.bf16.f32",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k4.f32.tf32.tf32.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "mma.m16n8k16.f32.e4m3.e4m3.f32",
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "mma.m16n8k32.f32.e5m2.e5m2.f32",
    "mma.m16n8k16.f16.e4m3.e4m3.f16",
    "mma.m16n8k32.f16.e4m3.e4m3.f16",
    "mma.m16n8k32.f16.e5m2.e5m2.f16",
    "mma.m8n8k4.f64.f64.f64.f64",
    "mma.m16n8k4.f64.f64.f64.f64",
    "mma.m16n8k8.f64.f64.f64.f64",
    "mma.m16n8k16.f64.f64.f64.f64",
    "mma.m8n8k16.s32.s8.s8.s32",
    "mma.m16n8k16.s32.s8.s8.s32",
    "mma.m16n8k32.s32.s8.s8.s32",
    "mma.m16n8k32.s32.u8.u8.s32",
    "mma.m16n8k32.satfinite.s32.s8.s8.s32",
    "mma.m8n8k32.s32.s4.s4.s32",
    "mma.m16n8k32.s32.s4.s4.s32",
    "mma.m16n8k64.s32.s4.s4.s32",
    "mma.m16n8k64.s32.u4.u4.s32",
    "mma.m8n8k128.s32.b1.b1.s32.xor.popc",
    "mma.m8n8k128.s32.b1.b1.s32.and.popc",
    "mma.m16n8k128.s32.b1.b1.s32.xor.popc",
    "mma.m16n8k128.s32.b1.b1.s32.and.popc",
    "mma.m16n8k256.s32.b1.b1.s32.xor.popc",
    "mma.m16n8k256.s32.b1.b1.s32.and.popc",
    "mma.sp.m16n8k16.f32.f16.f16.f32",
    "mma.sp.m16n8k32.f32.f16.f16.f32",
    "mma.sp.m16n8k16.f16.f16.f16.f16",
    "mma.sp.m16n8k32.f16.f16.f16.f16",
    "mma.sp.m16n8k16.f32.bf16.bf16.f32",
    "mma.sp.m16n8k32.f32.bf16.bf16.f32",
    "mma.sp.m16n8k8.f32.tf32.tf32.f32",
    "mma.sp.m16n8k16.f32.tf32.tf32.f32",
    "mma.sp.m16n8k64.f32.e4m3.e4m3.f32",
    "mma.sp.m16n8k64.f32.e5m2.e5m2.f32",
    "mma.sp.m16n8k32.s32.s8.s8.s32",
    "mma.sp.m16n8k64.s32.s8.s8.s32",
    "mma.sp.m16n8k64.s32.s4.s4.s32",
    "mma.sp.m16n8k128.s32.s4.s4.s32",
    "wmma.m16n16k16.f32.f16.f16.f32",
    "wmma.m16n16k16.f16.f16.f16.f16",
    "wmma.m32n8k16.f32.f16.f16.f32",
    "wmma.m8n32k16.f32.f16.f16.f32",
    "wmma.m16n16k16.f32.bf16.bf16.f32",
    "wmma.m16n16k8.f32.tf32.tf32.f32",
    "wmma.m8n8k4.f64.f64.f64.f64",
    "wmma.m16n16k16.s32.s8.s8.s32",
    "wgmma.m64n8k16.f32.f16.f16",
    "wgmma.m64n8k16.f16.f16.f16",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k8.f32.tf32.tf32",
    "wgmma.m64n8k32.f32.e4m3.e4m3",
    "wgmma.m64n8k32.f32.e5m2.e5m2",
    "wgmma.m64n8k32.f16.e4m3.e4m3",
    "wgmma.m64n8k32.f16.e5m2.e5m2",
    "wgmma.m64n8k32.s32.s8.s8",
    "wgmma.m64n8k32.s32.u8.u8",
    "wgmma.m64n8k256.s32.b1.b1.and.popc",
    "wgmma.sp.m64n8k32.f32.f16.f16",
    "wgmma.sp.m64n8k32.f16.f16.f16",
    "wgmma.sp.m64n8k32.f32.bf16.bf16",
    "wgmma.sp.m64n8k16.f32.tf32.tf32",
    "wgmma.sp.m64n8k64.f32.e4m3.e4m3",
    "wgmma.sp.m64n8k64.f16.e4m3.e4m3",
    "wgmma.sp.m64n8k64.s32.s8.s8",
};

/// Subjects whose sums are promoted: the instruction's name, n left open, and this.
constexpr std::string_view kPromotedSubjects[] = {"wgmma.m64n8k32.f32.e4m3.e4m3"};
constexpr char kPromotedSuffix[] = "+promote";
constexpr int kPromotedN[] = {64, 128};  // totals and sums fit into the registers

struct MemoryRow {
  std::string_view name;
  Kind kind;
  int words;
  bool trans = false;
};

constexpr MemoryRow kMemorySubjects[] = {
    {"ldmatrix.x1", Kind::load_matrix, 1},
    {"ldmatrix.x2", Kind::load_matrix, 2},
    {"ldmatrix.x4", Kind::load_matrix, 4},
    {"ldmatrix.x1.trans", Kind::load_matrix, 1, true},
    {"ldmatrix.x2.trans", Kind::load_matrix, 2, true},
    {"ldmatrix.x4.trans", Kind::load_matrix, 4, true},
    {"stmatrix.x1", Kind::store_matrix, 1},
    {"stmatrix.x2", Kind::store_matrix, 2},
    {"stmatrix.x4", Kind::store_matrix, 4},
    {"ld.shared.u32", Kind::load_words, 1},
    {"ld.shared.u64", Kind::load_words, 2},
    {"ld.shared.v4.u32", Kind::load_words, 4},
    {"wmma.load.a.m16n16k16.f16", Kind::load_fragment, 4},
    {"wmma.load.b.m16n16k16.f16", Kind::load_fragment, 4},
    {"wmma.store.d.m16n16k16.f32", Kind::store_fragment, 8},
    {"wmma.store.d.m16n16k16.f16", Kind::store_fragment, 4},
};

std::vector<std::string> axes_of(Kind kind) {
  switch (kind) {
    case Kind::mma:
      return {"scope", "init", "warps", "ilp"};
    case Kind::wgmma:
      return {"scope", "init", "warps", "n", "a", "group"};
    case Kind::load_words:
      return {"scope", "warps", "ilp", "ways"};
    default:
      return {"scope", "warps", "ilp"};
  }
}

bool has_axis(const Subject& subject, std::string_view name) {
  return std::find(subject.axes.begin(), subject.axes.end(), name) != subject.axes.end();
}

/// Sets one coordinate; false where the point does not exist.
bool place(Cell& cell, std::string_view axis, const std::string& value) {
  if (axis == "init") cell.init = value == "zero" ? Init::zero : Init::random;
  if (axis == "warps") cell.warps = std::stoi(value);
  if (axis == "ilp") cell.ilp = std::stoi(value);
  if (axis == "group") cell.group = std::stoi(value);
  if (axis == "ways") cell.ways = std::stoi(value);
  if (axis == "promote") cell.promote = std::stoi(value);
  if (axis == "a") cell.a_from_registers = value == "registers";
  if (axis == "n") cell.instruction.n = static_cast<std::int16_t>(std::stoi(value));
  if (cell.subject.promotes && cell.instruction.n != 0 &&
      std::find(std::begin(kPromotedN), std::end(kPromotedN), cell.instruction.n) == std::end(kPromotedN))
    return false;
  if (cell.subject.kind == Kind::wgmma)
    return cell.warps % kWarpgroupWarps == 0 && cell.warps <= kMostWarpgroups * kWarpgroupWarps;
  return cell.subject.kind != Kind::load_words || cell.stride() != 0;
}

}  // namespace

std::string_view name_of(Scope scope) {
  constexpr std::string_view kNames[] = {"sm", "gpu", "energy"};
  return kNames[static_cast<int>(scope)];
}

int Cell::stride() const {
  if (subject.kind != Kind::load_words) return subject.words == 0 ? 0 : 16;
  // Neighbouring lanes' words lie side by side up to the width of the load: fewer ways do not exist.
  return ways % subject.words == 0 ? 4 * ways : 0;
}

double Cell::fma() const {
  if (subject.kind != Kind::mma && subject.kind != Kind::wgmma) return 0;
  const int units = subject.kind == Kind::wgmma ? warps / kWarpgroupWarps : warps;
  return 1.0 * units * ilp * instruction.m * instruction.n * instruction.k;
}

double Cell::bytes() const { return 4.0 * subject.words * kWarpLanes * warps * ilp; }

std::vector<std::pair<std::string, std::string>> Cell::axis_values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& axis : subject.axes) {
    if (axis == "scope") values.emplace_back(axis, name_of(scope));
    if (axis == "init") values.emplace_back(axis, init == Init::zero ? "zero" : "random");
    if (axis == "warps") values.emplace_back(axis, std::to_string(warps));
    if (axis == "ilp") values.emplace_back(axis, std::to_string(ilp));
    if (axis == "n") values.emplace_back(axis, std::to_string(instruction.n));
    if (axis == "a") values.emplace_back(axis, a_from_registers ? "registers" : "shared");
    if (axis == "group") values.emplace_back(axis, std::to_string(group));
    if (axis == "promote") values.emplace_back(axis, std::to_string(promote));
    if (axis == "ways") values.emplace_back(axis, std::to_string(ways));
  }
  return values;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const std::string_view name : kMatrixSubjects) {
    const std::optional<Instruction> found = find_instruction(name);
    if (!found) throw std::logic_error("no such instruction: " + std::string(name));
    Subject subject;
    subject.kind = is_wgmma(found->op) ? Kind::wgmma : Kind::mma;
    subject.instruction = *found;
    if (subject.kind == Kind::wgmma) subject.instruction.n = 0;
    subject.name = name_of(subject.instruction);
    subject.axes = axes_of(subject.kind);
    all.push_back(subject);
  }
  for (const std::string_view name : kPromotedSubjects) {
    Subject subject;
    subject.kind = Kind::wgmma;
    subject.instruction = *find_instruction(name);
    subject.instruction.n = 0;
    subject.name = name_of(subject.instruction) + kPromotedSuffix;
    subject.promotes = true;
    subject.axes = {"scope", "init", "warps", "n", "promote"};
    all.push_back(subject);
  }
  for (const MemoryRow& row : kMemorySubjects) {
    Subject subject;
    subject.name = row.name;
    subject.kind = row.kind;
    subject.words = row.words;
    subject.trans = row.trans;
    subject.axes = axes_of(row.kind);
    all.push_back(subject);
  }
  return all;
}

std::vector<Subject> select_subjects(const std::vector<std::string>& parts) {
  std::vector<Subject> chosen;
  for (const Subject& subject : subjects())
    if (parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return subject.name.find(part) != std::string::npos;
        }))
      chosen.push_back(subject);
  if (chosen.empty())
    throw InputError(
        "--inst: found no such instruction, allowed: part of a name that `mmaudit sweep --list` prints");
  return chosen;
}

std::vector<Cell> cells_of(const Subject& subject, const std::vector<Axis>& axes) {
  std::vector<Cell> cells = {Cell{.subject = subject, .instruction = subject.instruction}};
  for (const Axis& axis : axes) {
    if (axis.name == "scope" || !has_axis(subject, axis.name)) continue;
    std::vector<Cell> next;
    for (const Cell& cell : cells)
      for (const std::string& value : axis.values) {
        next.push_back(cell);
        place(next.back(), axis.name, value);
      }
    cells = next;
  }
  std::erase_if(cells, [](Cell& cell) { return !place(cell, "", ""); });
  return cells;
}

}  // namespace mmaudit::sweeps
