// The dot product that broke a law, as a stand-alone CUDA file.
#include <fmt/format.h>

#include "mmaudit/fragment.hpp"
#include "mmaudit/laws/cuda_program.hpp"
#include "mmaudit/laws/report.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::laws {
namespace {

/// Words of a row-major matrix: register r of lane l at r * lanes + l.
std::vector<std::uint64_t> registers_of(const Instruction& inst, const FragmentMap& map, Format format,
                                        const std::vector<std::uint64_t>& matrix) {
  std::vector<std::uint64_t> words;
  for (int number = 0; number < map.values / elements_per_register(inst, format); ++number)
    for (int lane = 0; lane < map.lanes; ++lane)
      words.push_back(register_word(inst, map, format, lane, number, [&](Coord at) {
        return matrix[static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.cols) +
                      static_cast<std::size_t>(at.col)];
      }));
  return words;
}

}  // namespace

std::string cuda_repro(const Failure& failure) {
  const Instruction& inst = failure.instruction;
  if (inst.op != Op::mma || inst.kind != MmaKind::none || inst.c != inst.d || !has_fragment_maps(inst))
    return {};
  const Tile tile = tile_of(inst, failure.dot);
  const int bits = spec_of(inst.d).storage_bits;
  CudaProgram program;
  program.title = {
      fmt::format("{} against the law \"{}\".", name_of(inst), failure.law),
      fmt::format("D of element (0, 0), the low bits of register 0 of lane 0: seen before 0x{}, the "
                  "law allows 0x{}.",
                  hex_text(failure.found, bits), hex_text(failure.expected, bits))};
  program.instruction = inst;
  program.a = registers_of(inst, fragment_a(inst), inst.a, tile.a);
  program.b = registers_of(inst, fragment_b(inst), inst.b, tile.b);
  program.c = registers_of(inst, fragment_c(inst), inst.c, tile.c);
  program.d.assign(program.c.size(), 0);
  program.mask.assign(program.c.size(), 0);
  program.d.front() = failure.expected;
  program.mask.front() = ~std::uint64_t{0} >> (64 - bits);
  return cuda_program(program);
}

}  // namespace mmaudit::laws
