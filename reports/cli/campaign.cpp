// mmaudit campaign: instructions against the model on the GPU, as many dot products as there is time for.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "campaign_record.hpp"
#include "common.hpp"
#include "hardware_backend.hpp"
#include "interruptible.hpp"
#include "law_failures.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/device/crossed.hpp"
#include "mmaudit/laws/check.hpp"
#include "mmaudit/version.hpp"
#include "row_json.hpp"

namespace mmaudit::cli {
namespace {

struct CampaignOptions {
  std::vector<std::string> instructions, families;
  std::string out, journal, show;
  double dots = 1e9, seconds = 0;
  std::uint64_t seed = 0;
  bool has_seed = false, keep_going = false, list = false;
  unsigned gpus = 1;
  int n = 64;
};

bool asked_for(const std::vector<std::string>& parts, std::string_view name) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return part == "all" || name.find(part) != std::string_view::npos;
         });
}

CampaignPlan plan_of(const CampaignOptions& options, const Architecture& architecture,
                     const device::DeviceInfo* gpu) {
  CampaignPlan plan;
  plan.seed = options.seed;
  plan.dots = static_cast<std::uint64_t>(options.dots);
  plan.architecture = architecture.name;
  for (const Instruction& instruction : all_instructions(options.n)) {
    const DatapathRow* row = find_datapath(architecture, instruction);
    if (row == nullptr || instruction.scale != Format::none ||
        !asked_for(options.instructions, name_of(instruction)) ||
        (gpu != nullptr && !device::why_not(*gpu, instruction).empty()))
      continue;
    plan.instructions.push_back({instruction, row, std::string(device::engine_of(instruction, row->model))});
  }
  if (plan.instructions.empty())
    throw InputError(
        "--inst: found no such instruction on this GPU, allowed: part of a name of `mmaudit list`");
  for (int f = 0; f < gen::kFamilies; ++f)
    if (asked_for(options.families, gen::name_of(static_cast<gen::Family>(f))))
      plan.families.push_back(static_cast<gen::Family>(f));
  if (plan.families.empty())
    throw InputError(fmt::format("--family: found no such family, allowed: part of {} ... {}",
                                 gen::name_of(gen::Family::random_bits),
                                 gen::name_of(gen::Family::floor_edge)));
  return plan;
}

std::vector<Mismatch> to_examples(const device::StretchResult& result) {
  std::vector<Mismatch> examples;
  for (const device::Mismatch& one : result.first)
    examples.push_back({std::string(gen::name_of(one.family)), one.tile, one.row, one.col, 0, one.a, one.b,
                        one.c, one.d_hardware, one.d_model, one.metadata});
  return examples;
}

/// GPUs that take items off one list; the journal is one, too.
class Campaign {
 public:
  Campaign(const CampaignPlan& plan, std::vector<device::DeviceInfo> gpus, CampaignJournal& journal,
           const CampaignOptions& options)
      : plan_(plan), gpus_(std::move(gpus)), journal_(journal), options_(options), items_(items_of(plan)) {
    for (const CampaignItem& item : items_) all_dots_ += dots_of(item);
  }

  /// True when every item is done.
  bool run() {
    Progress progress("checking", all_dots_);
    progress_ = &progress;
    progress.advance(journal_.total().dots, "done before");
    started_ = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> others;
      for (std::size_t g = 1; g < gpus_.size(); ++g) others.emplace_back([this, g] { work(gpus_[g]); });
      work(gpus_.front());
    }
    if (failure_) std::rethrow_exception(failure_);
    return std::all_of(items_.begin(), items_.end(),
                       [&](const CampaignItem& item) { return journal_.done(item); });
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  [[nodiscard]] std::uint64_t fresh_dots() const { return fresh_; }
  [[nodiscard]] double fresh_products() const { return products_; }

 private:
  [[nodiscard]] std::uint64_t dots_of(const CampaignItem& item) const {
    const CampaignInstruction& one = plan_.instructions[item.instruction];
    return item.chunks * device::dots_of_chunk(one.instruction, one.row->model);
  }

  [[nodiscard]] bool over() const {
    return Interruptible::stopped() || stop_ || (options_.seconds > 0 && seconds() > options_.seconds);
  }

  void work(const device::DeviceInfo& gpu) {
    try {
      std::unique_ptr<device::CrossedCheck> check;
      std::size_t of = plan_.instructions.size();
      for (std::size_t i = next_++; i < items_.size() && !over(); i = next_++) {
        const CampaignItem& item = items_[i];
        if (const std::lock_guard lock(mutex_); journal_.done(item)) continue;
        const CampaignInstruction& one = plan_.instructions[item.instruction];
        if (of != item.instruction) {
          check.reset();  // gives its memory back first
          check = std::make_unique<device::CrossedCheck>(gpu, one.instruction, one.row->model);
          of = item.instruction;
        }
        const auto before = std::chrono::steady_clock::now();
        const device::StretchResult result =
            check->run({plan_.families[item.family], plan_.seed, item.first_chunk, item.chunks});
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
        record(item, one, result, took);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
  }

  void record(const CampaignItem& item, const CampaignInstruction& one, const device::StretchResult& result,
              double took) {
    const std::lock_guard lock(mutex_);
    journal_.add(item, {result.dots, result.mismatches, took}, to_examples(result));
    fresh_ += result.dots;
    products_ += static_cast<double>(result.dots) * one.instruction.k;
    progress_->advance(result.dots, fmt::format("{}, {:.3g} dot products/s", name_of(one.instruction),
                                                static_cast<double>(fresh_) / seconds()));
    if (result.mismatches != 0 && !options_.keep_going) stop_ = true;
  }

  const CampaignPlan& plan_;
  std::vector<device::DeviceInfo> gpus_;
  CampaignJournal& journal_;
  const CampaignOptions& options_;
  std::vector<CampaignItem> items_;
  std::uint64_t all_dots_ = 0, fresh_ = 0;
  double products_ = 0;
  Progress* progress_ = nullptr;
  std::chrono::steady_clock::time_point started_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// The first difference, and the smallest dot product on which this GPU differs from the row.
void explain_first(const CampaignPlan& plan, const CampaignJournal& journal, const Architecture& architecture,
                   const device::DeviceInfo& gpu) {
  const auto& [index, example] = journal.examples().front();
  const CampaignInstruction& one = plan.instructions[index];
  emit("-", fmt::format("\n{}\n{}", name_of(one.instruction), describe(example, one.instruction)));
  const laws::Subject subject(architecture, one.instruction, one.row->model);
  const auto book = laws::lawbook();
  const auto law = std::find_if(book.begin(), book.end(),
                                [](const laws::Law& x) { return x.name == "follows_the_documented_model"; });
  if (law == book.end()) return;
  laws::Dot dot;
  dot.a = example.a;
  dot.b = example.b;
  dot.c = example.c;
  dot.metadata = example.metadata;
  const laws::Backend backend = hardware_backend(gpu);
  if (!laws::judge_alone(*law, subject, backend, dot)) return;
  const laws::Failure small = laws::shrink(*law, subject, backend, dot);
  emit("-", "shrunk:\n" +
                describe(small, *law, architecture, replay_command(small, "hardware", architecture, {})));
}

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot read", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string listing(const CampaignPlan& plan) {
  std::string text;
  for (const CampaignInstruction& one : plan.instructions)
    text += fmt::format("{:44} {:9} {:>12} dot products a chunk\n", name_of(one.instruction), one.engine,
                        device::dots_of_chunk(one.instruction, one.row->model));
  return text + fmt::format("{} instructions, {} stretches for {} dot products each\n",
                            plan.instructions.size(), items_of(plan).size(), plan.dots);
}

int campaign(CampaignOptions options) {
  if (!options.show.empty()) {
    emit("-", campaign_text(whole_file(options.show), options.show));
    return kAllGood;
  }
  if (options.list) {
    emit("-", listing(plan_of(options, require_architecture({}), nullptr)));
    return kAllGood;
  }
  if (!options.has_seed && !options.journal.empty())
    throw InputError(
        "--journal: found without --seed, allowed: with it (a campaign goes on with the seed it had)");
  if (!options.has_seed) options.seed = std::random_device{}();
  const device::DeviceInfo gpu = require_device();
  std::vector<device::DeviceInfo> gpus = device::devices();
  std::erase_if(gpus, [&](const device::DeviceInfo& x) { return x.name != gpu.name; });
  if (options.gpus > gpus.size())
    throw InputError(fmt::format("--gpus: found {}, allowed: up to {}, the {} of this machine", options.gpus,
                                 gpus.size(), gpu.name));
  if (options.gpus != 0) gpus.resize(options.gpus);
  const Architecture* own = user_model();
  const Architecture* built_in = find_architecture(gpu.compute_capability);
  if (own == nullptr && built_in == nullptr)
    throw EnvironmentError(fmt::format("{}: the model has no row for it", gpu.name));
  const Architecture& architecture = own != nullptr ? *own : *built_in;
  const CampaignPlan plan = plan_of(options, architecture, &gpu);
  const bool temporary = options.journal.empty();
  const std::string file = temporary ? (std::filesystem::temp_directory_path() /
                                        fmt::format("mmaudit-campaign-{}.jsonl", std::random_device{}()))
                                           .string()
                                     : options.journal;
  CampaignJournal journal(file, plan);
  if (temporary) std::filesystem::remove(file);
  Campaign run(plan, gpus, journal, options);
  CampaignFacts facts{gpu.name, gpu.driver, gpu.cuda, kVersion, kGitRevision, today(), gpus.size(), false};
  {
    const Interruptible interruptible;
    facts.complete = run.run();
  }
  const double seconds = run.seconds();
  const std::string result = campaign_json(plan, journal, facts);
  if (!options.out.empty()) corpus::write_file_atomically(options.out, std::string_view(result));
  emit("-", campaign_text(result, options.out.empty() ? "the result" : options.out));
  emit("-", fmt::format("this run: {} dot products in {:.1f} s on {} GPU{}, {:.3g} dot products/s, {:.3g} "
                        "multiply-adds/s\n",
                        run.fresh_dots(), seconds, gpus.size(), gpus.size() == 1 ? "" : "s",
                        static_cast<double>(run.fresh_dots()) / seconds, run.fresh_products() / seconds));
  if (journal.total().mismatches != 0) {
    if (!journal.examples().empty()) explain_first(plan, journal, architecture, gpu);
    return kMismatch;
  }
  return Interruptible::stopped() ? kInterrupted : kAllGood;
}

}  // namespace

void add_campaign(CLI::App& app, Action& action) {
  auto options = std::make_shared<CampaignOptions>();
  CLI::App* command = app.add_subcommand(
      "campaign",
      "Instructions of this GPU against the model on the same GPU, billions of dot products a second");
  command->add_option("--inst", options->instructions, "only instructions whose name contains one of these")
      ->delimiter(',');
  command->add_option("--family", options->families, "only input families whose name contains one of these")
      ->delimiter(',');
  command->add_option("--dots", options->dots, "at least this many dot products an instruction")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e15));
  CLI::Option* seed = command->add_option("--seed", options->seed, "seed (default: fresh, in the result)");
  command->add_option("--wgmma-n", options->n, "N of wgmma")
      ->capture_default_str()
      ->check(CLI::Range(8, 256));
  command->add_option("--gpus", options->gpus, "GPUs of this machine; 0: all of the first one's kind")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "begin nothing after so many seconds");
  command->add_option("--journal", options->journal,
                      "file that records what is done: the same command goes on where it ended");
  command->add_option("--out", options->out, "file of the result, JSON");
  command->add_flag("--keep-going", options->keep_going, "go on after a difference");
  command->add_flag("--list", options->list, "what would be done; needs no GPU");
  command->add_option("--show", options->show, "print a result file and check its checksum; needs no GPU");
  add_model_option(*command);
  command->callback([&action, options, seed] {
    options->has_seed = seed->count() > 0;
    action = [options] { return campaign(*options); };
  });
}

}  // namespace mmaudit::cli
