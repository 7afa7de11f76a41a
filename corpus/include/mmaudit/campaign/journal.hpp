#pragma once
// What a campaign has done: one line per finished work item.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/campaign/schedule.hpp"
#include "mmaudit/dot_case.hpp"

namespace mmaudit::campaign {

struct Count {
  std::uint64_t dots = 0, mismatches = 0;
  double seconds = 0;  ///< of one GPU or one thread

  Count& operator+=(const Count& other);
};

/// First line of a journal, without its end: which schedule and shard the journal belongs to.
std::string journal_header(const Schedule& schedule, const Shard& shard);

/// The sum over the lines of a journal.
class Tally {
 public:
  /// `schedule` has to outlive the tally.
  explicit Tally(const Schedule& schedule) : schedule_(schedule) {}

  /// Adds a line after the header; a repeated line counts once. InputError where its checksum, work item,
  /// counts or examples are not what a campaign of the schedule writes.
  void take(const std::string& line, const std::string& where);

  /// Adds a work item that was just finished.
  void add(const WorkItem& item, const Count& count, const std::vector<Mismatch>& examples);

  [[nodiscard]] bool done(const WorkItem& item) const;
  /// Whether all that is done is work of `shard`.
  [[nodiscard]] bool belongs_to(const Shard& shard) const;
  /// By instruction and input class.
  [[nodiscard]] const std::map<std::pair<std::size_t, std::size_t>, Count>& counts() const { return counts_; }
  /// Each with the index of its instruction.
  [[nodiscard]] const std::vector<std::pair<std::size_t, Mismatch>>& examples() const { return examples_; }
  [[nodiscard]] Count total() const;

 private:
  const Schedule& schedule_;
  std::set<std::pair<std::pair<std::size_t, std::size_t>, std::uint64_t>> done_;
  std::map<std::pair<std::size_t, std::size_t>, Count> counts_;
  std::vector<std::pair<std::size_t, Mismatch>> examples_;
};

/// An append-only file with one JSON line per work item: kill -9 loses only what was running. A campaign that
/// starts with the same schedule and shard goes on where the file ends. InputError when the file belongs to
/// another campaign. A torn last line is dropped.
class Journal {
 public:
  Journal(const std::filesystem::path& file, const Schedule& schedule, const Shard& shard = {});

  void add(const WorkItem& item, const Count& count, const std::vector<Mismatch>& examples);
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  Tally tally_;
  std::ofstream out_;
};

}  // namespace mmaudit::campaign
