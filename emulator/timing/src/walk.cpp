#include "mmaudit/timing/walk.hpp"

#include "walker.hpp"

namespace mmaudit::timing {

std::int32_t Walker::access_at(WalkedBlock& block, const Decoded& line, int at, std::uint32_t mask) {
  const auto address = std::find_if(line.operands.begin(), line.operands.end(),
                                    [](const Operand& one) { return one.kind == OperandKind::address; });
  if (address == line.operands.end()) refuse(at, "an access with an address");
  const auto add = [&block](MemoryAccess access) {
    block.accesses.push_back(std::move(access));
    return static_cast<std::int32_t>(block.accesses.size() - 1);
  };
  if (is_local(line.row)) return add(local_access(*address, line.bytes));
  if (line.row.step == Step::copy) {  // the second address is the global one
    const auto from = std::find_if(address + 1, line.operands.end(),
                                   [](const Operand& one) { return one.kind == OperandKind::address; });
    if (from == line.operands.end()) refuse(at, "a copy from an address");
    return add(global_access(addresses_of(*from, at), mask, line.bytes));
  }
  const auto all = addresses_of(*address, at);
  const auto high = static_cast<std::size_t>(address->index) + 1;
  const bool generic = line.row.step != Step::shared && address->wide &&
                       line.row.trait == sass::Trait::any_memory && registers_[high][0] == kSharedWindow;
  if (line.row.step != Step::shared && !generic) return add(global_access(all, mask, line.bytes));
  Met& met = met_[static_cast<std::size_t>(at)];
  if (met.access < 0 || met.mask != mask || met.addresses != all) {
    MemoryAccess access = shared_access(line, all, mask);
    access.generic = generic;
    met = {all, mask, add(std::move(access))};
  }
  return met.access;
}

/// A word of every lane lies side by side.
MemoryAccess Walker::local_access(const Operand& address, int bytes) const {
  MemoryAccess access;
  const std::uint64_t first = (kLocalOperand << 32 | static_cast<std::uint64_t>(warp_) << 20) / kSectorBytes +
                              static_cast<std::uint64_t>(address.value) * kLanes / kSectorBytes;
  for (int i = 0; i < bytes * kLanes / kSectorBytes; ++i)
    access.sectors.push_back(first + static_cast<unsigned>(i));
  access.lines = static_cast<std::uint16_t>(bytes / kWordBytes);
  access.wavefronts = access.lines;
  return access;
}

LaneAddresses Walker::addresses_of(const Operand& address, int at) const {
  const auto index = static_cast<std::size_t>(address.index);
  if (unknown_[index] || (address.wide && unknown_[index + 1]) ||
      (address.second >= 0 && unknown_[static_cast<std::size_t>(address.second)]))
    refuse(at, "an address that depends on no loaded value");
  LaneAddresses all{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::uint64_t value = registers_[index][lane];
    if (address.wide) value |= std::uint64_t{registers_[index + 1][lane]} << 32;
    if (address.second >= 0) value += registers_[static_cast<std::size_t>(address.second)][lane];
    all[lane] = value + static_cast<std::uint64_t>(address.value);
  }
  return all;
}

MemoryAccess Walker::global_access(const LaneAddresses& all, std::uint32_t mask, int bytes) {
  MemoryAccess access;
  access.sectors.reserve(kLanes);
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
MemoryAccess Walker::shared_access(const Decoded& line, const LaneAddresses& all, std::uint32_t mask) {
  const bool matrices = line.row.kind == Kind::load_matrices || line.row.kind == Kind::store_matrices;
  const int bytes = matrices ? 16 : std::max(kWordBytes, line.bytes);
  const int rows = matrices ? 8 * sass::matrices_of(line.opcode) : kLanes;
  const int group = 128 / bytes;
  int wavefronts = 0;
  for (int first = 0; first < rows; first += group) {
    // Different words of each bank, as a list.
    std::array<std::uint64_t, kBanks> words;
    std::array<int, kBanks> next, head, count{};
    head.fill(-1);
    int found = 0, most = 0;
    for (int lane = first; lane < std::min(first + group, rows); ++lane) {
      if (!matrices && (mask >> lane & 1U) == 0) continue;
      for (int word = 0; word < bytes / kWordBytes; ++word) {
        const std::uint64_t which =
            all[static_cast<std::size_t>(lane)] / kWordBytes + static_cast<unsigned>(word);
        const std::size_t bank = which % kBanks;
        int at = head[bank];
        while (at >= 0 && words[static_cast<std::size_t>(at)] != which)
          at = next[static_cast<std::size_t>(at)];
        if (at >= 0) continue;
        words[static_cast<std::size_t>(found)] = which;
        next[static_cast<std::size_t>(found)] = head[bank];
        head[bank] = found++;
        most = std::max(most, ++count[bank]);
      }
    }
    wavefronts += most;
  }
  MemoryAccess access;
  access.wavefronts = static_cast<std::uint16_t>(std::max(1, wavefronts));
  return access;
}

std::vector<WalkedBlock> walk(const sass::Function& function, const Grid& grid, int x, int y,
                              std::span<const int> most_trips) {
  if (grid.threads < kLanes || grid.threads % kLanes != 0 || grid.threads > 1024)
    throw InputError("threads: found " + std::to_string(grid.threads) + ", allowed: multiples of 32 to 1024");
  std::vector<int> most(most_trips.begin(), most_trips.end());
  for (int& one : most) one = std::max(one, 8);
  return Walker(function, grid, x, y).run(most);
}

WalkedBlock walk(const sass::Function& function, const Grid& grid, int x, int y, int most_trips) {
  return std::move(walk(function, grid, x, y, std::span<const int>(&most_trips, 1)).front());
}

}  // namespace mmaudit::timing
