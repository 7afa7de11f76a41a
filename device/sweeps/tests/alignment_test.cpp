// Alignments without a GPU: the reference, by hand; the cells of the kernel, lane after lane, against it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "mmaudit/fragment.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/dpx/alignment_cell.hpp"

namespace mmaudit::sweeps::test {
namespace {

std::vector<std::uint8_t> letters(std::string_view text) {
  constexpr std::string_view kOrder = "ARNDCQEGHILKMFPSTWYV";
  std::vector<std::uint8_t> found;
  for (const char letter : text) found.push_back(static_cast<std::uint8_t>(kOrder.find(letter)));
  found.resize((found.size() + kTile - 1) / kTile * kTile, static_cast<std::uint8_t>(kOrder.find('P')));
  return found;
}

int score_of(std::string_view query, std::string_view subject) {
  std::vector<std::uint8_t> of = letters(subject);
  of.resize(subject.size());
  const std::vector<std::int16_t> best = align(letters(query), of);
  return *std::max_element(best.begin(), best.end());
}

TEST(Alignment, ScoresAreSymmetricAndTheirDiagonalIsPositive) {
  for (int one = 0; one < kLetters; ++one)
    for (int other = 0; other < kLetters; ++other) {
      EXPECT_EQ(letter_score(one, other), letter_score(other, one)) << one << ' ' << other;
      EXPECT_EQ(letter_score(one, other) >= 4, one == other) << one << ' ' << other;
    }
  int diagonal = 0;
  for (int one = 0; one < kLetters; ++one) diagonal += letter_score(one, one);
  EXPECT_EQ(diagonal, 116);
}

TEST(Alignment, ByHand) {
  EXPECT_EQ(score_of("WWWW", "WWWW"), 44);
  EXPECT_EQ(score_of("WCWC", "AAAAWCWCAAAA"), 40);
  EXPECT_EQ(score_of("GGGG", "LLLL"), 0) << "nothing is better than what costs";
  // 6 x W, a gap of three letters, 5 x W: 66 + 55 - 11 - 1 - 1.
  EXPECT_EQ(score_of("WWWWWWWWWWW", "WWWWWWGGGWWWWW"), 108);
  EXPECT_EQ(score_of("WWWWWWGGGWWWWW", "WWWWWWWWWWW"), 108) << "and of the other";
}

/// What the lanes of a group do, one after the other: each has its tile, and hands H and E to the next.
template <typename Numbers>
int score_by_cells(const std::vector<std::uint8_t>& query, std::span<const std::uint8_t> subject, bool high) {
  const Numbers numbers;
  using Word = typename Numbers::Word;
  std::vector<Word> left_h(subject.size(), Numbers::zero()), left_e = left_h;
  Word best = Numbers::zero();
  for (std::size_t tile = 0; tile < query.size(); tile += kTile) {
    std::vector<Word> h(kTile, Numbers::zero()), f = h;
    Word diagonal = Numbers::zero();
    for (std::size_t i = 0; i < subject.size(); ++i) {
      Word up = diagonal, e = left_e[i];
      diagonal = left_h[i];
      for (std::size_t j = 0; j < kTile; ++j) {
        const int score = letter_score(query[tile + j], subject[i]);
        const Word next = high ? numbers.cell(up, Numbers::score(-4, score), e, f[j])
                               : numbers.cell(up, Numbers::score(score, -4), e, f[j]);
        up = h[j];
        h[j] = next;
        best = numbers.greatest(best, next, next);
      }
      left_h[i] = h[kTile - 1];
      left_e[i] = e;
    }
  }
  EXPECT_EQ(high ? Numbers::low(best) : Numbers::high(best), 0);
  return high ? Numbers::high(best) : Numbers::low(best);
}

TEST(Alignment, CellsOfTheKernelGiveTheReference) {
  const Alignments& alignments = alignments_of(256);
  for (int subject = 0; subject < kSubjects; ++subject) {
    const std::span<const std::uint8_t> letters_of =
        std::span(alignments.subjects)
            .subspan(static_cast<std::size_t>(subject) * kSubjectLetters, kSubjectLetters);
    for (int query = 0; query < kQueries; ++query) {
      const auto& of = alignments.queries[query];
      const int right = alignments.score(subject, query);
      if (subject < 8) {
        EXPECT_EQ(score_by_cells<AlignmentS16x2<true>>(of, letters_of, false), right);
        EXPECT_EQ(score_by_cells<AlignmentS16x2<true>>(of, letters_of, true), right);
      }
      EXPECT_EQ(score_by_cells<AlignmentS32<true>>(of, letters_of, false), right);
    }
  }
}

TEST(Alignment, PairsScoreMoreThanChanceAndLessThanBinary16Holds) {
  int least = 1 << 20, most = 0;
  for (const int query_letters : {256, 1024}) {
    const Alignments& alignments = alignments_of(query_letters);
    for (int subject = 0; subject < kSubjects; ++subject)
      for (int query = 0; query < kQueries; ++query) {
        least = std::min(least, alignments.score(subject, query));
        most = std::max(most, alignments.score(subject, query));
      }
  }
  EXPECT_GT(least, 20);
  EXPECT_GT(most, 300);
  EXPECT_LT(most, 2048 - kGapFirst);
}

TEST(Alignment, TheCheckSeesEveryLane) {
  const Benchmark* benchmark = find_benchmark("align.s16x2");
  ASSERT_NE(benchmark, nullptr);
  const std::vector<Axis> axes = resolve_axes({"query=256", "warps=4", "ilp=1"}, false);
  const Point point = points_of(*benchmark, axes).front();
  const sweeps::Setup setup = benchmark->setup(point, nullptr);
  constexpr int kSteps = 3 * kSubjectLetters, kSlots = 16;
  const Alignments& alignments = alignments_of(256);
  std::vector<AlignedLane> lanes;
  lanes.reserve(std::size_t{kSlots} * kWarpLanes);
  for (int i = 0; i < kSlots * kWarpLanes; ++i)
    lanes.push_back(right_lane(alignments, i / 8 % kSubjects, i % 8, kSteps, 2));
  const auto differing = [&](const std::vector<AlignedLane>& found, int steps) {
    Measurement out;
    setup.check(
        [&] {
          std::vector<std::byte> bytes(found.size() * sizeof(AlignedLane));
          std::memcpy(bytes.data(), found.data(), bytes.size());
          return bytes;
        },
        4, steps, out);
    EXPECT_EQ(out.compared, found.size());
    return out.differing;
  };
  EXPECT_EQ(setup.slot_bytes, kWarpLanes * sizeof(AlignedLane));
  EXPECT_EQ(differing(lanes, kSteps), 0U);
  for (const std::size_t at : {std::size_t{0}, std::size_t{7}, lanes.size() - 1}) {
    std::vector<AlignedLane> wrong = lanes;
    ++wrong[at].best[1];
    EXPECT_EQ(differing(wrong, kSteps), 1U);
    wrong[at] = lanes[at];
    wrong[at].folded ^= 1;
    EXPECT_EQ(differing(wrong, kSteps), 1U);
  }
  // Another number of rows: other subjects are done.
  EXPECT_GT(differing(lanes, kSteps + 1024), 0U);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
