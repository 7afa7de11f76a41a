#include "mmaudit/volta.hpp"

#include <stdexcept>

#include "mmaudit/refusal.hpp"

namespace mmaudit::volta {
namespace {

constexpr int kLanesOfGroup = 4;

/// Row-major place in a 16 x 16 matrix.
std::size_t element_at(int row, int col) {
  return static_cast<std::size_t>(row) * kSide + static_cast<std::size_t>(col);
}

/// Every lane's registers of A or B, from the whole matrix.
void load(const FragmentMap& map, std::span<const std::uint64_t> matrix,
          std::vector<std::uint64_t>& registers) {
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      const int place = lane * map.values + value;
      registers[static_cast<std::size_t>(place)] = matrix[element_at(at.row, at.col)];
    }
}

int first_row(int threadgroup) { return 8 * (threadgroup % 2) + 4 * (threadgroup / 4); }
int first_column_of_octet(int threadgroup) { return 8 * (threadgroup / 2 % 2); }

}  // namespace

std::vector<Hmma> schedule(Format sum) {
  std::vector<Hmma> all;
  for (int set = 0; set < kSets; ++set)
    for (int step = 0; step < (sum == Format::f32 ? 4 : 2); ++step) all.push_back({set, step});
  return all;
}

Block block_of(int threadgroup, const Hmma& hmma, Format sum) {
  const int row = first_row(threadgroup), col = first_column_of_octet(threadgroup);
  if (sum != Format::f32) return {row, col + 4 * hmma.step, 4, 4};
  return {row + 2 * (hmma.step % 2), col + 4 * (hmma.step / 2), 2, 4};
}

Warp::Warp(const Instruction& wmma, const Datapath& datapath, Layout a, Layout b)
    : instruction_(wmma),
      spec_(make_dot_spec(wmma, datapath)),
      a_map_(fragment_a(a)),
      b_map_(fragment_b(b)),
      a_(static_cast<std::size_t>(a_map_.lanes * a_map_.values)),
      b_(static_cast<std::size_t>(b_map_.lanes * b_map_.values)),
      sums_(element_at(kSide, 0)) {
  if (wmma.unit != units::wmma_f16 || wmma.m != kSide || wmma.n != kSide || wmma.k != kSide ||
      wmma.a != Format::f16 || datapath.products_per_step != kDepthOfSet ||
      datapath.addend != AddendPlace::in_first_step)
    throw std::invalid_argument(
        refusal("volta: found {}, allowed: wmma.m16n16k16 of f16 under a row of four products a step",
                name_of(wmma)));
}

void Warp::load_a(std::span<const std::uint64_t> matrix) { load(a_map_, matrix, a_); }

void Warp::load_b(std::span<const std::uint64_t> matrix) { load(b_map_, matrix, b_); }

void Warp::load_c(std::span<const std::uint64_t> matrix) {
  for (std::size_t element = 0; element < sums_.size(); ++element) sums_[element] = {matrix[element], false};
}

std::uint64_t Warp::held(const FragmentMap& map, const std::vector<std::uint64_t>& registers, int threadgroup,
                         Coord at) const {
  for (int lane = kLanesOfGroup * threadgroup; lane < kLanesOfGroup * (threadgroup + 1); ++lane)
    for (int value = 0; value < map.values; ++value)
      if (map.at(lane, value) == at) return registers[static_cast<std::size_t>(slot(map, lane, value))];
  throw std::logic_error("volta: a threadgroup lacks an element that its step reads");
}

void Warp::execute(const Hmma& hmma) {
  for (int threadgroup = 0; threadgroup < kThreadgroups; ++threadgroup) {
    const Block block = block_of(threadgroup, hmma, spec_.step.output.id);
    // Its own rows of A; columns of B from the half of the octet that holds them.
    const int half = (block.col % 8) / 4, partner = octet_of(threadgroup) + 4 * half;
    for (int row = block.row; row < block.row + block.rows; ++row)
      for (int col = block.col; col < block.col + block.cols; ++col) {
        Operand x[kDepthOfSet], y[kDepthOfSet];
        for (int i = 0; i < kDepthOfSet; ++i) {
          const int k = kDepthOfSet * hmma.set + i;
          x[i] = unpack_factor(spec_.a, spec_, held(a_map_, a_, threadgroup, {row, k}), false);
          y[i] = unpack_factor(spec_.b, spec_, held(b_map_, b_, partner, {k, col}), false);
        }
        Sum& sum = sums_[element_at(row, col)];
        FormatSpec format = spec_.step.output;
        const std::uint64_t from = sum.stepped ? sum.bits : first_addend(spec_, sum.bits, format);
        Running running{spec_, x, y, nullptr, nullptr, format, from};
        running(0, kDepthOfSet);
        sum = {running.bits, true};
      }
  }
}

std::vector<std::uint64_t> Warp::store_d() const {
  std::vector<std::uint64_t> matrix;
  for (Sum sum : sums_) {
    FormatSpec format = spec_.step.output;
    if (!sum.stepped) sum.bits = first_addend(spec_, sum.bits, format);
    matrix.push_back(final_result(spec_, sum.bits));
  }
  return matrix;
}

}  // namespace mmaudit::volta
