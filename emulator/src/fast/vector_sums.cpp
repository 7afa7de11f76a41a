#include "vector_sums.hpp"

namespace mmaudit::fast {

const Level& table_of(SimdLevel level) {
#ifdef MMAUDIT_FAST_X86
  if (level == SimdLevel::avx512 || level == SimdLevel::avx512vnni) return kAvx512;
  if (level == SimdLevel::avx2) return kAvx2;
#endif
  static_cast<void>(level);
  return kPortable;
}

VectorSums::VectorSums(const DotSpec& spec, const Matmul& problem, SimdLevel level)
    : spec_(spec),
      problem_(problem),
      reader_(spec_, problem_),
      stored_k_(reader_.stored_k),
      blocks_(reader_.blocks),
      rows_(tile_rows(problem)),
      columns_(tile_columns(problem)),
      level_(table_of(level)) {
  const bool used[kSums] = {true, problem.promote != 0, problem.split_k > 1};
  for (int i = 0; i < kSums; ++i) sums_[i].resize(used[i] ? rows_ * columns_ : 0);
  for (int j = 0; j < kPanel; ++j) place_[j] = level_.place(j);
}

void VectorSums::start(const TilePlace& tile) {
  tile_ = tile;
  for (auto& sum : sums_) std::fill(sum.begin(), sum.end(), 0.0F);
}

void VectorSums::set_row(int sum, std::uint64_t i, const std::uint64_t* bits) {
  for (std::uint64_t j = 0; j < tile_.columns; ++j) sums_[sum][at(i, j)] = to_sum(bits[j], spec_.step.output);
}

void VectorSums::get_row(int sum, std::uint64_t i, std::uint64_t* bits) const {
  const FormatSpec& format = spec_.step.output;
  const float* row = &sums_[sum][i * columns_];
  const bool as_is = format.id == Format::f32;
  for (std::uint64_t j = 0; j < tile_.columns; ++j) {
    const float x = row[j / kPanel * kPanel + static_cast<std::uint64_t>(place_[j % kPanel])];
    bits[j] = as_is ? std::bit_cast<std::uint32_t>(x) : from_sum(x, format, spec_.datapath.output);
  }
}

void VectorSums::fold(int from, int into) {
  const auto nan = static_cast<std::uint32_t>(nan_bits(spec_.datapath.output, spec_of(Format::f32)));
  level_.fold(sums_[into].begin(), sums_[from].begin(), sums_[into].size(), nan);
}

float VectorSums::plain_step(std::uint64_t row, std::uint64_t column, std::uint64_t first,
                             const std::int32_t* order, int count, float sum) const {
  if (row >= tile_.rows || column >= tile_.columns) return 0;
  const FormatSpec& format = spec_.step.output;
  const std::uint64_t c = to_sum(0, format) == sum ? 0 : from_sum(sum, format, spec_.datapath.output);
  const Operand addend = unpack_addend(format, spec_.datapath, c);
  const std::uint64_t i = tile_.matrix * problem_.m + tile_.row + row, j = tile_.column + column;
  Operand a[kMaxK], b[kMaxK], scale_a[kMaxK], scale_b[kMaxK];
  for (int p = 0; p < count; ++p) {
    const std::uint64_t stored = first + static_cast<std::uint64_t>(order == nullptr ? p : order[p]);
    a[p] = unpack_factor(spec_.a, spec_, reader_.a(i, stored), false);
    b[p] = unpack_factor(spec_.b, spec_, reader_.b(tile_.matrix, reader_.met(i, stored), j), false);
    if (!spec_.block_scaled()) continue;
    const std::uint64_t block = stored / static_cast<std::uint64_t>(spec_.scale_block);
    scale_a[p] = unpack_scale(spec_.scale, spec_.datapath, reader_.scale_a(i, block));
    scale_b[p] = unpack_scale(spec_.scale, spec_.datapath, reader_.scale_b(tile_.matrix, block, j));
    if (spec_.grouped) continue;
    a[p] = scaled(a[p], scale_a[p], spec_.datapath);
    b[p] = scaled(b[p], scale_b[p], spec_.datapath);
  }
  StepSpec step_spec = spec_.step;
  step_spec.addend = format;
  const std::uint64_t bits = spec_.staged    ? staged_step(a, b, count, c, addend, step_spec, spec_.datapath)
                             : spec_.grouped ? grouped_dot_add(a, b, scale_a, scale_b, count, addend,
                                                               step_spec, spec_.groups, spec_.datapath)
                                             : fused_dot_add(a, b, count, addend, step_spec, spec_.datapath);
  return to_sum(bits, format);
}

}  // namespace mmaudit::fast

namespace mmaudit::detail {

const RowFunctions& row_functions() { return fast::table_of(best_simd_level()).rows; }

}  // namespace mmaudit::detail
