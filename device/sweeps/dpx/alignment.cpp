#include "sweeps/dpx/alignment.hpp"

#include <algorithm>
#include <map>

namespace mmaudit::sweeps {
namespace {

// clang-format off
constexpr std::int8_t kBlosum62[kLetters][kLetters] = {
    { 4,-1,-2,-2, 0,-1,-1, 0,-2,-1,-1,-1,-1,-2,-1, 1, 0,-3,-2, 0},
    {-1, 5, 0,-2,-3, 1, 0,-2, 0,-3,-2, 2,-1,-3,-2,-1,-1,-3,-2,-3},
    {-2, 0, 6, 1,-3, 0, 0, 0, 1,-3,-3, 0,-2,-3,-2, 1, 0,-4,-2,-3},
    {-2,-2, 1, 6,-3, 0, 2,-1,-1,-3,-4,-1,-3,-3,-1, 0,-1,-4,-3,-3},
    { 0,-3,-3,-3, 9,-3,-4,-3,-3,-1,-1,-3,-1,-2,-3,-1,-1,-2,-2,-1},
    {-1, 1, 0, 0,-3, 5, 2,-2, 0,-3,-2, 1, 0,-3,-1, 0,-1,-2,-1,-2},
    {-1, 0, 0, 2,-4, 2, 5,-2, 0,-3,-3, 1,-2,-3,-1, 0,-1,-3,-2,-2},
    { 0,-2, 0,-1,-3,-2,-2, 6,-2,-4,-4,-2,-3,-3,-2, 0,-2,-2,-3,-3},
    {-2, 0, 1,-1,-3, 0, 0,-2, 8,-3,-3,-1,-2,-1,-2,-1,-2,-2, 2,-3},
    {-1,-3,-3,-3,-1,-3,-3,-4,-3, 4, 2,-3, 1, 0,-3,-2,-1,-3,-1, 3},
    {-1,-2,-3,-4,-1,-2,-3,-4,-3, 2, 4,-2, 2, 0,-3,-2,-1,-2,-1, 1},
    {-1, 2, 0,-1,-3, 1, 1,-2,-1,-3,-2, 5,-1,-3,-1, 0,-1,-3,-2,-2},
    {-1,-1,-2,-3,-1, 0,-2,-3,-2, 1, 2,-1, 5, 0,-2,-1,-1,-1,-1, 1},
    {-2,-3,-3,-3,-2,-3,-3,-3,-1, 0, 0,-3, 0, 6,-4,-2,-2, 1, 3,-1},
    {-1,-2,-2,-1,-3,-1,-1,-2,-2,-3,-3,-1,-2,-4, 7,-1,-1,-4,-3,-2},
    { 1,-1, 1, 0,-1, 0, 0, 0,-1,-2,-2, 0,-1,-2,-1, 4, 1,-3,-2,-2},
    { 0,-1, 0,-1,-1,-1,-1,-2,-2,-1,-1,-1,-1,-2,-1, 1, 5,-2,-2, 0},
    {-3,-3,-4,-4,-2,-2,-3,-2,-2,-3,-2,-3,-1, 1,-4,-3,-2,11, 2,-3},
    {-2,-2,-2,-3,-2,-1,-2,-3, 2,-1,-1,-2,-1, 3,-3,-2,-2, 2, 7,-1},
    { 0,-3,-3,-3,-1,-2,-2,-3,-3, 3, 1,-2, 1,-1,-2,-2, 0,-3,-1, 4},
};
// clang-format on

/// Letters by a generator that is the same everywhere.
class Letters {
 public:
  explicit Letters(std::uint32_t seed) : state_(seed) {}
  int below(int count) {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<int>((state_ >> 16) % static_cast<std::uint32_t>(count));
  }
  std::vector<std::uint8_t> some(int count) {
    std::vector<std::uint8_t> letters(static_cast<std::size_t>(count));
    for (std::uint8_t& letter : letters) letter = static_cast<std::uint8_t>(below(kLetters));
    return letters;
  }

 private:
  std::uint32_t state_;
};

/// A piece of the query with changed, lost and added letters, so that pairs score more than chance and have
/// gaps.
void plant(std::span<const std::uint8_t> query, Letters& letters, std::span<std::uint8_t> subject) {
  constexpr int kMostLetters = 240;
  const int size = static_cast<int>(query.size());
  int from = letters.below(size), to = letters.below(static_cast<int>(subject.size()));
  const int end = std::min(size, from + 40 + letters.below(kMostLetters - 40));
  while (from < end && to < static_cast<int>(subject.size())) {
    const int fate = letters.below(100);
    if (fate < 2) from += 1 + letters.below(12);
    if (fate >= 2 && fate < 4) to += 1 + letters.below(12);
    if (from >= end || to >= static_cast<int>(subject.size())) break;
    if (fate < 80) subject[static_cast<std::size_t>(to)] = query[static_cast<std::size_t>(from)];
    ++from, ++to;
  }
}

Alignments make_alignments(int query_letters) {
  Alignments made;
  made.lanes = query_letters / kTile;
  Letters letters(1);
  for (auto& query : made.queries) query = letters.some(query_letters);
  made.subjects = letters.some(kSubjects * kSubjectLetters);
  for (int i = 0; i < kSubjects; ++i) {
    const std::span<std::uint8_t> subject =
        std::span(made.subjects).subspan(static_cast<std::size_t>(i) * kSubjectLetters, kSubjectLetters);
    // Some have a piece of one query or the other, some of both, some none.
    for (int query = 0; query < kQueries; ++query)
      if ((i >> query) % 2 == 1) plant(made.queries[query], letters, subject);
    for (const auto& query : made.queries) {
      const std::vector<std::int16_t> best = align(query, subject);
      made.best.insert(made.best.end(), best.begin(), best.end());
    }
  }
  return made;
}

}  // namespace

int letter_score(int one, int other) { return kBlosum62[one][other]; }

int Alignments::of_lane(int subject, int query, int lane, int row) const {
  const int tile = (subject * kQueries + query) * lanes + lane;
  return best[static_cast<std::size_t>(tile) * kSubjectLetters + static_cast<std::size_t>(row)];
}

int Alignments::score(int subject, int query) const {
  int score = 0;
  for (int lane = 0; lane < lanes; ++lane)
    score = std::max(score, of_lane(subject, query, lane, kSubjectLetters - 1));
  return score;
}

const Alignments& alignments_of(int query_letters) {
  static std::map<int, Alignments> made;
  const auto at = made.find(query_letters);
  return at != made.end() ? at->second
                          : made.emplace(query_letters, make_alignments(query_letters)).first->second;
}

std::vector<std::int16_t> align(std::span<const std::uint8_t> query, std::span<const std::uint8_t> subject) {
  constexpr int kNever = -(1 << 20);
  std::vector<int> above(query.size() + 1), f(query.size() + 1, kNever);
  std::vector<std::int16_t> best(query.size() / kTile * subject.size());
  for (std::size_t i = 0; i < subject.size(); ++i) {
    int diagonal = 0, left = 0, e = kNever;
    for (std::size_t j = 1; j <= query.size(); ++j) {
      e = std::max(e - kGapNext, left - kGapFirst);
      f[j] = std::max(f[j] - kGapNext, above[j] - kGapFirst);
      left = std::max({0, diagonal + kBlosum62[query[j - 1]][subject[i]], e, f[j]});
      diagonal = above[j];
      above[j] = left;
      std::int16_t& lane = best[(j - 1) / kTile * subject.size() + i];
      if ((j - 1) % kTile == 0 && i > 0) lane = best[(j - 1) / kTile * subject.size() + i - 1];
      lane = std::max(lane, static_cast<std::int16_t>(left));
    }
  }
  return best;
}

std::vector<std::uint32_t> query_profile(const Alignments& alignments) {
  std::vector<std::uint32_t> profile;
  for (int letter = 0; letter < kLetters; ++letter)
    for (int four = 0; four < kTile; four += 4)
      for (int lane = 0; lane < alignments.lanes; ++lane)
        for (int i = 0; i < 4; ++i) {
          const auto at = static_cast<std::size_t>(lane) * kTile + static_cast<std::size_t>(four + i);
          const auto score = [&](int query) {
            return static_cast<std::uint32_t>(letter_score(alignments.queries[query][at], letter)) & 0xFFFF;
          };
          profile.push_back(score(0) | score(1) << 16);
        }
  return profile;
}

AlignedLane right_lane(const Alignments& alignments, int first, int lane, int steps, int queries) {
  AlignedLane right;
  const int row = steps - 1 - lane, finished = row / kSubjectLetters;
  const auto of = [&](int query, int value) { return query < queries ? value : 0; };
  for (int i = 0; lane == alignments.lanes - 1 && i < finished; ++i) {
    const int subject = (first + i) % kSubjects;
    right.folded =
        fold_scores(right.folded, of(0, alignments.score(subject, 0)), of(1, alignments.score(subject, 1)));
  }
  for (int query = 0; query < queries; ++query)
    right.best[query] =
        alignments.of_lane((first + finished) % kSubjects, query, lane, row % kSubjectLetters);
  return right;
}

}  // namespace mmaudit::sweeps
