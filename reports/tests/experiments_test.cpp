// The published experiments, digit for digit, on rows of the model that stand for the paper's A100 and for
// Hopper.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "../analysis/normal_draws.hpp"
#include "../analysis/published.hpp"
#include "../result/printed.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/report/audit.hpp"

namespace mmaudit::report {
namespace {

bool is_paper_shape(const Instruction& instruction) {
  return instruction.op == Op::mma && instruction.k == 8;
}

/// A backend of the paper's shapes alone.
Backend paper_backend(std::function<void(const Instruction&, const TileView&)> run) {
  return {
      .name = "test",
      .why_not = [](const Instruction& instruction,
                    std::uint8_t) { return std::string(is_paper_shape(instruction) ? "" : "another shape"); },
      .run = std::move(run)};
}

/// Every datapath a fused dot-add of `block` products with `fraction_bits`, as far as m16n8k8 can tell.
Backend uniform_backend(int block, int fraction_bits, int floor) {
  return paper_backend([=](const Instruction& instruction, const TileView& batch) {
    Datapath datapath;
    datapath.products_per_step = static_cast<std::int16_t>(block);
    datapath.fraction_bits = static_cast<std::int16_t>(fraction_bits);
    datapath.min_alignment_exponent = static_cast<std::int16_t>(floor);
    if (instruction.d == Format::f16) datapath.output = {Format::f16, 10, Rounding::nearest_even};
    emulate(instruction, datapath, batch);
  });
}

const Backend kAmpereLike = uniform_backend(8, 24, -132);

const Architecture& hopper() {
  const Architecture* row = find_architecture("hopper");
  if (row == nullptr) throw std::runtime_error("no hopper row");
  return *row;
}

const ProfileCell& raw_c_cell(const std::vector<ProfileCell>& cells) {
  for (const ProfileCell& cell : cells)
    if (cell.dtype == Format::bf16 && cell.init == Initialisation::low_raw_c) return cell;
  throw std::runtime_error("no such cell");
}

#if defined(__GLIBCXX__) && _GLIBCXX_RELEASE < 16
TEST(Draws, AreThoseOfTheStandardLibraryThePaperUsed) {
  std::mt19937 bits(kPublishedSeed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  NormalDraws draws(kPublishedSeed);
  for (int i = 0; i < 200000; ++i) ASSERT_EQ(draws(), normal(bits)) << i;
}
#endif

TEST(Profile, AllThirtyPublishedCellsButOneOnHopper) {
  const auto cells = elementwise_profile(model_backend(hopper()));
  int seen = 0;
  for (const ProfileCell& cell : cells) {
    if (cell.agreement == Agreement::unpublished) continue;
    ++seen;
    if (&cell == &raw_c_cell(cells)) continue;
    EXPECT_EQ(in_form_of(cell.error.mean_absolute, cell.published), cell.published)
        << cell.instruction << ' ' << name_of(cell.operation) << ' ' << name_of(cell.init);
    EXPECT_EQ(cell.agreement, Agreement::same_digits);
  }
  EXPECT_EQ(seen, 30);
  const ProfileCell& raw = raw_c_cell(cells);
  EXPECT_EQ(in_form_of(raw.error.mean_absolute, "1.89E-08"), "2.17E-08");
  EXPECT_EQ(raw.agreement, Agreement::explained);
  EXPECT_NE(raw.note.find("keeps C in FP32"), std::string::npos);
}

TEST(Profile, TheCellThatSeesTheAccumulatorFollowsItsWidth) {
  // One extra bit is the paper's A100; the print there is 1.89E-08.
  const std::map<int, std::string> expected = {
      {24, "1.90E-08"}, {25, "2.17E-08"}, {26, "2.20E-08"}, {40, "2.23E-08"}};
  for (const auto& [fraction_bits, text] : expected) {
    const auto cells = elementwise_profile(uniform_backend(8, fraction_bits, -132));
    EXPECT_EQ(in_form_of(raw_c_cell(cells).error.mean_absolute, "1.89E-08"), text) << fraction_bits;
  }
}

TEST(Profile, AWrongOutputRoundingIsReportedAsDiffering) {
  const Backend truncating = paper_backend([](const Instruction& instruction, const TileView& batch) {
    Datapath datapath;
    if (instruction.d == Format::f16) datapath.output = {Format::f16, 10, Rounding::toward_zero};
    emulate(instruction, datapath, batch);
  });
  const auto cells = elementwise_profile(truncating);
  AuditResult result;
  result.cells = cells;
  EXPECT_EQ(result.count(Agreement::differs), 12);
}

TEST(Profile, NothingIsMeasuredOnAnInstructionTheBackendLacks) {
  Backend none = kAmpereLike;
  none.why_not = [](const Instruction&, std::uint8_t) { return std::string("none"); };
  EXPECT_TRUE(elementwise_profile(none).empty());
  EXPECT_TRUE(chain_matmul(none, {.rounds = 1, .max_length = 1}).empty());
}

TEST(Profile, NarrowAccumulationOfFp8IsVisible) {
  const auto rows = summarise(elementwise_profile(model_backend(hopper())), hopper());
  double widened = -1, narrow = -1;
  for (const DtypeSummary& row : rows) {
    if (row.dtype != Format::e4m3) continue;
    (row.instruction.starts_with("wgmma") ? narrow : widened) = row.accumulator_alone.mean_relative;
  }
  EXPECT_EQ(widened, 0.0);
  EXPECT_GT(narrow, 5e-5);
  EXPECT_LT(narrow, 2e-4);
}

TEST(Chain, Fp16EndsAtTheTenthLinkWithThePapersDraws) {
  ChainOptions options;
  options.dtypes = {Format::f16};
  const auto curves = chain_matmul(kAmpereLike, options);
  ASSERT_EQ(curves.size(), 2U);
  for (const ChainCurve& curve : curves) {
    EXPECT_EQ(curve.draws, ChainDraws::every_length);
    ASSERT_EQ(curve.points.size(), 10U);
    EXPECT_EQ(curve.first_infinity, kF16ChainEnds);
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(curve.points[static_cast<std::size_t>(i)].error) << i;
    EXPECT_FALSE(curve.points[9].error);
    EXPECT_EQ(curve.points[9].rounds_not_finite, 92);
  }
}

TEST(Chain, ShapesOfTheCurvesAreThePapers) {
  ChainOptions options;
  options.rounds = 200;
  options.max_length = 6;
  options.draws = ChainDraws::one_chain;
  std::map<std::pair<Format, Initialisation>, ChainCurve> by;
  for (const ChainCurve& curve : chain_matmul(kAmpereLike, options)) by[{curve.dtype, curve.init}] = curve;
  ASSERT_EQ(by.size(), 6U);
  const auto error = [&](Format dtype, Initialisation init, std::size_t n) {
    return by.at({dtype, init}).points.at(n - 1).error.value();
  };
  for (const Format dtype : {Format::tf32, Format::bf16, Format::f16}) {
    EXPECT_LT(error(dtype, Initialisation::low, 1), 1e-7);
    for (std::size_t n = 1; n <= 6; ++n) {
      EXPECT_GT(error(dtype, Initialisation::fp32, n), error(dtype, Initialisation::low, n));
      if (n > 1) {
        EXPECT_GT(error(dtype, Initialisation::low, n), error(dtype, Initialisation::low, n - 1));
      }
    }
  }
  for (std::size_t n = 2; n <= 6; ++n) {
    // Three fraction bits fewer.
    EXPECT_NEAR(error(Format::bf16, Initialisation::fp32, n) / error(Format::tf32, Initialisation::fp32, n),
                8.0, 0.5);
    EXPECT_NEAR(error(Format::f16, Initialisation::fp32, n) / error(Format::tf32, Initialisation::fp32, n),
                1.0, 0.02);
  }
}

TEST(Formats, FactsAreThoseOfTheSpecifications) {
  std::map<std::string, FormatFacts> by;
  for (const FormatFacts& row : format_facts()) by[row.name] = row;
  EXPECT_EQ(by.at("FP16").max_finite, 65504);
  EXPECT_EQ(by.at("FP8 E4M3").max_finite, 448);
  EXPECT_FALSE(by.at("FP8 E4M3").infinity);
  EXPECT_EQ(by.at("FP8 E5M2").max_finite, 57344);
  EXPECT_EQ(by.at("FP8 E5M2").min_subnormal, std::ldexp(1, -16));
  EXPECT_EQ(by.at("TF32").epsilon, std::ldexp(1, -10));
  EXPECT_EQ(by.at("TF32").min_subnormal, std::ldexp(1, -136));
  EXPECT_EQ(by.at("BF16").min_normal, std::ldexp(1, -126));
}

TEST(Statistics, SignsAndZeroReferences) {
  ErrorStatistics error;
  error.add(-0.5, -1.0);
  error.add(0.25, 0.0);
  error.add(2.0, 2.0);
  error.finish();
  EXPECT_EQ(error.count, 3);
  EXPECT_EQ(error.exact, 1);
  EXPECT_EQ(error.mean_absolute, 0.25);
  EXPECT_EQ(error.max_absolute, 0.5);
  EXPECT_EQ(error.mean_relative, 0.25);
  EXPECT_EQ(error.max_relative, 0.5);
  EXPECT_EQ(error.bias, 0.25);
  EXPECT_NEAR(error.magnitude_bias, -0.25 / 3, 1e-15);
}

TEST(Printed, DigitsAndStyleFollowThePrint) {
  EXPECT_EQ(in_form_of(0.0012886, "1.29E-03"), "1.29E-03");
  EXPECT_EQ(in_form_of(0.0012886, "1.3e-03"), "1.3e-03");
  EXPECT_EQ(in_form_of(0.0, "0.00"), "0.00");
  EXPECT_TRUE(has_printed_digits(0.0, "0.0"));
  EXPECT_FALSE(has_printed_digits(1e-9, "0.0"));
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(123), "123");
}

}  // namespace
}  // namespace mmaudit::report
