// A case of the public data set: the first byte picks format, output and GPU, then the files of A, B, C and D
// with 0xFF between them.
#include <algorithm>
#include <array>

#include "mmaudit/corpus/matlab_tensor_core.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile files[4]{ScratchFile("a.txt"), ScratchFile("b.txt"), ScratchFile("c.txt"),
                              ScratchFile("d.txt")};
  constexpr std::array kOperands{Format::f16, Format::bf16, Format::tf32, Format::e4m3, Format::e5m2};
  const unsigned choice = bytes.byte();
  corpus::DatasetCase one;
  one.format = kOperands.at(choice % kOperands.size());
  one.output = (choice & 0x40U) != 0 ? Format::f16 : Format::f32;
  one.addend_ignored = (choice & 0x80U) != 0;
  std::filesystem::path* paths[] = {&one.a, &one.b, &one.c, &one.d};
  std::span<const std::uint8_t> rest = bytes.rest();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto end = std::find(rest.begin(), rest.end(), 0xFF) - rest.begin();
    *paths[i] = files[i].holding(rest.first(static_cast<std::size_t>(end)));
    rest = rest.subspan(std::min(rest.size(), static_cast<std::size_t>(end) + 1));
  }
  accepted([&] {
    const corpus::DatasetRows rows = corpus::read_dataset(one);
    if (rows.a.size() != rows.rows * rows.k || rows.b.size() != rows.a.size() || rows.c.size() != rows.rows ||
        rows.d.size() != rows.rows)
      fail("rows of several lengths");
  });
}
