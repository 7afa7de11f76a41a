#pragma once
// Points of memory, clusters, copies and DPX whose answers are known.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_target.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::sweeps::test {

using Axes = std::vector<std::pair<std::string, std::string>>;

inline void add(SweepResult& result, const std::string& subject, Axes axes,
                std::map<std::string, double> summaries) {
  axes.insert(axes.begin(), {"scope", "sm"});
  summaries.emplace(tag::kCompared, 64);
  result.points.push_back({.subject = subject, .axes = std::move(axes), .summaries = std::move(summaries)});
}
inline void add_gpu(SweepResult& result, const std::string& subject, Axes axes,
                    std::map<std::string, double> summaries) {
  add(result, subject, std::move(axes), std::move(summaries));
  result.points.back().set("scope", "gpu");
}

/// Of clusters that the GPU does not hold.
inline void add_skipped(SweepResult& result, const std::string& subject, Axes axes) {
  add_gpu(result, subject, std::move(axes), {});
  result.points.back().summaries.clear();
  result.points.back().skipped = "the GPU can't hold such a cluster";
}

constexpr char kClusterStream[] = "stream.ld.shared::cluster.v4.u32";

/// Chases and bulk copies over footprints: the copies, 200 cycles later, lack the first level.
inline void add_footprints(SweepResult& result, bool wrong) {
  struct Footprint {
    const char* kib;
    double load, copy, wrong_copy;
  };
  for (const auto& [kib, load, copy, wrong_copy] : {Footprint{"16", 32, 460, 300},
                                                    {"32", 32, 460, 300},
                                                    {"64", 32, 460, 300},
                                                    {"128", 32, 462, 300},
                                                    {"8192", 260, 460, 460},
                                                    {"16384", 262, 460, 460},
                                                    {"65536", 420, 620, 620},
                                                    {"131072", 650, 860, 860},
                                                    {"524288", 650, 860, 860}}) {
    if (std::string_view(kib) != "32")  // grid() has it
      add(result, "ld.relaxed.cta.global.u64", {{"warps", "1"}, {"kib", kib}}, {{tag::kCycles, load}});
    const double cycles = wrong ? wrong_copy : copy;
    add(result, "cp.async.bulk+footprint", {{"warps", "1"}, {"kib", kib}, {"bytes", "128"}},
        {{tag::kCycles, cycles},
         {tag::kExpect, 60},
         {tag::kIssue, wrong ? cycles / 10 : 54},
         {tag::kWait, cycles - 240}});
    add(result, "cp.async.bulk+footprint", {{"warps", "1"}, {"kib", kib}, {"bytes", "4096"}},
        {{tag::kCycles, cycles * 2}});
  }
}

/// Streams from the shared memory of clusters: the whole GPU by pattern and policy, and one multiprocessor.
inline void add_clusters(SweepResult& result, bool wrong) {
  const auto either = [&](double right, double other) { return wrong ? other : right; };
  const auto stream = [&](const char* reads, const char* cluster, double rate) {
    add_gpu(result, kClusterStream, {{"reads", reads}, {"cluster", cluster}, {"policy", "default"}},
            {{tag::kBytesPerSecond, rate}});
  };
  stream("ring", "2", either(4e12, 3e12));
  stream("ring", "4", 3.5e12);
  stream("ring", "8", 3.5e12);
  stream("pair", "4", 3.5e12);
  stream("pair", "8", either(3.6e12, 3e12));
  stream("broadcast", "2", either(4e12, 1e12));
  stream("broadcast", "4", 3e12);
  stream("broadcast", "8", 2e12);
  const auto block = [&](const char* warps, const char* ilp, const char* reads, double rate) {
    add(result, kClusterStream, {{"warps", warps}, {"ilp", ilp}, {"cluster", "2"}, {"reads", reads}},
        {{tag::kBytes, rate}});
  };
  block("2", "1", "ring", either(8.7, 17));
  block("2", "4", "ring", either(11.1, 17));
  block("32", "1", "ring", 17);
  block("32", "4", "ring", 17);
  block("32", "4", "own", either(116, 128));
  add(result, "ld.shared.v4.u32", {{"warps", "32"}, {"ilp", "4"}, {"ways", "4"}},
      {{tag::kBytes, either(128, 120)}});
  for (const char* reads : {"ring", "pair", "broadcast"})
    for (const char* cluster : {"2", "4", "8"})
      for (const char* policy : {"default", "spread", "balance"})
        add_gpu(result, std::string(kClusterStream) + "+policies",
                {{"reads", reads}, {"cluster", cluster}, {"policy", policy}},
                {{tag::kBytesPerSecond, policy[0] == 's' ? either(3.05e12, 3.3e12) : 3e12}});
  for (const char* reads : {"ring", "pair", "broadcast"})
    for (const char* policy : {"default", "spread", "balance"})
      for (const char* benchmark : {"", "+policies"})
        add_skipped(result, kClusterStream + std::string(benchmark),
                    {{"reads", reads}, {"cluster", "16"}, {"policy", policy}});
}

/// The grid of a GPU that behaves as the papers say; with `wrong` set, in no respect.
inline SweepResult grid(bool wrong) {
  SweepResult result;
  result.provenance = FakeTarget().provenance();
  const auto either = [&](double right, double other) { return wrong ? other : right; };
  const auto cycles = [&](double right, double other) {
    return std::map<std::string, double>{{tag::kCycles, either(right, other)}};
  };
  const Axes one = {{"warps", "1"}};
  const auto with = [&](Axes axes) {
    axes.insert(axes.begin(), one.front());
    return axes;
  };
  add(result, "ld.relaxed.cta.global.u64", with({{"kib", "32"}}), cycles(32, 40));
  add(result, "ld.relaxed.gpu.global.u64", with({{"kib", "8192"}}), cycles(260, 200));
  add(result, "ld.relaxed.gpu.global.u64", with({{"kib", "524288"}}), cycles(650, 300));
  add(result, "ld.shared.u32+index", one, cycles(29, 40));
  add(result, "ld.shared.u32", {{"warps", "1"}, {"ilp", "1"}, {"ways", "1"}}, cycles(23, 23));
  const std::string each = "ld.relaxed.gpu.global.u64+each";
  add(result, each, with({{"level", "l2"}}),
      {{tag::kNearHit, 280}, {tag::kFarHit, either(450, 300)}, {tag::kHitSpread, 40}});
  add(result, each, with({{"level", "memory"}}),
      {{tag::kNearMiss, 540}, {tag::kFarMiss, either(710, 560)}, {tag::kMissSpread, 40}});
  add(result, "stream.ld.v4.u32", with({{"level", "l1"}}), {{tag::kBytes, either(127, 90)}});
  const auto bytes = [](double rate) { return std::map<std::string, double>{{tag::kBytesPerSecond, rate}}; };
  add_gpu(result, "stream.ld.v4.u32", {{"level", "l2"}}, bytes(either(20e12, 6e12)));
  add_gpu(result, "stream.ld.v4.u32", {{"level", "memory"}},
          {{tag::kBytesPerSecond, either(4.6e12, 4e12)}, {tag::kMemoryPeak, 4.8e12}});
  add(result, "cp.async.bulk", with({{"level", "l2"}, {"bytes", "128"}}), cycles(460, 300));
  add_gpu(result, "cp.async.bulk+inflight", {{"level", "memory"}, {"bytes", "16384"}},
          bytes(either(4.6e12, 3e12)));
  const auto boxes = [&](const char* rank, const char* box, const char* ctas, double rate) {
    add_gpu(result, std::string("cp.async.bulk.tensor.") + rank + "+inflight",
            {{"level", "memory"}, {"box", box}, {"ctas", ctas}}, bytes(rate));
  };
  boxes("2d", "64x64", "1", 4.0e12);
  boxes("2d", "64x64", "4", either(4.6e12, 3e12));
  for (const char* box : {"16x16x12", "16x16x16"}) {
    boxes("3d", box, "1", either(4.5e12, 3.5e12));
    boxes("3d", box, "4", either(4.2e12, 3.7e12));
  }
  boxes("3d", "64x64x1", "4", 4.5e12);
  boxes("3d", "256x16x1", "4", either(4.6e12, 4e12));
  boxes("3d", "16x256x1", "4", either(4.1e12, 4.5e12));
  boxes("3d", "4x4x256", "4", 1e12);
  add(result, "ld.shared::cluster.u32", with({{"cluster", "1"}, {"peer", "0"}}), cycles(33, 20));
  for (const int cluster : {2, 4, 8, 16})
    add(result, "ld.shared::cluster.u32", with({{"cluster", std::to_string(cluster)}, {"peer", "1"}}),
        {{tag::kCycles, either(190, 210)},
         {tag::kLeastBlock, 185},
         {tag::kMostBlock, 205},
         {tag::kDistinct, cluster == 8 ? either(8, 7) : cluster}});
  add_footprints(result, wrong);
  add_clusters(result, wrong);
  for (const std::string form :
       {"vimax_", "vimin_", "vimax3_", "vimin3_", "viaddmax_", "viaddmin_", "vibmax_", "vibmin_"})
    for (const char* type : {"s32_relu", "s16x2", "u16x2"}) {
      if (find_benchmark(form + type) == nullptr) continue;
      add(result, form + type, {{"warps", "32"}}, {{tag::kOperations, 120}});
      add(result, form + type + "+plain", {{"warps", "32"}}, {{tag::kOperations, either(30, 120)}});
    }
  for (const char* type : {"s32", "s16x2"}) {
    add(result, std::string("vimax3_") + type, one, cycles(4.6, 4.6));
    add(result, std::string("vimax3_") + type + "_relu", one, cycles(4.6, 9));
  }
  const auto wave = [&](const char* blocks, double rate) {
    add(result, "viaddmax_s16x2+waves", {{"warps", "32"}, {"blocks", blocks}},
        {{tag::kOperationsPerSecond, rate}});
  };
  wave("33", either(0.25e12, 1e12));
  wave("66", either(0.5e12, 1e12));
  wave("132", 1e12);
  wave("133", either(0.5e12, 1e12));
  wave("264", 1e12);
  const auto cells = [&](const char* subject, double rate) {
    add_gpu(result, subject, {{"query", "512"}}, {{tag::kOperationsPerSecond, rate}});
  };
  cells("align.s16x2", either(8e12, 4e12));
  cells("align.s16x2+plain", 3e12);
  cells("align.s32", 4e12);
  cells("align.s32+plain", either(4e12, 3e12));
  add(result, "align.s16x2", one, {{tag::kShareHeld, either(0.9, 0.5)}});
  const auto count = [&](const char* subject, const char* cluster, const char* bins, double rate) {
    add_gpu(result, subject, {{"cluster", cluster}, {"bins", bins}}, {{tag::kOperationsPerSecond, rate}});
  };
  count("histogram.128", "1", "1024", 2e12);
  count("histogram.128", "1", "2048", either(1.5e12, 2e12));
  count("histogram.128", "2", "2048", 1.6e12);
  count("histogram.128", "4", "2048", 1.7e12);
  count("histogram.128", "8", "2048", 1.6e12);
  count("histogram.512", "1", "2048", 1.5e12);
  count("histogram.512", "2", "2048", either(1.7e12, 1.4e12));
  count("histogram.512", "4", "2048", 1.6e12);
  count("histogram.512", "8", "2048", 1.5e12);
  return result;
}

/// Findings that the grid decides.
inline constexpr int kFindings = 38;

inline Finding judge(const SweepResult& result, std::string_view statement) {
  for (const Finding& finding : findings_of(result))
    if (finding.statement.starts_with(statement)) return finding;
  ADD_FAILURE() << "no such finding";
  return {};
}

}  // namespace mmaudit::sweeps::test
