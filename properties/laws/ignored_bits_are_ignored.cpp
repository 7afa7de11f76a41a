#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.a().ignored_low_bits != 0 ? "" : "every bit of its elements is read";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  Draws random{tile.salt};
  const std::uint64_t low = (std::uint64_t{1} << subject.a().ignored_low_bits) - 1;
  for (std::uint64_t& x : other.a) x = (x & ~low) | (random.next() & low);
  for (std::uint64_t& x : other.b) x = (x & ~low) | (random.next() & low);
  return {other};
}

}  // namespace

const Law kIgnoredBitsAreIgnored = {
    .order = 250,
    .statement = "The 13 low bits of a tf32 register change nothing, not even in a NaN or an infinity.",
    .source = "PTX ISA (tf32); measured on Hopper",
    .why_not = why_not,
    .related = related,
    .judge = same_as_related};

}  // namespace mmaudit::laws
