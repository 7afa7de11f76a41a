#pragma once
// A campaign of several ranks. Each watches a process that does its part, and sends what its journal gains to
// rank 0, which has all counts at any time: what is lost is what a rank had not done.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "campaign_result.hpp"
#include "rank_comm.hpp"

namespace mmaudit::cli {

/// What rank 0 knows of one rank.
class RankRecord {
 public:
  RankRecord(const CampaignPlan& plan, const CampaignPart& part) : plan_(&plan), part_(part), tally_(plan) {}

  /// Bytes of its journal, in order. A journal of another plan ends the rank.
  void take_journal(const std::string& bytes);
  void take_facts(const std::string& json);
  void take_end(const std::string& json);
  /// `code`: its exit code; -1 where it was lost.
  void end(int code, std::string how);

  [[nodiscard]] bool ended() const { return !ended_.empty(); }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const CampaignTally& tally() const { return tally_; }
  /// Its part's result file.
  [[nodiscard]] std::string result() const;

 private:
  const CampaignPlan* plan_;
  CampaignPart part_;
  CampaignTally tally_;
  CampaignFacts facts_ = {"unknown", "unknown", "unknown", "unknown", "unknown", "", 0};
  std::string rest_, ended_;
  bool headed_ = false;
  int code_ = -1;
};

/// The process that does this rank's part, and its journal; functions, so that a test needs neither.
struct RankWork {
  std::function<std::string()> journal;  ///< what it gained; empty: nothing now
  std::function<bool()> ended;
  std::function<int()> code;         ///< with which it ended; -1: by a signal
  std::function<std::string()> how;  ///< it ended, in words
  std::function<void()> stop;        ///< after its stretch
  std::function<void()> kill;
};

struct RankRules {
  bool keep_going = false;
  double silence = 60;                ///< seconds after which a rank that says nothing counts as lost
  std::function<bool()> interrupted;  ///< this process has been asked to end
  std::function<void(std::uint64_t dots)> progress = [](std::uint64_t) {};
};

/// What a rank ends with.
struct RankEnd {
  bool all_there = true;            ///< every rank will call RankComm::finish()
  std::vector<RankRecord> records;  ///< rank 0: of every rank; others: none, or their own when interrupted
};

/// Until every rank has ended or this one is interrupted.
RankEnd watch_ranks(RankComm& comm, const CampaignPlan& plan, const CampaignFacts& facts,
                    const RankWork& work, const RankRules& rules);

/// Rank 0 to the others: the result is written.
void dismiss_ranks(RankComm& comm);

}  // namespace mmaudit::cli
