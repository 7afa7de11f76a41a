// A finding as a stand-alone CUDA file, and findings read back from the JSON of a screen.
#include <fmt/format.h>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/laws/cuda_program.hpp"
#include "mmaudit/screen/images.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

constexpr std::uint64_t kRuns = 1'000'000;

/// Words of one tile of an image.
std::vector<std::uint64_t> words_of(const std::vector<std::byte>& image, int tile, std::size_t width) {
  const std::size_t count = image.size() / kTiles / width;
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < count; ++i)
    words.push_back(load_bits(image, width, static_cast<std::size_t>(tile) * count + i));
  return words;
}

constexpr JsonWording kWording = {.quoted = true, .most = 80, .missing = "none"};

Work work_of(const JsonNode& finding) {
  const std::string name = finding["instruction"].text("one of `mmaudit screen --list`"),
                    inputs = finding["inputs"].text("the name of an input set");
  for (Work work : screened()) {
    if (work.name() != name) continue;
    for (int i = 0; i < kInputSets; ++i) {
      work.inputs = static_cast<InputSet>(i);
      if (name_of(work.inputs) == inputs) return work;
    }
    finding["inputs"].refuse("the name of an input set");
  }
  finding["instruction"].refuse("one of `mmaudit screen --list`");
}

Finding finding_of(const JsonNode& json) {
  Finding finding;
  finding.work = work_of(json);
  finding.multiprocessor = json["sm"].number(0, 9999);
  finding.subcore = json["subcore"].number(0, kSubcores - 1);
  finding.lane = json["lane"].number(0, 31);
  finding.tile = json["tile"].number(0, kTiles - 1);
  finding.row = json["row"].number(0, finding.work.instruction.m - 1);
  finding.column = json["column"].number(0, finding.work.instruction.n - 1);
  finding.expected = json["expected"].hex();
  finding.found = json["found"].hex();
  return finding;
}

}  // namespace

std::string reproducer(const Finding& finding, const Architecture& architecture, int gpu) {
  const Instruction& inst = finding.work.instruction;
  const DatapathEntry* entry = find_datapath(architecture, inst);
  if (entry == nullptr) return {};
  const Inputs inputs = make_inputs(inst, entry->datapath, finding.work.inputs);
  const std::size_t element = (static_cast<std::size_t>(finding.tile) * static_cast<std::size_t>(inst.m) +
                               static_cast<std::size_t>(finding.row)) *
                                  static_cast<std::size_t>(inst.n) +
                              static_cast<std::size_t>(finding.column);
  const std::uint64_t expected = load_bits(inputs.d, spec_of(inst.d).storage_bytes(), element);
  if (expected != finding.expected)
    refuse(
        "{} {}, tile {}, element ({}, {}): found expected bits {}, allowed: {}, which this version of "
        "mmaudit expects",
        finding.work.name(), name_of(finding.work.inputs), finding.tile, finding.row, finding.column,
        fmt::format("{:#x}", finding.expected), fmt::format("{:#x}", expected));
  const Images images = make_images(finding.work, inputs);
  const std::size_t width = spec_of(inst.d).storage_bits > 32 ? 8 : 4;
  laws::CudaProgram program;
  program.title = {
      fmt::format(
          "mmaudit screen: GPU {}, SM {}, sub-core {} (warp modulo 4), lane {}: wrong bits of {}, input "
          "set {}, tile {}.",
          gpu, finding.multiprocessor, finding.subcore, finding.lane, finding.work.name(),
          name_of(finding.work.inputs), finding.tile),
      fmt::format("Element ({}, {}): expected {:#x}, found {:#x}.", finding.row, finding.column,
                  finding.expected, finding.found),
      fmt::format("A run is a chain of {} instructions from C = +0, on that SM alone; every accumulator is "
                  "compared. The other SMs are idle:",
                  kSteps),
      "an error that needs the power or the heat of a busy GPU may not come."};
  if (finding.work.feed != Feed::loads)
    program.title.push_back(
        fmt::format("The operands come by ordinary loads, not by {}: an error of that path does not come.",
                    name_of(finding.work.feed)));
  program.instruction = inst;
  program.a_in_registers = !is_wgmma(inst.op) || finding.work.registers;
  program.a = words_of(images.a, finding.tile, width);
  program.b = words_of(images.b, finding.tile, width);
  if (!images.metadata.empty()) program.metadata = words_of(images.metadata, finding.tile, 4);
  program.d = words_of(images.d, finding.tile, width);
  program.steps = kSteps;
  program.multiprocessor = finding.multiprocessor;
  program.subcore = finding.subcore;
  program.gpu = gpu;
  program.compute_capability = architecture.compute_capability;
  program.runs = kRuns;
  return laws::cuda_program(program);
}

std::string first_reproducer(const std::vector<GpuResult>& gpus) {
  for (const GpuResult& gpu : gpus) {
    const Architecture* architecture = find_architecture(gpu.device.compute_capability);
    if (!gpu.findings.empty() && architecture != nullptr)
      return reproducer(gpu.findings.front(), *architecture, gpu.device.ordinal);
  }
  return {};
}

std::string reproducer_of_json(const std::string& text, const std::string& file) {
  constexpr const char* kAllowed = "what `mmaudit screen --json` writes";
  const Json json = corpus::parse_bounded(text, file, kAllowed);
  const JsonNode whole(json, file, kWording);
  if (whole["kind"].text(kAllowed) != "mmaudit-screen") whole["kind"].refuse("\"mmaudit-screen\"");
  const std::vector<JsonNode> gpus = whole["gpus"].list(kAllowed);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const JsonNode gpu(gpus[i].json(), fmt::format("{}: GPU {}", file, i), kWording);
    const JsonNode findings = gpu["findings"];
    const std::vector<JsonNode> found = findings.list(kAllowed);
    if (found.empty()) continue;
    const Finding first = finding_of(JsonNode(found.front().json(), findings.where(), kWording));
    const Architecture* architecture = find_architecture(gpu["compute_capability"].number(0, 9999));
    if (architecture == nullptr || find_datapath(*architecture, first.work.instruction) == nullptr)
      gpu["compute_capability"].refuse("of a GPU that has " + name_of(first.work.instruction));
    const int number = gpu["gpu"].number(0, 9999);
    try {
      return reproducer(first, *architecture, number);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", findings.where(), error.what()));
    }
  }
  refuse("{}: found no finding, allowed: the result of a screen that found wrong bits", file);
}

}  // namespace mmaudit::screen
