#include <algorithm>

#include "mmaudit/fragment.hpp"
#include "screen/kernel.hpp"

namespace mmaudit::screen {

std::string Work::name() const {
  std::string text = name_of(instruction);
  if (is_wgmma(instruction.op)) text += registers ? " RS" : " SS";
  if (feed != Feed::loads) text += " " + std::string(name_of(feed));
  return text;
}

std::uint64_t GpuResult::wrong() const {
  std::uint64_t sum = 0;
  for (const WorkResult& one : works) sum += one.wrong;
  return sum;
}

double GpuResult::fma() const {
  double sum = 0;
  for (const WorkResult& one : works) sum += one.fma;
  return sum;
}

std::pair<int, int> GpuResult::covered() const {
  std::map<std::string, int> most;  // multiprocessors of a type, the same for each input set
  for (const WorkResult& one : works) {
    int& seen = most[one.work.name()];
    seen = std::max(seen, one.multiprocessors);
  }
  int triples = 0;
  for (const auto& [name, seen] : most) triples += seen * kSubcores;
  return {triples, static_cast<int>(most.size()) * device.multiprocessors * kSubcores};
}

std::vector<Work> screened() {
  std::vector<Work> all;
  for (const ScreenKernel& kernel : kernels())
    all.push_back({kernel.instruction, kernel.registers, {}, kernel.feed});
  return all;
}

std::vector<ScreenKernel> kernels() {
  std::vector<ScreenKernel> all;
  for (const auto& list : {wgmma_kernels(), fed_wgmma_kernels(), mma_kernels()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool injects() {
#ifdef MMAUDIT_SCREEN_INJECTION
  return true;
#else
  return false;
#endif
}

std::vector<Finding> compare_words(const Work& work, int copies, const std::vector<std::byte>& image,
                                   int tile, int lane, const std::uint32_t* words) {
  const Instruction& is = work.instruction;
  const FragmentMap map = fragment_d(is);
  const std::vector<std::uint32_t> expected = words_of_lane(is, image, tile, lane);
  const int bits = register_bits(is.d), each = elements_per_register(is.d);
  const std::size_t wide = bits > 32 ? 2 : 1;
  const auto element = [&](const std::uint32_t* from, int value) {
    const std::size_t at = static_cast<std::size_t>(value / each) * wide;
    const std::uint64_t whole = from[at] | (wide == 2 ? std::uint64_t{from[at + 1]} << 32U : 0);
    return whole >> (value % each * bits) & ~std::uint64_t{0} >> (64 - bits);
  };
  std::vector<Finding> found;
  for (int copy = 0; copy < copies; ++copy)
    for (int value = 0; value < map.values; ++value) {
      Finding one{.work = work, .lane = lane % kWarpLanes, .tile = tile};
      one.expected = element(expected.data(), value);
      one.found = element(words + static_cast<std::size_t>(copy) * expected.size(), value);
      if (one.expected == one.found) continue;
      const Coord at = map.at(lane, value);
      one.row = at.row;
      one.column = at.col;
      found.push_back(one);
    }
  return found;
}

std::vector<std::uint64_t> expected_checksums(const Instruction& instruction, int copies,
                                              const std::vector<std::byte>& image) {
  std::vector<std::uint64_t> sums;
  for (int tile = 0; tile < kTiles; ++tile)
    for (int lane = 0; lane < lanes_of(instruction); ++lane) {
      const std::vector<std::uint32_t> words = words_of_lane(instruction, image, tile, lane);
      std::uint64_t sum = 0;
      int number = 0;
      for (int copy = 0; copy < copies; ++copy)
        for (const std::uint32_t word : words) sum = add_to_checksum(sum, number++, word);
      sums.push_back(sum);
    }
  return sums;
}

}  // namespace mmaudit::screen
