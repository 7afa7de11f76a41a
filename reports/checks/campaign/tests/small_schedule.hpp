#pragma once
// A campaign small enough for tests.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "campaign/workers.hpp"
#include "mmaudit/campaign/result.hpp"

namespace mmaudit::campaign {

inline Provenance on_a_gpu() {
  Provenance provenance;
  provenance.gpu = "GPU";
  provenance.date = "2026-01-01";
  return provenance;
}

inline Schedule small_schedule(std::uint64_t dots = 1'000'000'000'000) {
  Schedule schedule;
  schedule.seed = 7;
  schedule.dots = dots;
  const Architecture& hopper = *find_architecture("hopper");
  schedule.architecture = hopper.name;
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.s32.s8.s8.s32"}) {
    const Instruction instruction = *find_instruction(name);
    schedule.instructions.push_back(scheduled_on_gpu(instruction, *find_datapath(hopper, instruction)));
  }
  schedule.input_classes = {gen::InputClass::random_bits, gen::InputClass::normal};
  return schedule;
}

inline std::filesystem::path fresh_file(const char* name) {
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(file);
  return file;
}

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline Mismatch example_of(const Schedule& schedule, const WorkItem& item) {
  const Instruction& instruction = schedule.instructions[item.instruction].instruction;
  Mismatch example;
  example.dot.input_class = "normal";
  example.dot.a.resize(static_cast<std::size_t>(instruction.stored_k()));
  example.dot.b.resize(static_cast<std::size_t>(instruction.k));
  example.dot.modifiers = 8;
  example.found = 6;
  return example;
}

}  // namespace mmaudit::campaign
