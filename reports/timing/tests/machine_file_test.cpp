#include "timing/machine_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "mmaudit/error.hpp"

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

TEST(MachineFile, RefusesInOneLine) {
  EXPECT_NE(refusal_of("[]").find("file: found [], allowed:"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"like": "pascal", "numbers": {}})").find("like: found \"pascal\", allowed: v100"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(R"({"like": "ga100", "numbers": {"tensor.qeue": 1}})").find("the nearest is tensor.queue"),
      std::string::npos);
  EXPECT_NE(
      refusal_of(R"({"like": "ga100", "numbers": {"tensor.queue": -1}})").find("allowed: a number from 0"),
      std::string::npos);
  EXPECT_NE(refusal_of(R"({"like": "ga100", "number": {}})").find("key: found \"number\""),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"like": )").find("found no valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::timing
