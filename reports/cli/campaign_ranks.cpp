#include "campaign_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "common.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {
namespace {

using nlohmann::json;

/// First character of a message.
constexpr char kFacts = 'f', kJournal = 'j', kEnd = 'e', kAlive = 'a', kStop = 's', kDismissed = 'd';

std::string facts_json(const CampaignFacts& facts) {
  return json({facts.gpu, facts.driver, facts.cuda, facts.version, facts.revision, facts.date, facts.gpus})
      .dump();
}

/// One rank's view; rank 0's has all of it.
class Watch {
 public:
  Watch(RankComm& comm, const CampaignPlan& plan, const CampaignFacts& facts, const RankWork& work,
        const RankRules& rules)
      : comm_(comm),
        work_(work),
        rules_(rules),
        heard_(static_cast<std::size_t>(comm.size()), std::chrono::steady_clock::now()) {
    const auto size = static_cast<std::size_t>(comm.size());
    if (first()) {
      for (std::size_t r = 0; r < size; ++r) records_.emplace_back(plan, CampaignPart{r, size});
    } else {
      records_.emplace_back(plan, CampaignPart{static_cast<std::size_t>(comm.rank()), size});
    }
    if (!first()) own().take_facts(facts_json(facts));
    tell(kFacts, facts_json(facts));
  }

  RankEnd run() {
    while (!over()) {
      bool busy = own_work();
      while (const auto message = comm_.receive()) {
        hear(*message);
        busy = true;
      }
      if (first()) look_at_all();
      if (rules_.interrupted()) return interrupted();
      if (!busy) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {all_there_, std::move(records_)};
  }

 private:
  static double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  }
  [[nodiscard]] bool first() const { return comm_.rank() == 0; }
  [[nodiscard]] bool over() const {
    if (!first()) return dismissed_;
    return std::all_of(records_.begin(), records_.end(), [](const RankRecord& x) { return x.ended(); });
  }
  RankRecord& own() { return records_.front(); }

  /// To rank 0, whoever that is.
  void tell(char kind, const std::string& text) {
    if (first()) {
      hear({0, kind + text});
    } else {
      comm_.send(0, kind + text);
      told_ = std::chrono::steady_clock::now();
    }
  }

  /// True when there was something to do.
  bool own_work() {
    const bool ended = work_.ended();  // asked first: what it wrote before its end is then there
    const std::string gained = work_.journal();
    for (std::size_t at = 0; at < gained.size(); at += kRankMessageBytes - 1)
      tell(kJournal, gained.substr(at, kRankMessageBytes - 1));
    if (!first() && !gained.empty()) own().take_journal(gained);
    if (gained.empty() && ended && !own_ended_) {
      own_ended_ = true;
      tell(kEnd, json({work_.code(), work_.how()}).dump());
    }
    if (!first() && seconds_since(told_) > 1) tell(kAlive, {});
    return !gained.empty();
  }

  void hear(const RankMessage& message) {
    const auto from = static_cast<std::size_t>(message.from);
    const std::string text = message.text.substr(1);
    switch (message.text.at(0)) {
      case kFacts:
        records_.at(from).take_facts(text);
        break;
      case kJournal: {
        const std::uint64_t before = records_.at(from).tally().total().dots;
        records_.at(from).take_journal(text);
        rules_.progress(records_.at(from).tally().total().dots - before);
        break;
      }
      case kEnd:
        records_.at(from).take_end(text);
        break;
      case kStop:
        work_.stop();
        break;
      case kDismissed:
        dismissed_ = true;
        break;
      default:
        break;
    }
    heard_.at(from) = std::chrono::steady_clock::now();
  }

  void look_at_all() {
    const bool differs = std::any_of(records_.begin(), records_.end(),
                                     [](const RankRecord& x) { return x.tally().total().mismatches != 0; });
    if (differs && !rules_.keep_going && !stopping_) {
      stopping_ = true;
      work_.stop();
      for (int r = 1; r < comm_.size(); ++r) comm_.send(r, std::string(1, kStop));
    }
    for (std::size_t r = 1; r < records_.size(); ++r) {
      if (records_[r].ended() || seconds_since(heard_[r]) < rules_.silence) continue;
      records_[r].end(-1, fmt::format("lost, silent for {:.0f} s", rules_.silence));
      all_there_ = false;
    }
  }

  /// mpirun ends everybody when one is lost, and so does a person. A second is left.
  RankEnd interrupted() {
    own_ended_ = true;  // not by itself
    work_.kill();
    while (own_work()) {
    }
    while (const auto message = comm_.receive()) hear(*message);
    for (RankRecord& one : records_)
      if (!one.ended()) one.end(-1, "stopped from outside, or lost");
    return {false, std::move(records_)};
  }

  RankComm& comm_;
  const RankWork& work_;
  const RankRules& rules_;
  std::vector<RankRecord> records_;  ///< rank 0: a rank each; others: their own
  std::vector<std::chrono::steady_clock::time_point> heard_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
  bool own_ended_ = false, stopping_ = false, dismissed_ = false, all_there_ = true;
};

}  // namespace

void RankRecord::take_journal(const std::string& bytes) {
  rest_ += bytes;
  std::size_t from = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    const std::string line = rest_.substr(from, end - from);
    from = end + 1;
    if (headed_) {
      tally_.take(line, fmt::format("journal of part {}", part_.index));
    } else if (line == journal_header(*plan_, part_)) {
      headed_ = true;
    } else {
      this->end(kBadInput, "refused, its plan is not that of rank 0");
    }
  }
  rest_.erase(0, from);
}

void RankRecord::take_facts(const std::string& text) {
  try {
    const json facts = json::parse(text);
    facts_ = {facts.at(0).get<std::string>(), facts.at(1).get<std::string>(), facts.at(2).get<std::string>(),
              facts.at(3).get<std::string>(), facts.at(4).get<std::string>(), facts.at(5).get<std::string>(),
              facts.at(6).get<std::size_t>()};
  } catch (const json::exception&) {
    throw EnvironmentError("a rank: its greeting is not that of this version");
  }
}

void RankRecord::take_end(const std::string& text) {
  try {
    const json how = json::parse(text);
    end(how.at(0).get<int>(), how.at(1).get<std::string>());
  } catch (const json::exception&) {
    throw EnvironmentError("a rank: its farewell is not that of this version");
  }
}

void RankRecord::end(int code, std::string how) {
  if (ended()) return;
  code_ = code;
  ended_ = std::move(how);
}

std::string RankRecord::result() const { return campaign_json(*plan_, tally_, facts_, part_, ended_); }

RankEnd watch_ranks(RankComm& comm, const CampaignPlan& plan, const CampaignFacts& facts,
                    const RankWork& work, const RankRules& rules) {
  return Watch(comm, plan, facts, work, rules).run();
}

void dismiss_ranks(RankComm& comm) {
  for (int r = 1; r < comm.size(); ++r) comm.send(r, std::string(1, kDismissed));
}

}  // namespace mmaudit::cli
