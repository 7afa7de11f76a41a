#include "mmaudit/timing/walk.hpp"

#include "walker.hpp"

namespace mmaudit::timing {

using Kind = WalkOperand::Kind;

MemoryAccess Walker::access_of(const WalkLine& line, int at, std::uint32_t mask) const {
  const auto address = std::find_if(line.operands.begin(), line.operands.end(),
                                    [](const WalkOperand& one) { return one.kind == Kind::address; });
  if (address == line.operands.end()) refuse(at, "an access with an address");
  if (line.step == Step::copy) {  // the second address is the global one
    const auto from = std::find_if(address + 1, line.operands.end(),
                                   [](const WalkOperand& one) { return one.kind == Kind::address; });
    if (from == line.operands.end()) refuse(at, "a copy from an address");
    return global_access(*from, at, mask, bytes_of(line.opcode));
  }
  if (line.step == Step::shared) return shared_access(line, *address, at, mask);
  const auto high = static_cast<std::size_t>(address->index) + 1;
  if (address->wide && (line.base == "LD" || line.base == "ST") && registers_[high][0] == kSharedWindow) {
    MemoryAccess access = shared_access(line, *address, at, mask);
    access.generic = true;
    return access;
  }
  return global_access(*address, at, mask, bytes_of(line.opcode));
}

std::array<std::uint64_t, kLanes> Walker::addresses_of(const WalkOperand& address, int at) const {
  const auto index = static_cast<std::size_t>(address.index);
  if (unknown_[index] || (address.wide && unknown_[index + 1]) ||
      (address.second >= 0 && unknown_[static_cast<std::size_t>(address.second)]))
    refuse(at, "an address that depends on no loaded value");
  std::array<std::uint64_t, kLanes> all{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::uint64_t value = registers_[index][lane];
    if (address.wide) value |= std::uint64_t{registers_[index + 1][lane]} << 32;
    if (address.second >= 0) value += registers_[static_cast<std::size_t>(address.second)][lane];
    all[lane] = value + static_cast<std::uint64_t>(address.value);
  }
  return all;
}

MemoryAccess Walker::global_access(const WalkOperand& address, int at, std::uint32_t mask, int bytes) const {
  const auto all = addresses_of(address, at);
  MemoryAccess access;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if ((mask >> lane & 1U) != 0)
      for (std::uint64_t sector = all[lane] / kSectorBytes;
           sector <= (all[lane] + static_cast<unsigned>(bytes) - 1) / kSectorBytes; ++sector)
        access.sectors.push_back(sector);
  std::sort(access.sectors.begin(), access.sectors.end());
  access.sectors.erase(std::unique(access.sectors.begin(), access.sectors.end()), access.sectors.end());
  access.partial = std::ssize(access.sectors) > std::popcount(mask) * bytes / kSectorBytes;
  std::uint64_t last = ~std::uint64_t{0};
  for (const std::uint64_t sector : access.sectors)
    if (sector / kLineSectors != last) {
      last = sector / kLineSectors;
      ++access.lines;
    }
  access.wavefronts = static_cast<std::uint16_t>(std::max(1, std::popcount(mask) * bytes / 128));
  return access;
}

/// Wavefronts: lanes are served in groups that move 128 bytes; of each group as many as words meet in a
/// bank.
MemoryAccess Walker::shared_access(const WalkLine& line, const WalkOperand& address, int at,
                                   std::uint32_t mask) const {
  const auto all = addresses_of(address, at);
  const bool matrices = line.base == "LDSM" || line.base == "STSM";
  const int bytes = matrices ? 16 : std::max(kWordBytes, bytes_of(line.opcode));
  const int rows = !matrices ? kLanes : holds(line.opcode, ".4") ? 32 : holds(line.opcode, ".2") ? 16 : 8;
  const int group = 128 / bytes;
  int wavefronts = 0;
  for (int first = 0; first < rows; first += group) {
    std::array<std::vector<std::uint64_t>, kBanks> words;
    for (int lane = first; lane < std::min(first + group, rows); ++lane) {
      if (!matrices && (mask >> lane & 1U) == 0) continue;
      for (int word = 0; word < bytes / kWordBytes; ++word) {
        const std::uint64_t which =
            all[static_cast<std::size_t>(lane)] / kWordBytes + static_cast<unsigned>(word);
        std::vector<std::uint64_t>& bank = words[which % kBanks];
        if (std::find(bank.begin(), bank.end(), which) == bank.end()) bank.push_back(which);
      }
    }
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    wavefronts += static_cast<int>(most);
  }
  MemoryAccess access;
  access.wavefronts = static_cast<std::uint16_t>(std::max(1, wavefronts));
  return access;
}

WalkedBlock walk(const SassFunction& function, const Grid& grid, int x, int y, int most_trips) {
  if (grid.threads < kLanes || grid.threads % kLanes != 0 || grid.threads > 1024)
    throw std::invalid_argument("threads: found " + std::to_string(grid.threads) +
                                ", allowed: multiples of 32 to 1024");
  return Walker(function, grid, x, y).run(std::max(most_trips, 8));
}

}  // namespace mmaudit::timing
