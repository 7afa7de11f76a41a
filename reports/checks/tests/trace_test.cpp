// Traces side by side: rows, tokens, names, what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "mmaudit/error.hpp"
#include "trace/trace.hpp"
#include "trace_fixture.hpp"

namespace mmaudit::checks {
namespace {

using test::TraceFixture;

class TraceTest : public ::testing::Test {
 protected:
  Trace read(const TraceFixture& fixture, const char* name) {
    const std::string path = ::testing::TempDir() + name;
    fixture.write(path);
    return read_trace(path);
  }
  std::string refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  Trace a_ = read({}, "a.trace");
};

TEST_F(TraceTest, EqualTracesDoNotDiffer) {
  const TraceDiff found = diff_traces(a_, a_, {});
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.operations, 2U);
  EXPECT_EQ(found.tokens, 2U);
  EXPECT_EQ(report_of(found).headline, "no difference: 2 operations, 2 tokens, bit for bit");
}

TEST_F(TraceTest, TheFirstOperationIsBlamedAndNotTheNext) {
  TraceFixture other;
  other.hashes = {1, 2, 3, 40, 5, 60};
  other.exponent = "3";
  const Trace b = read(other, "b.trace");
  const TraceDiff found = diff_traces(a_, b, {});
  ASSERT_EQ(found.findings.size(), 1U);
  const TraceFinding& first = found.findings.front();
  EXPECT_EQ(a_.operations[first.a].name, "aten.pow");
  EXPECT_EQ(first.rows, 2U);
  EXPECT_EQ(first.differing, 1U);
  EXPECT_EQ(first.cause.kind, "argument");
  EXPECT_EQ(first.cause.text, "exponent 2 -> 3");
  EXPECT_EQ(exit_code(report_of(found)), 1);
}

TEST_F(TraceTest, ARowWhoseInputIsEqualIsBlamedBesideOneThatIsSpoiled) {
  TraceFixture other;
  other.hashes = {1, 2, 3, 40, 50, 60};
  const Trace b = read(other, "b.trace");
  const TraceDiff found = diff_traces(a_, b, {});
  ASSERT_EQ(found.findings.size(), 2U);
  EXPECT_EQ(a_.operations[found.findings[1].a].name, "aten.mul");
  EXPECT_EQ(found.findings[1].differing, 1U);
  EXPECT_EQ(found.findings[0].cause.kind, "non-determinism");
}

TEST_F(TraceTest, AnInputThatNothingMadeIsNamedFirst) {
  TraceFixture other;
  other.hashes = {10, 2, 30, 4, 50, 6};
  const Trace b = read(other, "b.trace");
  const TraceDiff found = diff_traces(a_, b, {});
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_EQ(found.findings[0].what, "an input");
  EXPECT_EQ(found.findings[0].cause.kind, "tensor");
}

TEST_F(TraceTest, TokensAreMappedByPosition) {
  TraceFixture later;
  later.call = R"({"batch":1,"tokens":2,"past":1})";
  later.hashes = {2, 9, 4, 9, 6, 9};
  const Trace b = read(later, "b.trace");
  const TraceDiff found = diff_traces(a_, b, {});  // A's token 1 is the first one of B's call
  EXPECT_TRUE(found.same()) << report_of(found).headline;
  EXPECT_EQ(found.tokens, 1U);
  EXPECT_FALSE(diff_traces(a_, b, {{"0:2=1:3"}, {}}).same());
  EXPECT_NE(refusal([&] {
              diff_traces(a_, b, {{"0=0"}, {}});
            }).find("tokens that both traces have"),
            std::string::npos);
  EXPECT_NE(refusal([&] { diff_traces(a_, b, {{"0:2=1"}, {}}); }).find("as many tokens"), std::string::npos);
  EXPECT_NE(refusal([&] { diff_traces(a_, b, {{"x=1"}, {}}); }).find("--row: found x=1"), std::string::npos);
}

TEST_F(TraceTest, BrokenNumbersAreRefusedByTheirPlace) {
  TraceFixture other;
  other.operations = R"(,{"module":9,"kind":1,"operator":3,"call":0,"in":[],"out":[]})";
  EXPECT_NE(refusal([&] { read(other, "b.trace"); }).find("operations[2]: module: found 9, allowed: below 4"),
            std::string::npos)
      << refusal([&] { read(other, "b.trace"); });
  other.operations = R"(,{"module":0,"kind":1,"operator":3,"call":0,"in":[7],"out":[]})";
  EXPECT_NE(refusal([&] { read(other, "b.trace"); }).find("below 3"), std::string::npos);
  other.operations.clear();
  other.hashes.resize(5);  // rows that a tensor names, and the file lacks
  EXPECT_NE(refusal([&] { read(other, "b.trace"); }).find("as many rows as the file has"), std::string::npos);
}

TEST_F(TraceTest, ADamagedOrCutFileIsRefused) {
  const std::string path = ::testing::TempDir() + "damaged.trace";
  TraceFixture().write(path);
  const auto size = std::filesystem::file_size(path);
  for (std::uintmax_t at = 8; at < size; at += 13) {
    TraceFixture().write(path);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int before = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(before ^ 4));
    file.close();
    EXPECT_NE(refusal([&] { read_trace(path); }).find(path), std::string::npos) << "byte " << at;
  }
  TraceFixture().write(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_NE(refusal([&] { read_trace(path); }).find(path), std::string::npos);
}

TEST_F(TraceTest, AMapThatFitsNothingIsRefusedWithTheNearestNames) {
  EXPECT_TRUE(diff_traces(a_, a_, {{}, {"net.=net."}}).same());
  EXPECT_NE(refusal([&] {
              diff_traces(a_, a_, {{}, {"ent.=net."}});
            })
                .find("--map: found ent. in ent.=net., allowed: how names of modules of " + a_.file +
                      " begin, such as net., net.0"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              diff_traces(a_, a_, {{}, {"net.=x."}});
            }).find("found x. in net.=x."),
            std::string::npos);
}

TEST_F(TraceTest, WhatNoRunHasIsRefusedBeforeItIsCounted) {
  TraceFixture other;
  other.machine = "[1]";
  EXPECT_NE(refusal([&] { read(other, "b.trace"); }).find("machine: found [1], allowed: an object"),
            std::string::npos)
      << refusal([&] { read(other, "b.trace"); });
  other.machine = "{}";
  for (const char* call :
       {R"({"batch":1,"tokens":4611686018427387904,"past":0})", R"({"batch":4096,"tokens":4096,"past":0})"}) {
    other.call = call;
    EXPECT_NE(refusal([&] { read(other, "b.trace"); }).find("4194304"), std::string::npos) << call;
  }
  EXPECT_NE(refusal([&] {
              diff_traces(a_, a_, {{"0:1000000000=0:1000000000"}, {}});
            }).find("--row: found 1000000000 tokens"),
            std::string::npos);
}

/// The kind of cause of a sum of 64 and of 1 token of 4096 numbers, whose plans differ along the last axis.
std::string cause_of_sums(const char* arguments) {
  Trace a, b;
  for (Trace* one : {&a, &b}) {
    one->machine["gpu"] = "NVIDIA H200";
    one->tensors.resize(2);
    one->tensors[0].shape = {one == &a ? 64U : 1U, 4096};
    one->tensors[0].dtype = one->tensors[1].dtype = "float32";
    one->operations.resize(1);
    one->operations[0].name = "aten.sum.dim_IntList";
    one->operations[0].in = {0}, one->operations[0].out = {1};
    one->operations[0].arguments = parse_json(arguments);
  }
  return cause_of(a, a.operations[0], b, b.operations[0], false).kind;
}

TEST(TraceCause, ARowPlanIsOfTheLastAxis) {
  for (const char* last : {R"({"dim":[-1]})", R"({"dim":[1]})", R"({"dim":1})"})
    EXPECT_EQ(cause_of_sums(last), "row reduction") << last;
  for (const char* other : {R"({"dim":[0]})", R"({"dim":[0,1]})", R"({"dim":null})", "{}"})
    EXPECT_NE(cause_of_sums(other), "row reduction") << other;
}

TEST(TraceCause, SomeKernelsSayHowTheySum) {
  Trace a, b;
  for (Trace* one : {&a, &b}) {
    one->operations.resize(1);
    one->operations[0].name = "vllm.w8a8";
    one->operations[0].kernels.push_back(
        {one == &a ? "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u>" : "other"});
  }
  const TraceCause found = cause_of(a, a.operations[0], b, b.operations[0], false);
  EXPECT_EQ(found.kind, "kernel");
  EXPECT_NE(found.text.find("(DeepGEMM: 128 of K by wgmma, times scales, added in binary32) -> other"),
            std::string::npos)
      << found.text;
}

}  // namespace
}  // namespace mmaudit::checks
