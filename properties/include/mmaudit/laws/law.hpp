#pragma once
// A law: a sentence about matrix instructions, checked on every datapath it applies to. A law judges one dot
// product, and related ones where it compares, so that a failure can be shrunk and hardware, model and oracle
// answer the same question. A law is one file of properties/laws/ that defines kNameOfTheFile; CMake lists
// it.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/laws/tile.hpp"

namespace mmaudit::laws {

struct LawVerdict {
  enum class Kind : std::uint8_t { holds, broken, silent };  ///< silent: the law says nothing of this one
  Kind kind = Kind::silent;
  std::uint64_t expected = 0;  ///< of a broken one, D that the law allows (where it names one)
  double reached = 0;          ///< of a bound: the error in units of it
};
inline LawVerdict silent() { return {}; }
inline LawVerdict verdict(bool good, std::uint64_t expected = 0) {
  return {good ? LawVerdict::Kind::holds : LawVerdict::Kind::broken, expected, 0};
}
inline LawVerdict equal_bits(std::uint64_t found, std::uint64_t expected) {
  return verdict(found == expected, expected);
}

/// One element of an answered tile, and the answered tiles that related() made from it.
struct Case {
  const Subject& subject;
  const Tile& tile;
  std::span<const Tile> related;
  int row, col;

  [[nodiscard]] std::uint64_t d() const { return tile.at_d(row, col); }
  [[nodiscard]] std::uint64_t c() const { return tile.at_c(row, col); }
};

/// What a law has to do with block scales.
enum class Scales : std::uint8_t {
  none,  ///< it applies to datapaths without them
  any,   ///< to all; where there are scales its inputs get some
  own    ///< to datapaths with scales alone, and makes the scales itself
};

struct Law {
  int order = 0;               ///< of listings
  std::string_view name = {};  ///< of its file: the slug for --law and regressions
  std::string_view statement;  ///< the sentence
  std::string_view source;
  /// Why it does not apply to a datapath; empty: it applies. Null: it applies to all.
  std::string (*why_not)(const Subject&) = nullptr;
  /// Inputs of a tile; null: the input classes of the generators, in turn.
  void (*fill)(const Subject&, Draws&, Tile&) = nullptr;
  /// What is run besides; null: nothing. Depends on the tile alone.
  std::vector<Tile> (*related)(const Subject&, const Tile&) = nullptr;
  LawVerdict (*judge)(const Case&);
  bool exhibit = false;  ///< the law says that it happens: one element for which judge holds is enough
  double reach = 0;      ///< of a bound: the share of it that some input has to reach ...
  bool (*can_reach)(const Subject&) = nullptr;  ///< ... on these datapaths; null: on all
  bool slow = false;                            ///< judged by an oracle of arbitrary precision
  Scales scales = Scales::none;
};

/// Why `law` does not apply to the datapath; empty: it applies.
std::string why_silent(const Law& law, const Subject& subject);

/// Every law, in the order that listings print.
std::span<const Law> lawbook();

}  // namespace mmaudit::laws
