#include "timing/machine_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "mmaudit/error.hpp"
#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

std::string file_with(const std::string& text) {
  std::string path = ::testing::TempDir() + "machine.json";
  std::ofstream(path) << text;
  return path;
}
std::string refusal_of(const std::string& text) {
  try {
    (void)machine_of_file(file_with(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(MachineFile, ChangesNumbersOfABuiltInMachine) {
  const Machine machine = machine_of_file(file_with(R"({"like": "a100", "numbers": {"tensor.queue": 5}})"));
  EXPECT_EQ(machine.cycles(Parameter::tensor_queue), 5);
  EXPECT_EQ(machine.cycles(Parameter::latency_wide), find_machine("ga100")->cycles(Parameter::latency_wide));
}

TEST(MachineFile, TakesEveryNumberOfABuiltInMachine) {
  for (const Machine& built_in : machines()) {
    std::string numbers;
    for (const Number& number : built_in.numbers) {
      const ParameterText& text = parameter_texts()[static_cast<std::size_t>(number.parameter)];
      const bool whole = std::nearbyint(number.value) == number.value;
      numbers.append(numbers.empty() ? "\"" : ", \"").append(text.name).append("\": ");
      numbers += whole ? std::to_string(std::llround(number.value)) : std::to_string(number.value);
    }
    const Machine read = machine_of_file(file_with(R"({"like": "v100", "numbers": {)" + numbers + "}}"));
    for (const Number& number : built_in.numbers)
      EXPECT_NEAR(read[number.parameter], number.value, 1e-6) << built_in.name;
  }
}

TEST(MachineFile, ASlowerUnitTakesLonger) {
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n256k16.f32.f16.f16"}) {
    double before = 0;
    for (const char* rate : {"8", "1", "0.5", "0.1"}) {
      const std::string text(rate);
      std::string file = R"({"like": "hopper", "numbers": {"tensor.rate.f16_f32": )";
      file.append(text).append(R"(, "wgmma.rate": )").append(text).append("}}");
      const Machine machine = machine_of_file(file_with(file));
      const auto program = chain_program(machine, *find_instruction(name), 1, kPaperLoop);
      ASSERT_TRUE(program);
      Launch launch;
      launch.warps = 4;
      launch.trips = 2;
      const double cycles = simulate(machine, *program, launch).cycles_per_step;
      EXPECT_GT(cycles, before) << name << " " << rate;
      before = cycles;
    }
  }
}

TEST(MachineFile, RefusesInOneLine) {
  EXPECT_NE(refusal_of("[]").find("file: found [], allowed:"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"like": "pascal", "numbers": {}})").find("like: found \"pascal\", allowed: v100"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(R"({"like": "ga100", "numbers": {"tensor.qeue": 1}})").find("did you mean tensor.queue?"),
      std::string::npos);
  EXPECT_NE(
      refusal_of(R"({"like": "ga100", "numbers": {"tensor.queue": -1}})").find("allowed: a number from 0"),
      std::string::npos);
  EXPECT_NE(refusal_of(R"({"like": "ga100", "number": {}})").find("key: found \"number\""),
            std::string::npos);
  for (const char* name : {"tensor.rate.f16_f32", "wgmma.rate", "shared.bytes"})
    EXPECT_NE(refusal_of(R"({"like": "hopper", "numbers": {")" + std::string(name) + R"(": 1e-300}})")
                  .find("allowed: 0 where there is no such unit, or a rate from 0.1"),
              std::string::npos)
        << name;
  EXPECT_TRUE(
      refusal_of(R"({"like": "ga100", "numbers": {"foo": 3}})").ends_with("`mmaudit time machines` prints"));
  for (const char* bits : {"-1", "1.5", "4294967296"})
    EXPECT_NE(refusal_of(R"({"like": "hopper", "numbers": {"l1.hash.low": )" + std::string(bits) + "}}")
                  .find("allowed: a whole number from 0 to 4294967295"),
              std::string::npos)
        << bits;
  EXPECT_NE(refusal_of(R"({"like": )").find("found no valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::timing
