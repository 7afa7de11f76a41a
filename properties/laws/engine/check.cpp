#include "mmaudit/laws/check.hpp"

#include <algorithm>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// Laws choose forms of input by the tile.
constexpr std::uint64_t kLeastTiles = 12;
constexpr std::uint64_t kTriesToReach = 8;

Tile tile_of_classes(const Subject& subject, std::uint64_t seed, std::uint64_t number) {
  TileBatch one(subject.instruction);
  gen::append_class(one, gen::make_generator_spec(subject.instruction, subject.datapath),
                    static_cast<gen::InputClass>(number % gen::kInputClasses), seed, number, 1, 0);
  return tile_at(subject.instruction, one.filled(), 0);
}

/// Scales for a tile that a law made without: all 1, or a power of two and its inverse, or any powers of two.
void draw_scales(Random& random, Tile& tile) {
  const int how = random.in(0, 2);
  for (int block = 0; how != 0 && block < tile.blocks(); ++block)
    put_scales(random, tile, block, how == 1 ? 0 : random.in(-30, 30));
}

Tile make_tile(const Law& law, const Subject& subject, std::uint64_t seed, std::uint64_t number) {
  Tile tile = law.fill == nullptr ? tile_of_classes(subject, seed, number) : Tile(subject.instruction);
  Random random(Random(seed ^ (number * 0xD1B54A32D192ED03U)).next());
  tile.salt = random.next();
  if (law.fill == nullptr) return tile;
  law.fill(subject, random, tile);
  if (law.scales == Scales::any && !tile.scale_a.empty()) draw_scales(random, tile);
  return tile;
}

/// Tiles and what a law relates to each, answered: all tiles of one instruction in one launch.
struct Answered {
  std::vector<Tile> tiles;
  std::vector<std::vector<Tile>> related;

  /// Recorded ones, that nothing is related to.
  explicit Answered(std::span<const Tile> of) : tiles(of.begin(), of.end()), related(tiles.size()) {}

  Answered(const Law& law, const Subject& subject, const Backend& backend, std::vector<Tile> of)
      : tiles(std::move(of)), related(tiles.size()) {
    std::vector<std::vector<Tile*>> launches;
    const auto add = [&](Tile& tile) {
      for (auto& launch : launches)
        if (launch.front()->instruction == tile.instruction) {
          launch.push_back(&tile);
          return;
        }
      launches.push_back({&tile});
    };
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      if (law.related != nullptr) related[t] = law.related(subject, tiles[t]);
      add(tiles[t]);
      for (Tile& one : related[t]) add(one);
    }
    for (auto& launch : launches) answer(backend, launch);
  }
};

/// The related instruction or modifiers that the backend lacks, by making one tile.
std::string why_not_related(const Law& law, const Subject& subject, const Backend& backend,
                            std::uint64_t seed) {
  for (std::uint64_t number = 0; number < 4; ++number) {
    const Tile tile = make_tile(law, subject, seed, number);
    if (std::string reason = backend.why_not(tile.instruction, tile.modifiers); !reason.empty())
      return reason;
    if (law.related == nullptr) continue;
    for (const Tile& one : law.related(subject, tile))
      if (std::string reason = backend.why_not(one.instruction, one.modifiers); !reason.empty())
        return reason;
  }
  return {};
}

void judge_all(const Law& law, const Subject& subject, const Answered& answered, LawResult& result,
               std::optional<Failure>& broken) {
  for (std::size_t t = 0; t < answered.tiles.size(); ++t) {
    const Tile& tile = answered.tiles[t];
    for (int row = 0; row < subject.instruction.m; ++row)
      for (int col = 0; col < subject.instruction.n; ++col) {
        ++result.dots;
        const Verdict verdict = law.judge({subject, tile, answered.related[t], row, col});
        if (verdict.kind == Verdict::Kind::silent) continue;
        ++result.judged;
        result.reached = std::max(result.reached, verdict.reached);
        if (verdict.kind == Verdict::Kind::holds) continue;
        ++result.broken;
        if (broken) continue;
        const Dot dot = dot_of(tile, row, col);
        broken = {std::string(law.name), subject.instruction, dot,
                  tile.at_d(row, col),   verdict.expected,    nonzero_products(subject, dot)};
      }
  }
}

}  // namespace

bool LawResult::good() const { return !skipped.empty() || complaint().empty(); }

std::string LawResult::complaint() const {
  if (judged == 0) return "no dot product was of the kind that it speaks of";
  if (law->exhibit) return broken < judged ? "" : "never seen";
  if (broken != 0) return std::to_string(broken) + " of " + std::to_string(judged) + " dot products break it";
  if (reached < to_reach) return "no input comes near the bound";
  return {};
}

std::string why_silent(const Law& law, const Subject& subject) {
  const bool scaled = subject.instruction.scale != Format::none;
  // The slow law holds every datapath against the reference model; the others speak of one alignment.
  if (subject.spec.staged && !law.slow) return "its steps are sums in stages";
  if (scaled && law.scales == Scales::none) return "it is not stated for block scales";
  if (!scaled && law.scales == Scales::own) return "no block scales";
  return law.why_not == nullptr ? std::string() : law.why_not(subject);
}

LawResult check_recorded(const Law& law, const Subject& subject, std::span<const Tile> tiles) {
  LawResult result;
  result.law = &law;
  result.instruction = subject.instruction;
  result.skipped = law.related != nullptr ? "it compares with dot products that are not recorded"
                   : law.exhibit          ? "it says what some input shows"
                                          : why_silent(law, subject);
  if (!result.skipped.empty()) return result;
  judge_all(law, subject, Answered(tiles), result, result.failure);
  if (result.judged == 0) result.skipped = "no recorded dot product is of the kind that it speaks of";
  return result;
}

LawResult check_law(const Law& law, const Subject& subject, const Backend& backend,
                    const LawOptions& options) {
  LawResult result;
  result.law = &law;
  result.instruction = subject.instruction;
  result.skipped = why_silent(law, subject);
  if (result.skipped.empty()) result.skipped = backend.why_not(subject.instruction, 0);
  if (result.skipped.empty()) result.skipped = why_not_related(law, subject, backend, options.seed);
  if (!result.skipped.empty()) return result;
  if (law.can_reach == nullptr || law.can_reach(subject)) result.to_reach = law.reach;

  std::optional<Failure> broken;
  std::vector<Tile> known;
  for (const Dot& dot : options.first) known.push_back(tile_of(subject.instruction, dot));
  if (!known.empty())
    judge_all(law, subject, Answered(law, subject, backend, std::move(known)), result, broken);

  const std::uint64_t per_tile =
      static_cast<std::uint64_t>(subject.instruction.m) * static_cast<std::uint64_t>(subject.instruction.n);
  const std::uint64_t wanted = std::max(kLeastTiles, (options.dots + per_tile - 1) / per_tile);
  const std::uint64_t launch = std::max<std::uint64_t>(1, options.launch / per_tile);
  // Which tiles come near a bound is chance: they are looked for longer before the law is said not to be
  // tried.
  const auto end = [&] { return result.reached < result.to_reach ? kTriesToReach * wanted : wanted; };
  for (std::uint64_t next = 0; next < end();) {
    std::vector<Tile> tiles;
    for (const std::uint64_t stop = std::min(next + launch, next < wanted ? wanted : end()); next < stop;
         ++next)
      tiles.push_back(make_tile(law, subject, options.seed, next));
    judge_all(law, subject, Answered(law, subject, backend, std::move(tiles)), result, broken);
    if (options.until_broken && !law.exhibit && broken) return result;
  }
  if (!law.exhibit && broken) result.failure = shrink(law, subject, backend, broken->dot);
  return result;
}

std::vector<Subject> subjects_of(const Architecture& architecture) {
  std::vector<Subject> all;
  for (Instruction inst : kInstructions) {
    inst = with_shape(inst, kWgmmaMinN);
    if (const DatapathEntry* entry = find_datapath(architecture, inst); entry != nullptr)
      all.emplace_back(architecture, inst, entry->datapath);
  }
  return all;
}

std::vector<std::vector<LawResult>> check_laws(std::span<const Law* const> laws,
                                               std::span<const Subject> subjects, const Backend& backend,
                                               const LawRun& how) {
  std::vector<std::vector<LawResult>> results(laws.size(), std::vector<LawResult>(subjects.size()));
  std::mutex lock;
  detail::parallel_for(laws.size() * subjects.size(), how.threads, [&](std::size_t i) {
    const Law& law = *laws[i / subjects.size()];
    const Subject& subject = subjects[i % subjects.size()];
    LawResult& result = results[i / subjects.size()][i % subjects.size()];
    result = check_law(law, subject, backend, how.options(law, subject));
    const std::lock_guard guard(lock);
    if (how.done != nullptr) how.done(result);
  });
  return results;
}

std::optional<Verdict> judge_alone(const Law& law, const Subject& subject, const Backend& backend,
                                   const Dot& dot, std::uint64_t* found) {
  std::vector<Tile> one = {tile_of(subject.instruction, dot)};
  const Answered answered(law, subject, backend, std::move(one));
  const Verdict verdict = law.judge({subject, answered.tiles[0], answered.related[0], 0, 0});
  if (found != nullptr) *found = answered.tiles[0].at_d(0, 0);
  if (verdict.kind == Verdict::Kind::silent) return std::nullopt;
  return verdict;
}

}  // namespace mmaudit::laws
