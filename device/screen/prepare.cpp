#include "screen/prepare.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::screen {
namespace {

Prepared prepare(const ScreenKernel& kernel, const Inputs& inputs, InputSet set, const Injection& injection) {
  const Instruction& is = kernel.instruction;
  Prepared work;
  work.kernel = kernel;
  work.result.work = {is, kernel.registers, set, kernel.feed};
  work.images = make_images(work.result.work, inputs);
  if (is_streamed(kernel.feed)) join_tiles(work.images);
  work.a_bytes = work.images.a.size() / kTiles;
  work.b_bytes = work.images.b.size() / kTiles;
  if (injection.every != 0)
    append_spoiled(work.images.a, work.images.b, kTiles, injection.word, injection.flips);
  work.expected = expected_checksums(is, kernel.copies, work.images.d);
  return work;
}

}  // namespace

std::vector<Prepared> prepare_all(const device::DeviceInfo& gpu, const Options& options) {
  const Architecture* architecture = find_architecture(gpu.compute_capability);
  std::vector<ScreenKernel> kernels = screen::kernels();
  const auto wanted = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  std::erase_if(kernels, [&](const ScreenKernel& kernel) {
    return architecture == nullptr || find_datapath(*architecture, kernel.instruction) == nullptr ||
           !wanted(options.instructions, kernel.instruction) || !wanted(options.feeds, kernel.feed) ||
           !device::why_not(gpu, kernel.instruction, kernel.registers ? kAFromRegisters : 0).empty();
  });
  std::vector<Instruction> instructions;
  for (const ScreenKernel& kernel : kernels)
    if (!wanted(instructions, kernel.instruction)) instructions.push_back(kernel.instruction);
  std::vector<Prepared> works(kernels.size() * options.inputs.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < instructions.size() * options.inputs.size(); at = next++) {
        const Instruction& is = instructions[at % instructions.size()];
        const std::size_t set = at / instructions.size();
        const Inputs inputs =
            make_inputs(is, find_datapath(*architecture, is)->datapath, options.inputs[set]);
        for (std::size_t k = 0; k < kernels.size(); ++k)
          if (kernels[k].instruction == is)
            works[set * kernels.size() + k] =
                prepare(kernels[k], inputs, options.inputs[set], options.injection);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return works;
}

}  // namespace mmaudit::screen
