// The public data set through the model: a small one that the test writes, and the real one where
// MMAUDIT_DATASET names it.
#include "verify.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace mmaudit::checks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kZero = "00000000000000000000000000000000\n";
constexpr const char* kTwo = "01000000000000000000000000000000\n";
constexpr const char* kSix = "01000000110000000000000000000000\n";
constexpr const char* kSixAndABit = "01000000110000000000000000000001\n";

class Dataset : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mmaudit_cli_dataset_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// 2 * 2 + 1 * 0 + c in every row, c = 2 and 0.
  void write_case(const std::string& gpu, const std::string& format, const std::string& d) const {
    const std::string at = gpu + "/" + format + "/";
    write(at + "a_" + gpu + "_" + format + ".txt", "40000000 3f800000 \n40000000 3f800000 \n");
    write(at + "b_" + gpu + "_" + format + ".txt", "40000000 00000000 \n3f800000 00000000 \n");
    write(at + "c_" + gpu + "_fp32.txt", std::string(kTwo) + kZero);
    write(at + "d_" + gpu + "_fp32.txt", d);
  }

  fs::path folder_;
  Progress progress_{true};
};

TEST_F(Dataset, EveryGpuIsReplayedByItsOwnRow) {
  write_case("V100", "fp16", std::string(kSix) + kTwo);
  write_case("Ada", "tf32", std::string(kSix) + kTwo);
  write_case("B200", "bf16", std::string(kSix) + kTwo);
  const VerifyReport report = verify_dataset(folder_, {}, progress_);
  ASSERT_EQ(report.instructions.size(), 3U);
  EXPECT_EQ(name_of(report.instructions[0].instruction), "mma.m16n8k4.f32.tf32.tf32.f32");
  EXPECT_EQ(name_of(report.instructions[1].instruction), "mma.m16n8k8.f32.bf16.bf16.f32");
  EXPECT_EQ(name_of(report.instructions[2].instruction), "mma.m8n8k4.f32.f16.f16.f32");
  EXPECT_EQ(report.instructions[2].source, "V100/fp16/d_V100_fp32.txt");
  EXPECT_EQ(report.dots(), 6U);
  EXPECT_EQ(report.mismatches(), 0U);
  EXPECT_EQ(verify_dataset(folder_, {"tf32"}, progress_).dots(), 2U);
}

std::string text_of(const VerifyReport& report) {
  return report::rendered(report_of(report, VerifyColumns::files), "text");
}

TEST_F(Dataset, OneFlippedBitIsFound) {
  write_case("A2", "fp16", std::string(kSixAndABit) + kTwo);
  const VerifyReport report = verify_dataset(folder_, {}, progress_);
  EXPECT_EQ(report.mismatches(), 1U);
  ASSERT_EQ(report.instructions.front().examples.size(), 1U);
  EXPECT_EQ(report.instructions.front().examples.front().dot.tile, 0U);
  EXPECT_NE(text_of(report).find("expected 0x40c00001"), std::string::npos) << text_of(report);
}

TEST_F(Dataset, Fp8OfHopperIgnoresC) {
  write_case("H100", "E4M3", "01000000100000000000000000000000\n" + std::string(kTwo));
  const VerifyReport report = verify_dataset(folder_, {}, progress_);
  EXPECT_EQ(report.mismatches(), 0U);
  EXPECT_EQ(name_of(report.instructions.front().instruction), "wgmma.m64n8k32.f32.e4m3.e4m3");
}

TEST_F(Dataset, WhatTheModelLacksIsRefused) {
  const auto error = [&] {
    try {
      verify_dataset(folder_, {}, progress_);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  write_case("X900", "fp16", std::string(kSix) + kTwo);
  EXPECT_NE(error().find("GPU: found \"X900\""), std::string::npos) << error();
  fs::remove_all(folder_);
  write_case("A100", "E4M3", std::string(kSix) + kTwo);
  EXPECT_NE(error().find("e4m3 to f32, which no mma of ampere takes"), std::string::npos) << error();
}

// A ctest of its own, which exists where MMAUDIT_DATASET names a folder when CMake configures.
TEST(RealDataset, HoldsTheBitsOfTheModel) {
  const char* folder = std::getenv("MMAUDIT_DATASET");
  ASSERT_NE(folder, nullptr) << "MMAUDIT_DATASET names no folder";
  Progress progress(true);
  const VerifyReport report = verify_dataset(folder, {}, progress);
  EXPECT_EQ(report.mismatches(), 0U) << text_of(report);
  EXPECT_EQ(report.instructions.size(), 48U);
  EXPECT_GE(report.dots(), 48000U);
}

}  // namespace
}  // namespace mmaudit::checks
