// mmaudit campaign: instructions against the model, as many dot products as there is time for.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "campaign_ranks.hpp"
#include "campaign_run.hpp"
#include "campaign_setup.hpp"
#include "campaign_watch.hpp"
#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/atomic_file.hpp"

namespace mmaudit::cli {
namespace {

std::string temporary_journal() {
  const std::string name = fmt::format("mmaudit-campaign-{}-{}.jsonl", getpid(), std::random_device{}());
  return (std::filesystem::temp_directory_path() / name).string();
}

void publish(const CampaignOptions& options, const std::string& result) {
  if (!options.out.empty()) corpus::write_file_atomically(options.out, std::string_view(result));
  emit("-", campaign_text(result, options.out.empty() ? "the result" : options.out));
}

int merge_files(const CampaignOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& file : options.merge) files.emplace_back(file, text_of_file(file));
  const std::string result = merge_campaigns(files);
  publish(options, result);
  const CampaignVerdict verdict = campaign_verdict(result, "the result");
  return verdict.complete && verdict.mismatches == 0 ? kAllGood : kMismatch;
}

/// This process alone: everything, or a part.
int campaign_here(const CampaignOptions& options) {
  if (options.watched != 0) {
    end_with(options.watched);
  }
  const Interruptible interruptible;
  const CampaignRun how{part_of(options), options.seconds, options.keep_going,
                        options.context.quiet || options.watched != 0};
  const CampaignSetup setup = set_up_campaign(options);
  const bool temporary = options.journal.empty();
  const std::string file = temporary ? temporary_journal() : options.journal;
  CampaignJournal journal(file, setup.plan, how.part);
  if (temporary) std::filesystem::remove(file);
  const CampaignSpeed speed = run_campaign(setup.plan, setup.workers, journal, how);
  const CampaignTally& tally = journal.tally();
  if (options.watched == 0) {
    publish(options, campaign_json(setup.plan, tally, setup.facts, how.part));
    emit("-", fmt::format("this run: {} dot products in {:.1f} s on {}, {:.3g} dot products/s, {:.3g} "
                          "multiply-adds/s\n",
                          speed.dots, speed.seconds, setup.seats,
                          static_cast<double>(speed.dots) / speed.seconds, speed.products / speed.seconds));
    if (!tally.examples().empty())
      emit("-", explain_difference(setup, tally.examples().front().first, tally.examples().front().second));
  }
  if (tally.total().mismatches != 0) return kMismatch;
  return Interruptible::stopped() ? kInterrupted : kAllGood;
}

/// Rank 0 says what the seed is once it knows that the options are good, so that their refusal is one line.
std::uint64_t agreed_seed(RankComm& comm) {
  for (;;) {
    if (const auto message = comm.receive()) return std::stoull(message->text);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

RankWork work_of(WatchedProcess& process, GrowingFile& journal) {
  return {.journal = [&] { return journal.read(); },
          .ended = [&] { return process.ended(); },
          .code = [&] { return process.code(); },
          .how = [&] { return process.how(); },
          .stop = [&] { process.stop(); },
          .kill = [&] { process.kill(); }};
}

/// Rank 0's last words, from what it knows of all.
int report_ranks(const CampaignOptions& options, const CampaignSetup& setup,
                 const std::vector<RankRecord>& records) {
  std::vector<std::pair<std::string, std::string>> parts;
  int code = kAllGood;
  bool lost = false;
  for (const RankRecord& one : records) {
    parts.emplace_back(fmt::format("rank {}", parts.size()), one.result());
    code = std::max(code, one.code());
    lost = lost || one.code() < 0;
  }
  const std::string result = merge_campaigns(parts);
  publish(options, result);
  const auto differs = std::find_if(records.begin(), records.end(),
                                    [](const RankRecord& one) { return !one.tally().examples().empty(); });
  if (differs != records.end()) {
    const auto& [instruction, example] = differs->tally().examples().front();
    emit("-", explain_difference(setup, instruction, example));
  }
  return lost || campaign_verdict(result, "the result").mismatches != 0 ? kMismatch : code;
}

/// One of several processes that mpirun started.
int campaign_of_ranks(CampaignOptions options, RankComm& comm) {
  prctl(PR_SET_NAME, "campaign-watch");  // beside the process that works, which keeps its name
  const bool first = comm.rank() == 0;
  if (!first) options.seed = agreed_seed(comm);
  options.first_gpu += static_cast<unsigned>(comm.local_rank()) * options.gpus;
  const CampaignSetup setup = set_up_campaign(options, static_cast<unsigned>(comm.local_size()));
  for (int r = 1; first && r < comm.size(); ++r) comm.send(r, std::to_string(options.seed));

  const Interruptible interruptible;
  const bool temporary = options.journal.empty();
  const std::string suffix = fmt::format(".rank{}", comm.rank());
  const std::string file = (temporary ? temporary_journal() : options.journal) + suffix;
  std::vector<std::string> arguments = {"--part",      fmt::format("{}/{}", comm.rank(), comm.size()),
                                        "--journal",   file,
                                        "--seed",      std::to_string(options.seed),
                                        "--first-gpu", std::to_string(options.first_gpu),
                                        "--watched",   std::to_string(getpid())};
  if (options.on_model())
    arguments.insert(arguments.end(), {"--threads", std::to_string(setup.workers.size())});
  std::uint64_t all = 0;
  for (const CampaignItem& item : items_of(setup.plan)) all += dots_of(setup.plan, item);
  Progress progress(options.context.quiet, "checking", all);
  RankEnd end;
  {
    WatchedProcess process(arguments);
    GrowingFile journal(file);
    end = watch_ranks(
        comm, setup.plan, setup.facts, work_of(process, journal),
        {.keep_going = options.keep_going,
         .interrupted = [] { return Interruptible::stopped(); },
         .progress =
             [&](std::uint64_t dots) { progress.advance(dots, fmt::format("{} ranks", comm.size())); }});
  }
  if (temporary) std::filesystem::remove(file);
  int code = kAllGood;
  if (first) {
    code = report_ranks(options, setup, end.records);
    std::fflush(stdout);
  } else if (!end.all_there && !options.out.empty()) {
    // Rank 0 writes what it knows; this is for when that was the lost one.
    corpus::write_file_atomically(options.out + suffix, std::string_view(end.records.front().result()));
  }
  if (!end.all_there) {
    // Open MPI kills the others as soon as one that it asked to end has ended: rank 0 is to be that one.
    if (!first) std::this_thread::sleep_for(std::chrono::seconds(3));
    return first ? std::max(code, kMismatch) : kMismatch;
  }
  if (first) dismiss_ranks(comm);
  comm.finish();
  return code;
}

int campaign(CampaignOptions options) {
  if (!options.show.empty()) {
    emit("-", campaign_text(text_of_file(options.show), options.show));
    return kAllGood;
  }
  if (!options.merge.empty()) return merge_files(options);
  if (options.list) {
    emit("-", campaign_listing(options));
    return kAllGood;
  }
  static_cast<void>(part_of(options));
  if (!options.journal.empty() &&
      std::filesystem::weakly_canonical(options.journal) == std::filesystem::weakly_canonical(options.out))
    throw InputError(fmt::format("--out: found {}, allowed: another file than --journal", options.out));
  if (!options.has_seed && (!options.journal.empty() || !options.part.empty()))
    throw InputError(
        fmt::format("{}: found without --seed, allowed: with it (a campaign goes on with the seed it had)",
                    options.journal.empty() ? "--part" : "--journal"));
  if (!options.has_seed) options.seed = std::random_device{}();
  if (options.part.empty())
    if (const std::unique_ptr<RankComm> comm = join_ranks()) return campaign_of_ranks(options, *comm);
  return campaign_here(options);
}

}  // namespace

void add_campaign(Command& app) {
  auto options = std::make_shared<CampaignOptions>();
  Command command = app.command(
      "campaign",
      "Instructions against the model, on the GPU billions of dot products a second; under mpirun on "
      "many machines",
      {"mmaudit campaign --dots 1e9 --journal campaign.jsonl --out campaign.json",
       "mmaudit campaign --on model --inst m16n8k16 --dots 1e6"});
  command
      .option("--on", options->on,
              "hardware: this GPU; model: no GPU, the model's quick code plays the hardware")
      .one_of({"hardware", "model"});
  command.option(
      "--arch", options->architecture,
      "with --on model: whose built-in rows (default: of the compute capability of --model, else hopper)");
  command.option("--inst", options->instructions, "only instructions whose name contains one of these")
      .comma_separated();
  command.option("--family", options->families, "only input families whose name contains one of these")
      .comma_separated();
  command.option("--dots", options->dots, "at least this many dot products an instruction").range(1.0, 1e15);
  const Option seed = command.option("--seed", options->seed, "seed (default: fresh, in the result)")
                          .default_text("")
                          .takes_last();
  command.option("--wgmma-n", options->n, "N of wgmma").range(8, 256).multiple_of(8);
  command.option("--gpus", options->gpus, "GPUs of this machine; 0: all of the first one's kind");
  command.option("--first-gpu", options->first_gpu, "number of the first of them, modulo how many there are")
      .takes_last();
  command.option("--threads", options->threads, "with --on model; 0: one a core").range(0, 4096).takes_last();
  command.option("--seconds", options->seconds, "begin nothing after so many seconds");
  command
      .option("--journal", options->journal,
              "file that records what is done: the same command goes on where it ended")
      .takes_last();
  command.option("--out", options->out, "file of the result, JSON");
  command
      .option("--part", options->part,
              "I/N: only every N-th stretch, from the I-th on; the results are put together by --merge")
      .takes_last();
  command.option("--merge", options->merge, "put these results of parts together; needs no GPU");
  command.flag("--keep-going", options->keep_going, "go on after a difference");
  command.flag("--list", options->list, "what would be done; needs no GPU");
  command.option("--show", options->show, "print a result file and check its checksum; needs no GPU");
  command.option("--watched", options->watched, "").takes_last().hidden();
  add_model_option(command);
  command.runs([options, seed](const Context& context) {
    options->context = context;
    options->has_seed = seed.given();
    return campaign(*options);
  });
}

}  // namespace mmaudit::cli
