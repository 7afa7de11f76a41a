// What changed between two recordings of the same product.
#include <gtest/gtest.h>

#include "baseline.hpp"

namespace mmaudit::checks::test {
namespace {

BaselineProduct product() {
  BaselineProduct one;
  one.problem = "cublaslt f16 -> f16 nt 1 x 2 x 64";
  one.plan = "wgmma.m64n64k16.f32.f16.f16, tile k 64, slices 4, output f16";
  one.algorithm = {{"id", 66}, {"split_k", 4}};
  one.element_bytes = 2;
  one.d.resize(4);
  return one;
}

std::string changes(const BaselineProduct& before, const BaselineProduct& after) {
  Baseline was, is;
  was.products.push_back(before);
  is.products.push_back(after);
  BaselineDiff diff;
  diff_products(was, is, diff);
  const std::vector<std::string> lines = report_of(diff).sections.back().lines;
  return lines.empty() ? "" : lines.front();
}

TEST(BaselineProducts, every_change_is_said) {
  const std::string name = "cuBLASLt " + product().problem + ": ";
  EXPECT_EQ(changes(product(), product()), "");
  BaselineProduct other = product();
  other.plan.replace(other.plan.find("slices 4"), 8, "slices 6");
  EXPECT_EQ(changes(product(), other),
            name + "another plan, the same bits; the same algorithm; plan: slices 4 -> 6");
  other.algorithm[1].second = 6;
  other.d[0] = std::byte{1};
  EXPECT_EQ(changes(product(), other), name + "1 of 2 elements differ; split_k 4 -> 6; plan: slices 4 -> 6");
  other = product();
  other.algorithm.emplace_back("custom", 1);
  EXPECT_EQ(changes(product(), other), name + "another algorithm, the same bits; custom none -> 1");
  EXPECT_EQ(changes(other, product()), name + "another algorithm, the same bits; custom 1 -> none");
}

}  // namespace
}  // namespace mmaudit::checks::test
