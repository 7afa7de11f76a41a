// Sun et al. 2023, section 8.1, with the draws, conversions and statistic of the authors' programs, and the
// same three operations on the FP8 instructions, which the paper does not have.
#include <utility>

#include "mmaudit/report/audit.hpp"
#include "normal_draws.hpp"
#include "printed.hpp"
#include "published.hpp"
#include "tiles.hpp"

namespace mmaudit::report {
namespace {

struct ProfileKind {
  std::string_view instruction;
  int addition_rounds;  ///< of inner-product addition and accumulation; multiplication has 1000
  std::size_t rounds_per_tile;
};

// The FP16 program of the two additions takes its rounds from the makefile (999). FP8 has no program to
// follow: eight rounds share a tile, along its diagonal.
// clang-format off
constexpr ProfileKind kProfileKinds[] = {
    {"mma.m16n8k8.f32.tf32.tf32.f32",  1000, 1},
    {"mma.m16n8k8.f32.f16.f16.f32",     999, 1},
    {"mma.m16n8k8.f16.f16.f16.f16",     999, 1},
    {"mma.m16n8k8.f32.bf16.bf16.f32",  1000, 1},
    {"mma.m16n8k16.f32.e4m3.e4m3.f32", 1000, 8},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 1000, 8},
    {"wgmma.m64n8k32.f32.e4m3.e4m3",   1000, 8},
    {"mma.m16n8k16.f32.e5m2.e5m2.f32", 1000, 8},
    {"mma.m16n8k32.f32.e5m2.e5m2.f32", 1000, 8},
    {"wgmma.m64n8k32.f32.e5m2.e5m2",   1000, 8},
};
// clang-format on
constexpr int kMultiplicationRounds = 1000;

using Pair = std::pair<float, float>;

/// The two numbers of every round: a and b, a0 and a1, or a and c.
std::vector<Pair> draw(const ProfileKind& kind, Format low, Operation operation, Initialisation init) {
  const int rounds = operation == Operation::multiplication ? kMultiplicationRounds : kind.addition_rounds;
  NormalDraws next(kPublishedSeed);
  std::vector<Pair> pairs(static_cast<std::size_t>(rounds));
  for (auto& [first, second] : pairs) {
    first = next();
    second = next();
    if (init == Initialisation::fp32) continue;
    first = cast_draw(first, low);
    if (init == Initialisation::low) second = cast_draw(second, low);
  }
  return pairs;
}

/// The programs' CPU loop: binary32, products added to 0 in ascending k, C last.
float cpu_reference(Operation operation, const Pair& pair) {
  if (operation == Operation::multiplication) return pair.first * pair.second;
  return pair.first + pair.second;
}

std::vector<double> run(const Backend& backend, const Instruction& instruction, const ProfileKind& kind,
                        Operation operation, const std::vector<Pair>& pairs) {
  const std::size_t per_tile = kind.rounds_per_tile;
  const CastRule load = published_casts(instruction.a).load;
  TileBatch tiles(instruction, (pairs.size() + per_tile - 1) / per_tile);
  TileMatrix a = a_of(tiles), b = b_of(tiles), c = c_of(tiles);
  for (std::size_t round = 0; round < pairs.size(); ++round) {
    const std::size_t tile = round / per_tile, i = round % per_tile;
    const auto [first, second] = pairs[round];
    const bool multiply = operation == Operation::multiplication;
    a.set(tile, i, 0, first, load);
    b.set(tile, 0, i, multiply ? second : 1.0F, load);
    if (operation == Operation::inner_product_add) {
      a.set(tile, i, 1, second, load);
      b.set(tile, 1, i, 1.0F, load);
    }
    if (operation == Operation::accumulation) c.set(tile, i, i, second);
  }
  backend.run(instruction, tiles.view());
  const TileMatrix d = d_of(tiles);
  std::vector<double> results(pairs.size());
  for (std::size_t round = 0; round < pairs.size(); ++round)
    results[round] = d.get(round / per_tile, round % per_tile, round % per_tile);
  return results;
}

void compare_with_print(ProfileCell& cell) {
  const auto published = published_error(cell);
  if (!published) return;
  cell.published = published->printed;
  cell.source = published->source;
  const double ours = cell.error.mean_absolute;
  if (has_printed_digits(ours, cell.published)) {
    cell.agreement = Agreement::same_digits;
  } else if (cell.init == Initialisation::low_raw_c && ours >= kRawCLeast && ours <= kRawCMost) {
    cell.agreement = Agreement::explained;
    cell.note = kRawCCause;
  } else {
    cell.agreement = Agreement::differs;
  }
}

void profile(const Backend& backend, const ProfileKind& kind, const Instruction& instruction,
             Operation operation, Initialisation init, std::vector<ProfileCell>& cells) {
  const std::vector<Pair> pairs = draw(kind, instruction.a, operation, init);
  const std::vector<double> results = run(backend, instruction, kind, operation, pairs);
  const FormatSpec output = spec_of(instruction.d);
  for (const Reference reference : {Reference::fp32, Reference::fp32_as_output}) {
    if (reference == Reference::fp32_as_output && instruction.d == Format::f32) continue;
    ProfileCell cell;
    cell.dtype = instruction.a;
    cell.output = instruction.d;
    cell.instruction = name_of(instruction);
    cell.operation = operation;
    cell.init = init;
    cell.reference = reference;
    for (std::size_t round = 0; round < pairs.size(); ++round) {
      double expected = cpu_reference(operation, pairs[round]);
      if (reference == Reference::fp32_as_output)
        expected = decode_value(encode_nearest_even(expected, output), output);
      cell.error.add(results[round], expected);
    }
    cell.error.finish();
    compare_with_print(cell);
    cells.push_back(std::move(cell));
  }
}

}  // namespace

std::vector<ProfileCell> elementwise_profile(const Backend& backend) {
  std::vector<ProfileCell> cells;
  for (const ProfileKind& kind : kProfileKinds) {
    const auto instruction = find_instruction(kind.instruction);
    if (!instruction || !backend.why_not(*instruction, 0).empty()) continue;
    for (const Operation operation :
         {Operation::multiplication, Operation::inner_product_add, Operation::accumulation})
      for (const Initialisation init : {Initialisation::low, Initialisation::low_raw_c, Initialisation::fp32})
        // An FP16 C can't be kept in FP32.
        if (init != Initialisation::low_raw_c ||
            (operation == Operation::accumulation && instruction->c == Format::f32))
          profile(backend, kind, *instruction, operation, init, cells);
  }
  return cells;
}

}  // namespace mmaudit::report
