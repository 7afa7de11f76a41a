#include <gtest/gtest.h>

#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/axes.hpp"
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {
namespace {

using Values = std::vector<std::string>;

TEST(Axes, SpellingsOfNvbench) {
  EXPECT_EQ(parse_axis("warps=[1,2,4]").values, (Values{"1", "2", "4"}));
  EXPECT_EQ(parse_axis("warps=12").values, (Values{"12"}));
  EXPECT_EQ(parse_axis("ilp=[1:6:2]").values, (Values{"1", "3", "5"}));
  EXPECT_EQ(parse_axis("ilp=[2:4]").values, (Values{"2", "3", "4"}));
  EXPECT_EQ(parse_axis("n[pow2]=[3:8:1]").values, (Values{"8", "16", "32", "64", "128", "256"}));
  EXPECT_EQ(parse_axis("warps[pow2]=[0,5]").values, (Values{"1", "32"}));
  EXPECT_EQ(parse_axis("init=random").values, (Values{"random"}));
  // Words that one benchmark has and others of the same axis do not.
  EXPECT_EQ(parse_axis("level=[l2-8MiB,l2]").values, (Values{"l2-8MiB", "l2"}));
  std::size_t small = 0;
  for (const Benchmark& one : benchmarks())
    for (const Point& point : points_of(one, resolve_axes({"level=l2-8MiB"}, false)))
      for (const auto& [name, value] : point.axes)
        if (value == "l2-8MiB") small += one.name == "ld.relaxed.gpu.global.u64+each" ? 1 : 1000;
  EXPECT_GE(small, 1U);
  EXPECT_LT(small, 1000U);
  EXPECT_EQ(parse_axis("init=[random,zero,random]").values, (Values{"random", "zero"}));
}

TEST(Axes, WhatIsWrongIsNamed) {
  for (const char* text : {"warps=0",
                           "warps=33",
                           "warps=",
                           "warps=[1,2",
                           "warps=1]",
                           "warps=[1:2:0]",
                           "warps=[4:2]",
                           "warps=[1:2:3:4]",
                           "warps=x",
                           "warps=[1,,2]",
                           "ilp=7",
                           "init=ones",
                           "init=[]",
                           "init[pow2]=zero",
                           "n=24",
                           "ways=3",
                           "warps",
                           "warps[pow2]=[6]",
                           "warps[pow2]=[99]",
                           "colour=red",
                           "=1",
                           ""}) {
    try {
      parse_axis(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("allowed: "), std::string::npos) << error.what();
    }
  }
}

TEST(Axes, GivenValuesReplaceTheUsual) {
  const std::vector<Axis> axes = resolve_axes({"ilp=2", "ilp=3"}, false);
  EXPECT_EQ(axis_of(axes, "ilp").values, (Values{"3"}));
  EXPECT_EQ(axis_of(axes, "warps").values.size(), 8U);
  EXPECT_LT(axis_of(resolve_axes({}, true), "warps").values.size(), 8U);
}

}  // namespace
}  // namespace mmaudit::sweeps
