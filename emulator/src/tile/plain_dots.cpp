#include "tile/plain_dots.hpp"

#include <vector>

#include "mmaudit/raw_words.hpp"

namespace mmaudit {

void plain_dots(const DotSpec& spec, const Instruction& inst, const TileView& batch, std::size_t tile) {
  const auto [m, n, k, stored, blocks] = TileExtents(inst);
  const std::size_t a_bytes = spec.a.storage_bytes(), b_bytes = spec.b.storage_bytes(),
                    c_bytes = spec.step.addend.storage_bytes(), d_bytes = spec.d.storage_bytes();
  std::vector<std::uint64_t> a(m * stored), b(k * n);  // every element is read many times
  for (std::size_t e = 0; e < a.size(); ++e) a[e] = load_word(batch.a, a_bytes, tile * a.size() + e);
  for (std::size_t e = 0; e < b.size(); ++e) b[e] = load_word(batch.b, b_bytes, tile * b.size() + e);
  const unsigned modifiers = batch.modifiers == nullptr ? 0U : batch.modifiers[tile];
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t first_a = (tile * m + i) * stored, element = (tile * m + i) * n + j;
      const Strided<std::uint64_t> row{&a[i * stored]}, column{&b[j], inst.n};
      const std::uint64_t c = batch.c == nullptr ? 0 : load_word(batch.c, c_bytes, element);
      ScaleBytes scales{.row = {}, .column = {}, .one = one_bits(spec.scale)};
      if (batch.scale_a != nullptr) scales.row.base = batch.scale_a + (tile * m + i) * blocks;
      if (batch.scale_b != nullptr) scales.column = {batch.scale_b + tile * blocks * n + j, inst.n};
      const auto dot_with = [&](const auto& met) {
        return spec.block_scaled() ? dot(spec, row, met, c, modifiers, scales)
                                   : dot(spec, row, met, c, modifiers);
      };
      const std::uint64_t d =
          is_sparse(inst.op)
              ? dot_with(Gathered<Strided<std::uint64_t>>{spec.sparsity, spec.datapath.metadata, spec.b,
                                                          batch.metadata + first_a, column})
              : dot_with(column);
      store_word(batch.d, d_bytes, element, d);
    }
  }
}

}  // namespace mmaudit
