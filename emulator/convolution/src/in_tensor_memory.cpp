// A convolution in tensor memory. A: 8 columns, which one shift moves and one instruction's k fills. Sources:
// PTX ISA 9.0, 9.7.16.9.3 (shift), 9.7.16.10.9 (mma, disable-output-lane, .ashift).
#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/mma.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "walk.hpp"

namespace mmaudit::conv {
namespace {

constexpr int kFirstColumnOfA = 256, kMostFilters = 256;

/// The instruction with M = 128 and N for these filters.
std::string understood(const Problem& problem, bool ashift, tmem::Mma& mma) {
  tmem::Mma wanted;
  wanted.form.kind = problem.instruction.kind;
  wanted.form.ashift = ashift;
  wanted.instruction = problem.instruction;
  wanted.instruction.m = tmem::kLanes;
  wanted.instruction.n = static_cast<std::int16_t>((problem.shape.filters + 15) / 16 * 16);
  return understand(wanted.form, instruction_descriptor(wanted), true, mma);
}

class TensorLanes {
 public:
  static constexpr int kTiles = tmem::kQuarters;

  explicit TensorLanes(const Problem& problem) : problem_(problem) {
    understood(problem, false, plain_);
    understood(problem, true, shifting_);
    std::uint32_t address = 0;
    cta_.memory.allocate(tmem::kColumns, address);
    const int n = plain_.instruction.n;
    operands_.a_in_tensor_memory = true;
    operands_.a = kFirstColumnOfA;
    operands_.b = tmem::encode({0, static_cast<std::uint32_t>(n) * 16, 128, tmem::kSwizzles[0]});
    // Lanes that no tile uses have words too: the instruction reads all 128.
    fill(0, n);
    fill(kFirstColumnOfA, tmem::kShiftColumns);
  }

  void start() { fill(0, plain_.instruction.n); }

  void load(int tile, int lane, const Pixel& pixel, int channel) {
    const int width = spec_of(problem_.instruction.a).storage_bits, each = 32 / width;
    for (int column = 0; column < tmem::kShiftColumns; ++column) {
      std::uint32_t word = 0;
      for (int i = 0; i < each; ++i)
        word |= static_cast<std::uint32_t>(activation(problem_, pixel, channel + column * each + i))
                << i * width;
      cta_.memory.set(tile * tmem::kWarpLanes + lane, kFirstColumnOfA + column, word);
    }
  }

  void shift(bool /*down*/) {
    for (int lane = 0; lane < tmem::kLanes; lane += tmem::kWarpLanes)
      cta_.memory.shift_down(lane, kFirstColumnOfA);
  }

  void multiply(const Step& step, const std::vector<std::vector<bool>>& masked, bool ashift) {
    fill_b(step);
    operands_.disabled.assign(tmem::kQuarters, ~std::uint32_t{0});
    for (std::size_t tile = 0; tile < masked.size(); ++tile)
      for (std::size_t lane = 0; lane < masked[tile].size(); ++lane)
        if (!masked[tile][lane]) operands_.disabled[tile] &= ~(std::uint32_t{1} << lane);
    tmem::Cta* const ctas[] = {&cta_};
    run_mma(ashift ? shifting_ : plain_, operands_, problem_.datapath, ctas);
  }

  [[nodiscard]] std::uint64_t d(int tile, int lane, int filter) const {
    return cta_.memory.at(tile * tmem::kWarpLanes + lane, filter);
  }

 private:
  void fill(int first, int columns) {
    for (int lane = 0; lane < tmem::kLanes; ++lane)
      for (int column = first; column < first + columns; ++column) cta_.memory.set(lane, column, 0);
  }

  void fill_b(const Step& step) {
    tmem::MatrixDescriptor matrix;
    decode(operands_.b, matrix);
    const Instruction& inst = plain_.instruction;
    const tmem::Packing packing = tmem::packing_of(inst.b, false);
    for (int filter = 0; filter < inst.n; ++filter) {
      for (int i = 0; i < inst.k; ++i) {
        const std::uint64_t bits =
            filter < problem_.shape.filters ? weight(problem_, filter, step.r, step.s, step.channel + i) : 0;
        const std::uint32_t byte = element_place(matrix, packing, false, filter, i).byte;
        for (std::uint32_t part = 0; part < spec_of(inst.b).storage_bytes(); ++part)
          cta_.shared[byte + part] = static_cast<std::uint8_t>(bits >> 8 * part);
        cta_.mark_written(byte, spec_of(inst.b).storage_bytes());
      }
    }
  }

  const Problem& problem_;
  tmem::Mma plain_, shifting_;
  tmem::MmaOperands operands_;
  tmem::Cta cta_;
};

}  // namespace

std::string why_not(const Problem& problem, const InTensorMemory& how) {
  const Instruction& inst = problem.instruction;
  if (std::string why = why_not(inst); !why.empty()) return why;
  if (inst.op != Op::tcgen05 || inst.k * spec_of(inst.a).storage_bits != 32 * tmem::kShiftColumns ||
      spec_of(inst.a).value_bits() < 8 || spec_of(inst.b).value_bits() < 8)
    return refusal(
        "instruction: found {}, allowed: tcgen05 of kind f16, tf32, f8f6f4 or i8, with elements of 8 bits or "
        "more",
        name_of(inst));
  if (!how.algorithm.down)
    return refusal(
        "algorithm: found a shift to the lane after, allowed: .down, which is the one that PTX has");
  if (problem.shape.filters > kMostFilters)
    return refusal("filters: found {}, allowed: 1 to {}, the N of one instruction", problem.shape.filters,
                   kMostFilters);
  const std::vector<Run> runs = runs_of(problem.shape);
  const int lanes = lanes_with_halo(runs, how.algorithm, how.lanes);
  if (how.lanes < 1 || lanes > tmem::kWarpLanes)
    return refusal("lanes: found {} with the halo, allowed: 1 to {}, which a shift moves", lanes,
                   tmem::kWarpLanes);
  if (how.ashift && how.algorithm.loading != Loading::ahead)
    return refusal("ashift: found {}, allowed: halo: the lane after must be there", how.algorithm.name);
  tmem::Mma mma;
  if (std::string why = understood(problem, how.ashift, mma); !why.empty()) return why;
  const int together = tmem::kQuarters * how.lanes,
            batches = (problem.shape.positions() + together - 1) / together;
  const double products = static_cast<double>(batches) * problem.shape.rows * problem.shape.columns *
                          blocks_of(problem.shape, inst.k) * tmem::kLanes * mma.instruction.n * inst.k;
  if (products > static_cast<double>(kMostProducts))
    return refusal("multiply-adds: found {} in tiles of 128 lanes, allowed: {} or less",
                   static_cast<std::uint64_t>(products), kMostProducts);
  return {};
}

Result convolve(const Problem& problem, const InTensorMemory& how) {
  TensorLanes memory(problem);
  return walk(problem, how.algorithm, how.lanes, how.ashift, memory);
}

}  // namespace mmaudit::conv
