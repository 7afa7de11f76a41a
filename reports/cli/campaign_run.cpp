#include "campaign_run.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "common.hpp"
#include "interruptible.hpp"

namespace mmaudit::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

class Campaign {
 public:
  Campaign(const CampaignPlan& plan, CampaignJournal& journal, const CampaignRun& how)
      : plan_(plan), journal_(journal), how_(how) {
    const std::vector<CampaignItem> all = items_of(plan);
    for (std::size_t i = how.part.index; i < all.size(); i += how.part.of) {
      items_.push_back(all[i]);
      all_dots_ += dots_of(plan, all[i]);
    }
  }

  CampaignSpeed run(const std::vector<CampaignWorkerMaker>& workers) {
    Progress progress(how_.quiet, "checking", all_dots_);
    progress_ = &progress;
    progress.advance(journal_.tally().total().dots, "done before");
    started_ = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> others;
      for (std::size_t w = 1; w < workers.size(); ++w) others.emplace_back([&, w] { work(workers[w]); });
      work(workers.front());
    }
    if (failure_) std::rethrow_exception(failure_);
    speed_.seconds = seconds_since(started_);
    return speed_;
  }

 private:
  [[nodiscard]] bool over() const {
    return Interruptible::stopped() || stop_ || (how_.seconds > 0 && seconds_since(started_) > how_.seconds);
  }

  void work(const CampaignWorkerMaker& make) {
    try {
      const std::unique_ptr<CampaignWorker> worker = make();
      for (std::size_t i = next_++; i < items_.size() && !over(); i = next_++) {
        const CampaignItem& item = items_[i];
        if (const std::lock_guard lock(mutex_); journal_.tally().done(item)) continue;
        const auto before = std::chrono::steady_clock::now();
        const device::StretchResult result =
            worker->run(plan_.instructions[item.instruction],
                        {plan_.families[item.family], plan_.seed, item.first_chunk, item.chunks});
        record(item, result, seconds_since(before));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
  }

  void record(const CampaignItem& item, const device::StretchResult& result, double took) {
    std::vector<Mismatch> examples;
    for (const device::Mismatch& one : result.first)
      examples.push_back({{.a = one.a,
                           .b = one.b,
                           .c = one.c,
                           .modifiers = one.modifiers,
                           .metadata = one.metadata,
                           .scale_a = {},
                           .scale_b = {},
                           .input_class = std::string(gen::name_of(one.family)),
                           .tile = one.tile,
                           .row = one.row,
                           .column = one.col},
                          one.d_hardware,
                          one.d_model});
    const Instruction& instruction = plan_.instructions[item.instruction].instruction;
    const std::lock_guard lock(mutex_);
    journal_.add(item, {result.dots, result.mismatches, took}, examples);
    speed_.dots += result.dots;
    speed_.products += static_cast<double>(result.dots) * instruction.k;
    progress_->advance(result.dots, fmt::format("{}, {:.3g} dot products/s", name_of(instruction),
                                                static_cast<double>(speed_.dots) / seconds_since(started_)));
    if (result.mismatches != 0 && !how_.keep_going) stop_ = true;
  }

  const CampaignPlan& plan_;
  CampaignJournal& journal_;
  const CampaignRun& how_;
  std::vector<CampaignItem> items_;
  std::uint64_t all_dots_ = 0;
  CampaignSpeed speed_;
  Progress* progress_ = nullptr;
  std::chrono::steady_clock::time_point started_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

CampaignSpeed run_campaign(const CampaignPlan& plan, const std::vector<CampaignWorkerMaker>& workers,
                           CampaignJournal& journal, const CampaignRun& how) {
  return Campaign(plan, journal, how).run(workers);
}

}  // namespace mmaudit::cli
