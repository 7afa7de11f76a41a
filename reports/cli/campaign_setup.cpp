#include "campaign_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "common.hpp"
#include "law_failures.hpp"
#include "mismatch_text.hpp"
#include "mmaudit/corpus/datapath_json.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/laws/check.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

/// Instructions that both have, by `setup`; on hardware those that the GPU has, too.
void plan_work(const CampaignOptions& options, CampaignSetup& setup) {
  CampaignPlan& plan = setup.plan;
  plan.seed = options.seed;
  plan.dots = static_cast<std::uint64_t>(options.dots);
  plan.architecture = setup.architecture->name;
  for (const Instruction& instruction : all_instructions(options.n)) {
    const DatapathEntry* entry = find_datapath(*setup.architecture, instruction);
    const DatapathEntry* plays = setup.plays == nullptr ? entry : find_datapath(*setup.plays, instruction);
    if (entry == nullptr || plays == nullptr || instruction.scale != Format::none ||
        !selected(name_of(instruction), options.instructions) ||
        (setup.gpu && !device::why_not(*setup.gpu, instruction).empty()))
      continue;
    plan.instructions.push_back(setup.plays == nullptr ? gpu_instruction(instruction, *entry)
                                                       : host_instruction(instruction, *entry, *plays));
  }
  if (plan.instructions.empty())
    throw InputError(
        fmt::format("--inst: found no such instruction on {}, allowed: part of a name of `mmaudit list`",
                    setup.plays == nullptr ? "this GPU" : setup.plays->name));
  for (int f = 0; f < gen::kFamilies; ++f)
    if (selected(gen::name_of(static_cast<gen::Family>(f)), options.families))
      plan.families.push_back(static_cast<gen::Family>(f));
  if (plan.families.empty())
    throw InputError(fmt::format("--family: found no such family, allowed: part of {} ... {}",
                                 gen::name_of(gen::Family::random_bits),
                                 gen::name_of(gen::Family::floor_edge)));
}

void seat_gpus(const CampaignOptions& options, CampaignSetup& setup) {
  if (options.threads != 0)
    throw InputError("--threads: found with --on hardware, allowed: with --on model (the GPU computes)");
  if (!options.architecture.empty())
    throw InputError("--arch: found with --on hardware, allowed: with --on model (the GPU says what it is)");
  const device::DeviceInfo any = require_device();
  std::vector<device::DeviceInfo> gpus = device::devices();
  std::erase_if(gpus, [&](const device::DeviceInfo& x) { return x.name != any.name; });
  if (options.gpus > gpus.size())
    throw InputError(fmt::format("--gpus: found {}, allowed: up to {}, the {} of this machine", options.gpus,
                                 gpus.size(), any.name));
  std::rotate(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(options.first_gpu % gpus.size()),
              gpus.end());
  if (options.gpus != 0) gpus.resize(options.gpus);
  setup.gpu = gpus.front();
  const Architecture* built_in = find_architecture(any.compute_capability);
  setup.architecture = options.context.own() != nullptr ? options.context.own() : built_in;
  if (setup.architecture == nullptr)
    throw EnvironmentError(fmt::format("{}: the model has no row for it", any.name));
  for (const device::DeviceInfo& gpu : gpus) setup.workers.push_back(gpu_worker(gpu));
  setup.facts = {any.name, any.driver, any.cuda, kVersion, kGitRevision, today(), gpus.size()};
  setup.seats = fmt::format("{} GPU{}", gpus.size(), gpus.size() == 1 ? "" : "s");
}

/// The user's rows are checked; the built-in ones of that compute capability play the hardware.
void choose_models(const CampaignOptions& options, CampaignSetup& setup) {
  const Architecture* own = options.context.own();
  if (own != nullptr && options.architecture.empty())
    setup.plays = find_architecture(own->compute_capability);
  if (setup.plays == nullptr)
    setup.plays = find_architecture(options.architecture.empty() ? "hopper" : options.architecture);
  if (setup.plays == nullptr) setup.plays = &require_architecture(options.context, options.architecture);
  setup.architecture = own != nullptr ? own : setup.plays;
}

void seat_threads(const CampaignOptions& options, unsigned sharing, CampaignSetup& setup) {
  if (options.gpus != 1) throw InputError("--gpus: found with --on model, allowed: with --on hardware");
  choose_models(options, setup);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency() / std::max(1U, sharing));
  const unsigned threads = options.threads != 0 ? options.threads : cores;
  setup.workers.assign(threads, host_worker());
  setup.facts = facts_without_gpu();
  setup.seats = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

Backend hardware_of(const CampaignSetup& setup) {
  return setup.gpu ? device::hardware_backend(*setup.gpu) : quick_model(*setup.plays);
}

}  // namespace

CampaignPart part_of(const CampaignOptions& options) {
  if (options.part.empty()) return {};
  CampaignPart part;
  const char* end = options.part.data() + options.part.size();
  const auto index = std::from_chars(options.part.data(), end, part.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto of = std::from_chars(index.ptr + 1, end, part.of);
    if (of.ec == std::errc() && of.ptr == end && part.index < part.of && part.of <= kMostParts) return part;
  }
  throw InputError(
      fmt::format("--part: found {}, allowed: I/N with 0 <= I < N <= {}", options.part, kMostParts));
}

CampaignSetup set_up_campaign(const CampaignOptions& options, unsigned sharing) {
  CampaignSetup setup;
  if (options.on_model())
    seat_threads(options, sharing, setup);
  else
    seat_gpus(options, setup);
  plan_work(options, setup);
  return setup;
}

std::string campaign_listing(const CampaignOptions& options) {
  CampaignSetup setup;
  if (options.on_model())
    choose_models(options, setup);
  else
    setup.architecture = &require_architecture(options.context, options.architecture);
  plan_work(options, setup);
  std::string text;
  for (const CampaignInstruction& one : setup.plan.instructions)
    text += fmt::format("{:44} {:9} {:>12} dot products a chunk\n", name_of(one.instruction), one.engine,
                        one.chunk);
  return text + fmt::format("{} instructions, {} stretches for {} dot products each\n",
                            setup.plan.instructions.size(), items_of(setup.plan).size(), setup.plan.dots);
}

std::string explain_difference(const CampaignSetup& setup, std::size_t instruction, const Mismatch& example) {
  const CampaignInstruction& one = setup.plan.instructions[instruction];
  std::string text = fmt::format("\n{}\n{}", name_of(one.instruction), describe(example, one.instruction));
  const laws::Subject subject(*setup.architecture, one.instruction, one.entry->datapath);
  const auto book = laws::lawbook();
  const auto law = std::find_if(book.begin(), book.end(),
                                [](const laws::Law& x) { return x.name == "follows_the_documented_model"; });
  if (law == book.end()) return text;
  laws::Dot dot;
  dot.a = example.dot.a;
  dot.b = example.dot.b;
  dot.c = example.dot.c;
  dot.modifiers = example.dot.modifiers;
  dot.metadata = example.dot.metadata;
  const Backend hardware = hardware_of(setup);
  const auto alone = laws::judge_alone(*law, subject, hardware, dot);
  if (!alone || alone->kind != laws::Verdict::Kind::broken)
    return text + "by itself it has the model's bits: nothing to shrink\n";
  const laws::Failure small = laws::shrink(*law, subject, hardware, dot);
  const std::string where =
      fmt::format(" --arch {}", setup.gpu ? setup.architecture->name : setup.plays->name);
  const std::string replay = setup.gpu ? replay_command(small, "hardware", *setup.architecture, {})
                                       : explain_command(one.instruction, small.dot, where);
  return text + "shrunk:\n" + describe(small, *law, where, replay);
}

}  // namespace mmaudit::cli
