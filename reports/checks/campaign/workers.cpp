#include "campaign/workers.hpp"

#include <memory>

#include "mmaudit/device/backends.hpp"

namespace mmaudit::campaign {
namespace {

/// Keeps the buffers of one instruction on its GPU.
Worker gpu_worker(const device::DeviceInfo& gpu) {
  return [gpu, of = static_cast<const ScheduledInstruction*>(nullptr),
          check = std::shared_ptr<device::TileProductCheck>()](const Schedule& schedule,
                                                               const WorkItem& item) mutable {
    const ScheduledInstruction& one = schedule.instructions[item.instruction];
    if (of != &one) {
      check.reset();  // gives its memory back first
      check = std::make_shared<device::TileProductCheck>(gpu, one.instruction, one.entry->datapath);
      of = &one;
    }
    return check->run({.input_class = schedule.input_classes[item.input_class],
                       .seed = schedule.seed,
                       .first_batch = item.first_batch,
                       .batches = item.batches});
  };
}

/// Keeps the buffers of one instruction on its GPU, where both sides run.
Worker kernel_worker(const device::DeviceInfo& gpu, const Backend& fast, const Backend& plain) {
  return [gpu, fast, plain, of = static_cast<const ScheduledInstruction*>(nullptr), count = CountDiffering()](
             const Schedule& schedule, const WorkItem& item) mutable {
    const ScheduledInstruction& one = schedule.instructions[item.instruction];
    if (of != &one) {
      count = {};  // gives its memory back first
      count = count_on_gpu(gpu, one);
      of = &one;
    }
    return check_model(fast, plain, schedule, item, count);
  };
}

}  // namespace

std::vector<std::function<Worker()>> Setup::workers() const {
  std::vector<std::function<Worker()>> makers;
  if (reference == nullptr) {
    for (const device::DeviceInfo& gpu : gpus) makers.emplace_back([gpu] { return gpu_worker(gpu); });
    return makers;
  }
  for (const device::DeviceInfo& gpu : gpus)
    makers.emplace_back([gpu, fast = device::product_backend(gpu, *reference, device::DeviceModel::fast),
                         plain = device::product_backend(gpu, *model, device::DeviceModel::plain)] {
      return kernel_worker(gpu, fast, plain);
    });
  if (kernels) return makers;
  makers.assign(threads, [fast = fast_backend(*reference), plain = plain_backend(*model)]() -> Worker {
    return [fast, plain](const Schedule& schedule, const WorkItem& item) {
      return check_model(fast, plain, schedule, item);
    };
  });
  return makers;
}

Backend Setup::reference_backend() const {
  if (reference == nullptr) return device::hardware_backend(gpus.front());
  return kernels ? device::product_backend(gpus.front(), *reference, device::DeviceModel::fast)
                 : fast_backend(*reference);
}

Provenance Setup::provenance() const {
  if (reference == nullptr) return device::provenance_of(gpus.front());
  if (kernels) {
    Provenance provenance = device::provenance_of(gpus.front());
    provenance.gpu += " (the model against itself)";
    return provenance;
  }
  Provenance provenance;
  provenance.gpu = "none (the model against itself)";
  provenance.driver = provenance.cuda = "none";
  return provenance;
}

ScheduledInstruction scheduled_on_gpu(const Instruction& instruction, const DatapathEntry& entry) {
  constexpr std::uint64_t kDots = std::uint64_t{1} << 33, kPlainDots = std::uint64_t{1} << 26;
  const std::string engine(device::engine_of(instruction, entry.datapath));
  return {.instruction = instruction,
          .entry = &entry,
          .engine = engine,
          .batch_dots = device::dots_of_batch(instruction, entry.datapath),
          .item_dots = engine == "plain" ? kPlainDots : kDots};
}

namespace {

bool served_by_kernels(const Setup& setup, const Instruction& inst) {
  using device::DeviceModel;
  return device::product_backend({}, *setup.reference, DeviceModel::fast).why_not(inst, 0).empty() &&
         device::product_backend({}, *setup.model, DeviceModel::plain).why_not(inst, 0).empty();
}

}  // namespace

std::vector<ScheduledInstruction> schedule_instructions(const Setup& setup,
                                                        const std::vector<Instruction>& candidates) {
  std::vector<ScheduledInstruction> scheduled;
  for (const Instruction& inst : candidates) {
    const DatapathEntry* entry = find_datapath(*setup.model, inst);
    if (entry == nullptr) continue;
    if (setup.reference == nullptr) {
      if (inst.scale != Format::none) continue;
      if (setup.gpus.empty() || device::why_not_live(setup.gpus.front(), inst).empty())
        scheduled.push_back(scheduled_on_gpu(inst, *entry));
    } else if (const DatapathEntry* reference = find_datapath(*setup.reference, inst)) {
      if (!setup.kernels || served_by_kernels(setup, inst))
        scheduled.push_back(scheduled_by_model(inst, *entry, *reference, setup.kernels));
    }
  }
  return scheduled;
}

}  // namespace mmaudit::campaign
