// mmaudit tcgen05 convolution: counts, lanes, files, refusals, and an exit code that can be 1.
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/tile_batch.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class Convolution : public Folder {
 protected:
  static Outcome convolution(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tcgen05", "convolution"});
    return run(arguments);
  }
  static void refused(std::vector<std::string> arguments, const std::string& line) {
    const Outcome outcome = convolution(std::move(arguments));
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
  }
  /// Binary16 numbers of one value.
  [[nodiscard]] std::string file(const std::string& name, std::vector<std::uint64_t> shape,
                                 std::uint64_t bits) const {
    corpus::Tensor tensor{"x", corpus::DType::f16, std::move(shape), {}};
    tensor.data.resize(2 * tensor.elements());
    for (std::size_t i = 0; i < tensor.elements(); ++i) store_bits(tensor.data, 2, i, bits);
    corpus::save_tensor(path(name), tensor);
    return path(name);
  }
};

TEST_F(Convolution, WorkedExampleLoads462InPlaceOf1134) {
  const Outcome outcome = convolution({"--lanes", "9"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("im2col         1134"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("shift           462"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("halo tmem       462"), std::string::npos) << outcome.out;
  const Outcome table = convolution({"--table", "54"});
  EXPECT_NE(table.out.find("     8  0:6,8   0:6,7         0:6,8  1:0,0 masked\n"
                           "     9  1:0,0   0:6,8 masked  1:0,0  1:0,1\n"),
            std::string::npos)
      << table.out;
}

TEST_F(Convolution, LiveNeedsAGpu) {
  if (!device::devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  const Outcome outcome = convolution({"--live", "--inst", "mma.m16n8k16.f32.f16.f16.f32"});
  EXPECT_EQ(outcome.code, kEnvironment);
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
}

TEST_F(Convolution, FilesInAndOut) {
  // Ones: each output is the number of pixels that are not padding, times two channels.
  const std::string x = file("x.npy", {1, 3, 3, 2}, 0x3C00), w = file("w.npy", {1, 3, 3, 2}, 0x3C00);
  const Outcome outcome =
      convolution({"--activations", x, "--weights", w, "--padding", "1", "--out", path("d.npy")});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  const corpus::Tensor d = corpus::load_tensor(path("d.npy"));
  EXPECT_EQ(d.shape, (std::vector<std::uint64_t>{1, 3, 3, 1}));
  const std::vector<float> wanted = {8, 12, 8, 12, 18, 12, 8, 12, 8};
  EXPECT_EQ(std::vector<float>(d.as<float>().begin(), d.as<float>().end()), wanted);
}

TEST_F(Convolution, ExitsWith1WhereASchedulesBitsDiffer) {
  // An infinite weight meets padding as 0 * Inf = NaN, and a masked lane not at all.
  const std::string x = file("x.npy", {1, 5, 3, 2}, 0x3C00), w = file("w.npy", {1, 3, 3, 2}, 0x7C00);
  const Outcome outcome = convolution({"--activations", x, "--weights", w});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.out;
}

TEST_F(Convolution, OutputsThatEveryScheduleGivesAreNothingCompared) {
  const std::string ones = file("x.npy", {1, 9, 9, 16}, 0x3C00), nan = file("n.npy", {1, 9, 9, 16}, 0x7E00);
  const std::string w = file("w.npy", {3, 3, 3, 16}, 0x3C00), zero = file("z.npy", {3, 3, 3, 16}, 0),
                    infinite = file("i.npy", {3, 3, 3, 16}, 0x7C00);
  const std::vector<std::pair<std::string, std::string>> nothing = {{nan, w}, {ones, zero}, {ones, infinite}};
  for (const auto& [a, b] : nothing) {
    const Outcome outcome = convolution({"--activations", a, "--weights", b});
    EXPECT_EQ(outcome.code, kMismatch) << outcome.out;
    EXPECT_NE(outcome.out.find("Nothing compared"), std::string::npos) << outcome.out;
  }
  const Outcome something = convolution({"--activations", ones, "--weights", w});
  EXPECT_EQ(something.code, kAllGood) << something.out;
  EXPECT_EQ(something.out.find("Nothing compared"), std::string::npos) << something.out;
}

TEST_F(Convolution, RefusesInOneLine) {
  refused({"--padding", "-1"}, "padding: found -1, allowed: 0 to 65536");
  refused({"--stride", "1,2,3"}, "--stride: found 3 numbers, allowed: 1 or 2");
  refused({"--lanes", "129"}, "--lanes: found 129, allowed: 1 to 128");
  refused({"--images", "65536", "--height", "65536", "--width", "65536"},
          "activations: found 4503599627370496, allowed: 67108864 or less");
  refused({"--table", "126"}, "--table: found 126, allowed: 0 to 125");
  refused({"--table", "0", "--filter-row", "3"}, "--filter-row: found 3, allowed: 0 to 2");
  refused({"--filter-row", "3"}, "--filter-row: found it alone, allowed: with --table");
  refused({"--height", "512", "--width", "512", "--filters", "8"},
          "multiply-adds: found 601620480, allowed: 268435456 or less");
  refused({"--arch", "volta"}, "volta");
  const std::string x = file("x.npy", {1, 3, 3, 2}, 0), w = file("w.npy", {1, 3, 3, 1}, 0);
  refused({"--activations", x}, "--activations: found it alone, allowed: with --weights");
  refused({"--activations", x, "--weights", w}, "w.npy: channels: found 1, allowed: 2");
  refused({"--activations", x, "--weights", x, "--out", x}, "--out: found the file of --activations");
  refused({"--activations", file("f.npy", {3, 3, 2}, 0), "--weights", w}, "shape: found [3, 3, 2], allowed");
  refused({"--activations", x, "--weights", x, "--inst", "tcgen05.m128n16k8.kind_tf32.f32.tf32.tf32"},
          "dtype: found F16, allowed");
}

}  // namespace
}  // namespace mmaudit::cli::test
