// A self-contained CUDA file: the registers of every lane, one instruction, and D beside what was found and
// what the law allows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/fragment.hpp"
#include "mmaudit/laws/report.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::laws {
namespace {

/// The words of every lane for a row-major matrix.
std::vector<std::vector<std::string>> registers_of(const Instruction& inst, const FragmentMap& map,
                                                   Format format, const std::vector<std::uint64_t>& matrix) {
  const int registers = map.values / elements_per_register(inst, format);
  std::vector<std::vector<std::string>> lanes;
  for (int lane = 0; lane < map.lanes; ++lane) {
    std::vector<std::string> words;
    for (int number = 0; number < registers; ++number) {
      const std::uint64_t word = register_word(inst, map, format, lane, number, [&](Coord at) {
        return matrix[static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.cols) +
                      static_cast<std::size_t>(at.col)];
      });
      words.push_back(fmt::format("0x{:x}", word));
    }
    lanes.push_back(std::move(words));
  }
  return lanes;
}

std::string array(const char* name, const char* type, const std::vector<std::vector<std::string>>& lanes) {
  std::string text = fmt::format("__constant__ {} {}[32][{}] = {{\n", type, name, lanes[0].size());
  for (const auto& words : lanes) text += fmt::format("    {{{}}},\n", fmt::join(words, ", "));
  return text + "};\n";
}

std::string operands(int first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("%{}", first + static_cast<int>(i)));
  return fmt::format("{{{}}}", fmt::join(names, ","));
}

std::string bindings(const char* constraint, const char* name, std::size_t count) {
  std::vector<std::string> text;
  for (std::size_t i = 0; i < count; ++i) text.push_back(fmt::format("\"{}\"({}[{}])", constraint, name, i));
  return fmt::format("{}", fmt::join(text, ", "));
}

/// "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
std::string ptx_of(const Instruction& inst) {
  std::string text = fmt::format("mma.sync.aligned.m{}n{}k{}.row.col", inst.m, inst.n, inst.k);
  if (inst.satfinite) text += ".satfinite";
  for (const Format format : {inst.d, inst.a, inst.b, inst.c}) text += fmt::format(".{}", name_of(format));
  if (inst.multiply == Multiply::xor_popc) text += ".xor.popc";
  if (inst.multiply == Multiply::and_popc) text += ".and.popc";
  return text;
}

}  // namespace

std::string cuda_repro(const Failure& failure) {
  const Instruction& inst = failure.instruction;
  if (inst.op != Op::mma || inst.kind != MmaKind::none || inst.c != inst.d || !has_fragment_maps(inst))
    return {};
  const Tile tile = tile_of(inst, failure.dot);
  const auto a = registers_of(inst, fragment_a(inst), inst.a, tile.a),
             b = registers_of(inst, fragment_b(inst), inst.b, tile.b),
             c = registers_of(inst, fragment_c(inst), inst.c, tile.c);
  const bool wide = spec_of(inst.d).storage_bits == 64;
  const char* type = wide ? "unsigned long long" : "unsigned";
  const char* of = wide ? "l" : "r";
  const int bits = spec_of(inst.d).storage_bits;
  const std::size_t d = c[0].size();
  std::string text = fmt::format(
      "// {} against the law \"{}\". Build: nvcc -arch=sm_{}{} FILE.cu\n#include <cstdio>\n\n", name_of(inst),
      failure.law, inst.min_compute_capability, inst.min_compute_capability >= 90 ? "a" : "");
  text += array("kA", type, a) + array("kB", type, b) + array("kC", type, c);
  text += fmt::format("\n__global__ void run({}* out) {{\n  const int lane = threadIdx.x;\n", type);
  for (const auto& [name, from, count] :
       {std::tuple{"a", "kA", a[0].size()}, std::tuple{"b", "kB", b[0].size()}, std::tuple{"d", "kC", d}})
    text += fmt::format("  {} {}[{}];\n  for (int i = 0; i < {}; ++i) {}[i] = {}[lane][i];\n", type, name,
                        count, count, name, from);
  text +=
      fmt::format("  asm volatile(\"{} {}, {}, {}, {};\"\n               : {}\n               : {}, {});\n",
                  ptx_of(inst), operands(0, d), operands(static_cast<int>(d), a[0].size()),
                  operands(static_cast<int>(d + a[0].size()), b[0].size()), operands(0, d),
                  bindings(fmt::format("+{}", of).c_str(), "d", d), bindings(of, "a", a[0].size()),
                  bindings(of, "b", b[0].size()));
  text += "  if (lane == 0) *out = d[0];  // element (0, 0) lies in the low bits\n}\n\n";
  return text + fmt::format(
                    "int main() {{\n  {0}* out;\n  if (cudaMallocManaged(&out, sizeof *out) != cudaSuccess) "
                    "return 3;\n"
                    "  run<<<1, 32>>>(out);\n  if (cudaDeviceSynchronize() != cudaSuccess) return 3;\n"
                    "  const unsigned long long mask = {1}, d = *out & mask;\n"
                    "  printf(\"D = 0x%llx; seen before 0x{2}, the law allows 0x{3}\\n\", d);\n  return d == "
                    "0x{3}ULL ? 0 "
                    ": 1;\n}}\n",
                    type, bits == 64 ? "~0ULL" : fmt::format("0x{:x}ULL", (std::uint64_t{1} << bits) - 1),
                    hex_text(failure.found, bits), hex_text(failure.expected, bits));
}

}  // namespace mmaudit::laws
