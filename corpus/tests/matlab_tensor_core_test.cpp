#include "mmaudit/corpus/matlab_tensor_core.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "mmaudit/error.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOne = "00111111100000000000000000000000\n";
constexpr const char* kThird = "00111110101010101010101010101011\n";  // not a binary16

/// A data set of one GPU and one format, two rows of two products.
class MatlabTensorCore : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mmaudit_dataset_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    write("A100/fp16/a_A100_fp16.txt", "3f800000 40000000 \n3f800000 bf800000 \n");
    write("A100/fp16/b_A100_fp16.txt", "3f800000 3f800000 \n80000000 00000000 \n");
    write("A100/fp16/c_A100_fp32.txt", std::string(kOne) + kThird);
    write("A100/fp16/d_A100_fp32.txt", std::string(kOne) + kThird);
    write("A100/fp16/d_A100_fp16.txt", std::string(kOne) + kOne);
    write("README.md", "not a GPU\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// The error that reading everything gives; empty when there is none.
  [[nodiscard]] std::string error() const {
    try {
      for (const DatasetCase& one : find_dataset(folder_)) read_dataset(one);
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }
  void expect_error(const std::string& name, const std::string& text, const std::string& part) const {
    std::string before;
    std::getline(std::ifstream(folder_ / name, std::ios::binary), before, '\0');
    write(name, text);
    const std::string found = error();
    EXPECT_NE(found.find(part), std::string::npos) << found;
    EXPECT_NE(found.find(fs::path(name).filename().string()), std::string::npos) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
    write(name, before);
  }

  fs::path folder_;
};

TEST_F(MatlabTensorCore, ReadsBothFormsExactly) {
  const std::vector<DatasetCase> cases = find_dataset(folder_);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].output, Format::f32);
  const DatasetRows wide = read_dataset(cases[0]);
  EXPECT_EQ(wide.rows, 2U);
  EXPECT_EQ(wide.k, 2U);
  EXPECT_EQ(wide.a, (std::vector<std::uint64_t>{0x3C00, 0x4000, 0x3C00, 0xBC00}));
  EXPECT_EQ(wide.b, (std::vector<std::uint64_t>{0x3C00, 0x3C00, 0x8000, 0}));
  EXPECT_EQ(wide.c, (std::vector<std::uint64_t>{0x3F800000, 0x3EAAAAAB}));
  const DatasetRows half = read_dataset(cases[1]);
  EXPECT_EQ(half.c, (std::vector<std::uint64_t>{0x3C00, 0x3555}));  // C is rounded to nearest even
  EXPECT_EQ(half.d, (std::vector<std::uint64_t>{0x3C00, 0x3C00}));
}

TEST_F(MatlabTensorCore, LineEndsOfOtherSystemsAndAMissingLastOne) {
  write("A100/fp16/a_A100_fp16.txt", "3f800000 40000000 \r\n3f800000 bf800000");
  EXPECT_EQ(error(), "");
}

TEST_F(MatlabTensorCore, RefusesWhatIsNotTheLayout) {
  const std::string a = "A100/fp16/a_A100_fp16.txt", c = "A100/fp16/c_A100_fp32.txt";
  const std::string d = "A100/fp16/d_A100_fp16.txt";
  expect_error(a, "3f800000 4000000g \n3f800000 bf800000 \n", "line 1: found \"4000000g\"");
  expect_error(a, "3f800000 40000000 \n3f800000 \n", "line 2: found \"1 values\", allowed: 2 values");
  expect_error(a, "3f800000 40000000 \n\n", "line 2: found \"0 values\"");
  expect_error(a, "3f800001 40000000 \n3f800000 bf800000 \n",
               "line 1: found \"3f800001\", allowed: a value that f16");
  expect_error(a, "7fc00000 40000000 \n3f800000 bf800000 \n", "line 1: found \"7fc00000\"");
  expect_error(a, "3f800000  40000000 \n", "line 1: found \"\"");
  expect_error(a, "", "found none");
  expect_error(c, std::string(kOne) + "0011111110000000000000000000000\n", "line 2: found");
  expect_error(c, std::string(kOne) + "00111111100000000000000000000002\n", "line 2: found");
  expect_error(c, std::string("\x1b[2J\n") + kOne, "\\x1b");
  expect_error(c, kOne, "rows: found 1, allowed: 2");
  expect_error(d, std::string(kOne) + kThird, "line 2: found");
}

TEST_F(MatlabTensorCore, RefusesFoldersItDoesNotKnow) {
  write("A100/fp4/d_A100_fp32.txt", kOne);
  EXPECT_NE(error().find("format: found \"fp4\", allowed: fp16"), std::string::npos) << error();
  fs::remove_all(folder_ / "A100");
  EXPECT_NE(error().find("results: found none"), std::string::npos) << error();
  fs::remove_all(folder_);
  EXPECT_NE(error().find("cannot read"), std::string::npos) << error();
}

TEST_F(MatlabTensorCore, AMissingInputFileIsNamed) {
  fs::remove(folder_ / "A100/fp16/b_A100_fp16.txt");
  EXPECT_NE(error().find("b_A100_fp16.txt"), std::string::npos) << error();
}

}  // namespace
}  // namespace mmaudit::corpus
