#pragma once
// Local alignment of protein sequences after Smith and Waterman, with affine gaps: sequences, scores, and
// what every pair scores, computed plainly. Scores: BLOSUM62 (Henikoff and Henikoff 1992); a gap costs 11 for
// its first letter and 1 for each further one, as CUDASW++4 has them.
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/config.hpp"

namespace mmaudit::sweeps {

inline constexpr int kLetters = 20;
inline constexpr int kGapFirst = 11, kGapNext = 1;
/// A power of two each: subjects are read round and round.
inline constexpr int kSubjects = 32, kSubjectLetters = 1024;
/// Letters of a query that a lane holds.
inline constexpr int kTile = 32;
/// Queries that are aligned at once.
inline constexpr int kQueries = 2;

/// The score of two letters, in BLOSUM62's order ARNDCQEGHILKMFPSTWYV.
int letter_score(int one, int other);

/// Sequences, and the best score of each query with each subject up to each of its rows. Lane: a tile of the
/// query.
struct Alignments {
  int lanes = 0;
  std::vector<std::uint8_t> subjects;           ///< kSubjects of kSubjectLetters letters
  std::vector<std::uint8_t> queries[kQueries];  ///< of lanes * kTile letters
  std::vector<std::int16_t> best;               ///< by subject, query, lane, row

  /// The greatest score of the lane's cells in rows 0 to `row`.
  [[nodiscard]] int of_lane(int subject, int query, int lane, int row) const;
  /// The score of the pair.
  [[nodiscard]] int score(int subject, int query) const;
};

/// What: of queries of so many letters, a multiple of kTile; made once, then kept.
const Alignments& alignments_of(int query_letters);

/// What: scores of tiles of the query up to each row of the subject, by tile and row: H(i,j) = max(0,
/// H(i-1,j-1) + score, E(i,j), F(i,j)), E and F the best ends in a gap.
std::vector<std::int16_t> align(std::span<const std::uint8_t> query, std::span<const std::uint8_t> subject);

/// What a kernel reads: scores of both queries' letters with each of kLetters, the second query's in the high
/// half, by letter, four letters of a tile at a time, lane, and letter of the four.
std::vector<std::uint32_t> query_profile(const Alignments& alignments);

/// Scores of finished subjects, folded: `folded` starts at 0.
MMAUDIT_HD constexpr std::uint32_t fold_scores(std::uint32_t folded, int first, int second) {
  return (folded ^ (static_cast<std::uint32_t>(first) + (static_cast<std::uint32_t>(second) << 16))) *
             0x01000193U +
         1;
}

/// What a lane writes: the folded scores that reached the last lane of its group, and its own best of the
/// subject that it was in.
struct AlignedLane {
  std::uint32_t folded = 0;
  std::int32_t best[kQueries] = {};
  bool operator==(const AlignedLane&) const = default;
};

/// What: what it must be after so many steps. Lane `lane` of a group of alignments.lanes is `lane` rows
/// behind the first; the group starts with subject `first` of all. `queries`: 1 where only the first is
/// aligned.
AlignedLane right_lane(const Alignments& alignments, int first, int lane, int steps, int queries);

}  // namespace mmaudit::sweeps
