// mmaudit doctor: what this installation is and what this machine has.
#include <fmt/format.h>
#include <gmp.h>
#include <mpfr.h>
#include <xxhash.h>
#include <zstd.h>
#include <CLI/Version.hpp>

#include <algorithm>
#include <boost/version.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "beside.hpp"
#include "common.hpp"
#include "json_table.hpp"
#include "mmaudit/device/gpu_libraries.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/version.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct Section {
  std::string key;  ///< of the JSON
  std::string title;
  Json facts;  ///< texts by what they say
};

/// The value behind the first line that starts with `key`; empty when there is none.
std::string line_of(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) {
      const std::size_t at = line.find_first_not_of(" \t:", key.size());
      return at == std::string::npos ? "" : line.substr(at);
    }
  return {};
}

std::string memory_text() {
  const std::string total = line_of("/proc/meminfo", "MemTotal");
  return total.empty() ? "unknown" : fmt::format("{:.1f} GiB", std::strtod(total.c_str(), nullptr) / 1048576);
}

/// Where mmaudit-bench is, and its version where that is not ours.
std::string bench_text_here(std::vector<std::string>& notes) {
  const std::string version = version_of_bench();
  std::string file = bench_file().string();
  if (version == own_version()) return file;
  notes.emplace_back("mmaudit-bench is not here in this version: sweep, time and screen need it.");
  if (file.empty()) return "not installed: no sweep, time, screen (./run install builds it)";
  return fmt::format("{}, another version: {}", file, version);
}

Section program_section(std::vector<std::string>& notes) {
  return {"program",
          "This program",
          {{"version", kVersion},
           {"revision", kGitRevision},
           {"compiler", fmt::format("{} {}", MMAUDIT_COMPILER, __VERSION__)},
           {"build type", MMAUDIT_BUILD_TYPE},
           {"device code", device::built_with_cuda() ? "yes" : "no (built without nvcc)"},
           {"several hosts (MPI)", MMAUDIT_BUILT_WITH_MPI ? "yes" : "no"},
           {"mmaudit-bench", bench_text_here(notes)},
           {"options", std::string(MMAUDIT_BUILD_OPTIONS).empty() ? "none" : MMAUDIT_BUILD_OPTIONS}}};
}

Section machine_section() {
  const std::string name = line_of("/proc/cpuinfo", "model name");
  return {"machine",
          "This machine",
          {{"processor", name.empty() ? "unknown" : name},
           {"threads", std::to_string(std::thread::hardware_concurrency())},
           {"vector code", fmt::format("{} (has {})", name_of(best_simd_level()), simd_levels_here())},
           {"memory", memory_text()}}};
}

Section gpu_section(const std::vector<device::DeviceInfo>& gpus) {
  Section out{"gpus", "GPUs", Json::object()};
  for (const device::DeviceInfo& gpu : gpus) {
    const Architecture* model = find_architecture(gpu.compute_capability);
    out.facts[fmt::format("GPU {}", gpu.ordinal)] =
        fmt::format("{}, compute capability {} ({}), {} SMs, {:.0f} GiB, driver {}, CUDA {}", gpu.name,
                    capability_text(gpu.compute_capability),
                    model == nullptr ? std::string_view("no model of it") : model->name, gpu.multiprocessors,
                    static_cast<double>(gpu.memory_bytes) / (1ULL << 30), gpu.driver, gpu.cuda);
  }
  for (const device::GpuLibrary& one : device::gpu_libraries())
    out.facts[one.name] =
        one.file.empty() ? "not found" : one.file + (one.version.empty() ? "" : ", " + one.version);
  return out;
}

Section library_section() {
  std::string boost = BOOST_LIB_VERSION;
  std::replace(boost.begin(), boost.end(), '_', '.');
  return {"libraries",
          "Libraries",
          {{"MPFR", mpfr_get_version()},
           {"GMP", gmp_version},
           {"Boost", boost},
           {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
           {"nlohmann json", json_library_version()},
           {"xxHash", fmt::format("{}.{}.{}", XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100,
                                  XXH_versionNumber() % 100)},
           {"zstd", ZSTD_versionString()},
           {"CLI11", CLI11_VERSION}}};
}

Section data_section(std::vector<std::string>& notes) {
  Section out{"data", "Model and recordings", {{"architectures", std::to_string(architectures().size())}}};
  try {
    const std::filesystem::path folder = corpus_folder("");
    std::error_code error;  // a folder that can't be read has no recordings
    std::size_t recordings = 0;
    for (auto one = std::filesystem::recursive_directory_iterator(folder, error);
         !error && one != std::filesystem::recursive_directory_iterator(); one.increment(error))
      if (one->path().filename().string().find(".safetensors") != std::string::npos) ++recordings;
    out.facts["recordings"] = fmt::format("{} in {}", recordings, folder.string());
    if (recordings == 0) notes.emplace_back("No recordings: verify has nothing to replay; see --corpus.");
  } catch (const InputError&) {
    out.facts["recordings"] = "none found";
    notes.emplace_back("No recordings near this program: verify and audit need --corpus or MMAUDIT_CORPUS.");
  }
  return out;
}

report::Report doctor() {
  const std::vector<device::DeviceInfo> gpus = device::devices();
  report::Report out{.title = "What is here"};
  out.warnings.title = "Notes";
  std::vector<std::string>& notes = out.warnings.lines;
  std::vector<Section> sections = {program_section(notes), machine_section(), gpu_section(gpus),
                                   library_section()};
  if (gpus.empty())
    notes.push_back(fmt::format("{}: --on gpu, --on both, verify --live, sweep and screen end with 3.",
                                device::built_with_cuda() ? "No GPU is visible" : "Built without CUDA"));
  for (const device::DeviceInfo& gpu : gpus)
    if (find_architecture(gpu.compute_capability) == nullptr)
      notes.push_back(
          fmt::format("GPU {}: the model has no architecture of this compute capability.", gpu.ordinal));
  if (std::string_view(MMAUDIT_BUILD_TYPE) != "Release")
    notes.emplace_back("Not a Release build: slower than it could be.");
  sections.push_back(data_section(notes));
  out.headline = notes.empty() ? "Everything works here." : "What does not work here, or is slow:";
  out.tone = notes.empty() ? report::Tone::good : report::Tone::note;
  Json json = {{"schema", "mmaudit.doctor/1"}};
  for (const Section& section : sections) {
    out.sections.push_back(section_of(facts_table(section.title, section.facts)));
    json[section.key] = section.facts;
  }
  json["gpu_count"] = gpus.size();
  json["notes"] = notes;
  out.json = [json] { return ordered_document(json); };
  return out;
}

}  // namespace

void add_doctor(Command& app) {
  auto outputs = std::make_shared<Outputs>();
  Command command = app.command("doctor",
                                "What is here: GPUs, driver, libraries, processor, build options, "
                                "recordings; exit code 0 without a GPU too",
                                {"mmaudit doctor", "mmaudit doctor --json"});
  outputs->add_to(command);
  command.runs([outputs](const Context& context) {
    try_outputs(outputs->files(), {});
    return outputs->publish(doctor(), context);
  });
}

}  // namespace mmaudit::cli
