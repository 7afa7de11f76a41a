// Recorded decisions against a library whose rule is known.
#include "gemm/decisions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "gemm/recorded_invariant.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

/// docs/gemm.md, "Batch invariance": two slices for M = 1 to 24, 32 to 40 and 48, else one chain.
bool splits(std::uint64_t m) { return m <= 24 || (m >= 32 && m <= 40) || m == 48; }

LibraryCall call_of(std::uint64_t m) {
  LibraryCall out;
  out.algorithm = {{"id", 66}, {"split_k", splits(m) ? 2 : 1}, {"workspace", static_cast<std::int64_t>(m)}};
  out.kernels = {{splits(m) ? "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT"
                            : "nvjet_sm90_tst_128x64_64x8_2x1_v_bz_TNT",
                  {static_cast<std::uint32_t>(m), 2, 1},
                  {384, 1, 1}}};
  if (splits(m))
    out.kernels.push_back(
        {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16fS1_Lb0Ef", {8, 1, 1}, {32, 16, 1}});
  return out;
}

GemmProblem layer(std::uint64_t n, std::uint64_t k, GemmApi api = GemmApi::cublas) {
  GemmProblem out;
  out.api = api;
  out.type = out.d = Format::bf16;
  out.m = 1;
  out.n = n;
  out.k = k;
  out.transposed_b = true;
  return out;
}

corpus::DecisionFile empty_file() {
  corpus::DecisionFile out;
  out.gpu = "NVIDIA H200";
  out.architecture = "hopper";
  out.library = "130100";
  out.last_m = 100;
  return out;
}

RecordDecisions asking(std::string& text, std::uint64_t* asked = nullptr) {
  RecordDecisions out;
  out.threads = 3;
  out.begin = [asked] {
    return [asked](const GemmProblem& x) {
      if (asked != nullptr) ++*asked;
      return call_of(x.m);
    };
  };
  out.keep = [&text](const std::string& lines) { text += lines; };
  return out;
}

/// A file with these layers, as its text.
std::string recorded(const std::vector<GemmProblem>& layers) {
  corpus::DecisionFile file = empty_file();
  std::string text = corpus::header_line(file);
  EXPECT_EQ(record_decisions(file, layers, asking(text)), layers.size());
  return text;
}

TEST(Decisions, EveryMOfTheFileIsWhatTheLibraryChose) {
  const corpus::DecisionFile file = corpus::read_decisions(recorded({layer(64, 128), layer(96, 128)}), "x");
  ASSERT_EQ(file.layers.size(), 2U);
  EXPECT_EQ(file.choices.size(), 2U);
  for (const corpus::LayerDecisions& each : file.layers) {
    EXPECT_EQ(each.starts.size(), 6U);
    for (std::uint64_t m = 1; m <= 100; ++m) {
      ASSERT_NE(corpus::choice_at(file, each, m), nullptr);
      EXPECT_TRUE(same_choice(*corpus::choice_at(file, each, m), call_of(m))) << m;
      EXPECT_FALSE(same_choice(*corpus::choice_at(file, each, m), call_of(splits(m) ? 25 : 1))) << m;
    }
    EXPECT_EQ(corpus::choice_at(file, each, 101), nullptr);
  }
}

TEST(Decisions, AStoppedFileGoesOnBehindItsLastWholeLine) {
  const std::vector<GemmProblem> layers = {layer(64, 128), layer(96, 128), layer(128, 128)};
  std::string text = recorded({layers.front()});
  const std::size_t whole = text.size();
  text += R"({"layer":{"api":"cub)";
  EXPECT_THROW(corpus::read_decisions(text, "x"), InputError);
  std::size_t cut = 0;
  corpus::DecisionFile file = corpus::read_decisions(text, "x", &cut);
  EXPECT_EQ(cut, whole);
  text.resize(cut);
  RecordDecisions run = asking(text);
  run.threads = 1;
  std::uint64_t asked = 0;
  run.begin = asking(text, &asked).begin;
  EXPECT_EQ(record_decisions(file, layers, run), 2U);
  EXPECT_EQ(asked, 200U);  // the layer that is there is not asked again
  const corpus::DecisionFile again = corpus::read_decisions(text, "x");
  EXPECT_EQ(again.layers.size(), 3U);
  EXPECT_EQ(again.choices.size(), 2U);
}

TEST(Decisions, WhatIsStoppedIsDropped) {
  corpus::DecisionFile file = empty_file();
  std::string text;
  RecordDecisions run = asking(text);
  run.threads = 1;
  int left = 150;
  run.stopped = [&left] { return --left < 0; };
  EXPECT_EQ(record_decisions(file, {layer(64, 128), layer(96, 128)}, run), 1U);
  EXPECT_EQ(file.layers.size(), 1U);
}

TEST(Decisions, ACheckFindsAnotherChoice) {
  const corpus::DecisionFile file =
      corpus::read_decisions(recorded({layer(64, 128), layer(96, 128, GemmApi::cublaslt)}), "x");
  std::string none;
  const DecisionCheck same = check_decisions(file, GemmApi::cublas, 400, 5, asking(none));
  EXPECT_EQ(same.asked, 400U);
  EXPECT_EQ(same.same, 400U);
  RecordDecisions changed = asking(none);
  changed.begin = [] { return [](const GemmProblem& x) { return call_of(x.m == 48 ? 49 : x.m); }; };
  const DecisionCheck other = check_decisions(file, GemmApi::cublas, 4000, 5, changed);
  EXPECT_LT(other.same, other.asked);
  ASSERT_FALSE(other.other.empty());
  for (const std::string& name : other.other) EXPECT_EQ(name, "cublas bf16 -> bf16 nt 48 x 64 x 128");
}

TEST(Decisions, ALayerThatWasNotRecordedIsGuessedFromTheNearest) {
  const corpus::DecisionFile file =
      corpus::read_decisions(recorded({layer(64, 128), layer(4096, 128), layer(4096, 4097)}), "x");
  GemmProblem x = layer(64, 128);
  x.m = 30;
  const auto exact = corpus::decided(file, x);
  ASSERT_TRUE(exact);
  EXPECT_TRUE(exact->recorded);
  x.n = 2048;
  const auto near = corpus::decided(file, x);
  ASSERT_TRUE(near);
  EXPECT_FALSE(near->recorded);
  EXPECT_EQ(near->layer->layer.n, 4096U);
  EXPECT_EQ(near->layer->layer.k, 128U);
  x.n = 4096, x.k = 4099;  // of odd K there is one
  EXPECT_EQ(corpus::decided(file, x)->layer->layer.k, 4097U);
  x.k = 4098;
  std::string why;
  EXPECT_FALSE(corpus::decided(file, x, &why));
  EXPECT_NE(why.find("NVIDIA H200"), std::string::npos);
  x = layer(64, 128);
  x.type = x.d = Format::f16;
  EXPECT_FALSE(corpus::decided(file, x, &why));
  x = layer(64, 128);
  x.m = 101;
  EXPECT_FALSE(corpus::decided(file, x, &why));
  EXPECT_EQ(why, "M = 101 was not recorded, M = 1 to 100 were");
}

TEST(Decisions, ScalesOfFp8MakeNoOtherLayer) {
  GemmProblem x = layer(64, 128, GemmApi::cublaslt);
  x.type = Format::e4m3;
  const corpus::DecisionFile file = corpus::read_decisions(recorded({x}), "x");
  x.scale_a = 0.5F, x.scale_b = 3;
  ASSERT_TRUE(corpus::decided(file, x));
  EXPECT_TRUE(corpus::decided(file, x)->recorded);
  x.alpha = 2;
  EXPECT_FALSE(corpus::decided(file, x));
}

TEST(Decisions, FilesThatSayNonsenseAreRefused) {
  const std::string text = recorded({layer(64, 128)});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    const std::size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? out : out.replace(at, from.size(), to);
  };
  EXPECT_NO_THROW(corpus::read_decisions(text, "x"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"mmaudit.gemm.decisions/1", "mmaudit.gemm.decisions/9"},
           {"hopper", "harrier"},
           {"1:0 25:1", "2:0 25:1"},
           {"1:0 25:1", "1:0 25:9"},
           {"1:0 25:1", "1:0 1:1"},
           {"1:0 25:1", "1-0 25:1"},
           {"49:1", "101:1"}})
    EXPECT_THROW(corpus::read_decisions(with(from, to), "x"), InputError) << to;
  EXPECT_THROW(corpus::read_decisions("", "x"), InputError);
}

TEST(RecordedInvariant, TheRangesAreThoseOfTheRule) {
  const corpus::DecisionFile file = corpus::read_decisions(recorded({layer(4096, 4096)}), "x");
  RecordedInvariant result;
  result.last_m = file.last_m;
  result.layers = {recorded_layer(file, layer(4096, 4096))};
  EXPECT_EQ(result.layers.front().source, "recorded");
  EXPECT_EQ(changes_of(result), (std::vector<std::uint64_t>{25, 32, 41, 48, 49}));
  for (const RecordedRange& each : result.layers.front().ranges) {
    EXPECT_TRUE(each.known) << each.plan;
    EXPECT_EQ(each.plan.find("slices 2") != std::string::npos, splits(each.first)) << each.plan;
  }
  const RecordedPin pin = pin_of(result.layers.front());
  EXPECT_EQ(pin.m, 49U);
  EXPECT_EQ(pin.held, 66U);  // of 100, 24 + 9 + 1 are split
}

TEST(RecordedInvariant, ACostIsThatOfTheProductAndItsPin) {
  const corpus::DecisionFile file = corpus::read_decisions(recorded({layer(4096, 4096)}), "x");
  RecordedInvariant result;
  result.layers = {recorded_layer(file, layer(4096, 4096)), recorded_layer(file, layer(4096, 8192))};
  const std::string other =
      "# bf16,nt,4096,4096,49,1,9,1\nbf16,nt,4096,4096,48,1,9,1\nbf16,nt,4096,8192,49,1,9,1\n";
  take_costs(result, other, "x");
  EXPECT_EQ(result.layers[0].cost, "");
  take_costs(result, other + "bf16,nt,4096,4096,49,2,3.5,2\nbf16,nt,4096,4096,49,64,8,16\n", "x");
  EXPECT_EQ(result.layers[0].cost, "0.50 (M = 64) to 1.75 (M = 2) times");
  EXPECT_EQ(result.layers[1].cost, "") << "a guess";
  for (const char* const bad : {"2", "2,3", "2,0,1", "2,1,nan", "2,x,1", "2,1,"})
    EXPECT_THROW(take_costs(result, std::string("bf16,nt,4096,4096,49,") + bad, "x"), InputError) << bad;
}

TEST(RecordedDecisions, OnlyLayersOfTheListCountAsItsOwn) {
  const corpus::DecisionFile file =
      corpus::read_decisions(recorded({layer(4096, 4096), layer(8, 8), layer(16, 8)}), "x");
  const std::vector<DecisionPass> passes = {{"mm", GemmApi::cublas, {layer(4096, 4096), layer(8, 64)}},
                                            {"mm", GemmApi::cublas, {layer(8, 8)}}};
  EXPECT_EQ(recorded_in_words(file, passes), "2 of 3 layers for M = 1 to 100, 1 others, " +
                                                 std::to_string(file.choices.size()) +
                                                 " choices; 1 are left");
}

TEST(RecordedDecisions, AnH200ChangesBitsWhereItsProductsDid) {
  // docs/results/gemm.md, "Batch invariance": every M ran there, and rows of D were compared.
  const std::string path = MMAUDIT_TEST_DECISIONS "/h200-cublas-13.1.jsonl.zst";
  const corpus::DecisionFile file = corpus::read_decisions(corpus::text_of_file(path), path);
  RecordedInvariant result;
  result.layers = {recorded_layer(file, layer(4096, 4096))};
  EXPECT_EQ(result.layers.front().source, "recorded");
  EXPECT_EQ(changes_of(result), (std::vector<std::uint64_t>{25, 32, 41, 48, 49}));
  std::size_t known = 0;
  for (std::size_t i = 0; i < file.layers.size(); i += 8)  // seconds: each has a thousand choices
    for (const RecordedRange& range : recorded_layer(file, file.layers[i].layer).ranges) {
      EXPECT_TRUE(range.known) << name_of(file.layers[i].layer) << " " << range.first << " " << range.plan;
      ++known;
    }
  EXPECT_GT(known, 100U);
}

TEST(NetworkLayers, AreThoseOfTheirPapers) {
  const std::string file = MMAUDIT_TEST_NETWORKS "/configs.jsonl";
  const auto networks = corpus::read_known_networks(corpus::text_of_file(file), file);
  EXPECT_GT(networks.size(), 30U);
  // Shapes of weights in the checkpoints' indices: (out, in).
  const std::map<std::string, std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>> expected = {
      {"Llama 3.1 8B",
       {{"k_proj", {1024, 4096}},
        {"qkv_proj", {6144, 4096}},
        {"down_proj", {4096, 14336}},
        {"lm_head", {128256, 4096}}}},
      {"DeepSeek-V3",
       {{"q_b_proj", {24576, 1536}},
        {"kv_a_proj_with_mqa", {576, 7168}},
        {"kv_b_proj", {32768, 512}},
        {"o_proj", {7168, 16384}},
        {"experts.gate_proj", {2048, 7168}}}},
      {"GPT-2", {{"attn.c_attn", {2304, 768}}, {"mlp.c_proj", {768, 3072}}, {"lm_head", {50257, 768}}}},
      {"gpt-oss 20B",
       {{"q_proj", {4096, 2880}}, {"o_proj", {2880, 4096}}, {"experts.gate_up_proj", {5760, 2880}}}},
      {"Qwen3 32B", {{"q_proj", {8192, 5120}}, {"o_proj", {5120, 8192}}}}};
  std::size_t met = 0;
  for (const corpus::KnownNetwork& network : networks) {
    EXPECT_FALSE(network.source.empty());
    const auto wanted = expected.find(network.model);
    if (wanted == expected.end()) continue;
    for (const auto& each_wanted : wanted->second) {
      const std::string& name = each_wanted.first;
      const auto& shape = each_wanted.second;
      const auto found = std::find_if(network.layers.begin(), network.layers.end(),
                                      [&](const corpus::NetworkLayer& each) { return each.name == name; });
      ASSERT_NE(found, network.layers.end()) << network.model << " " << name;
      EXPECT_EQ(std::pair(found->n, found->k), shape) << network.model << " " << name;
      ++met;
    }
  }
  EXPECT_EQ(met, 17U);
  EXPECT_THROW(corpus::network_layers(Json{{"model_type", "mamba"}}, "x"), InputError);
  EXPECT_THROW(corpus::network_layers(Json{{"model_type", "llama"}, {"hidden_size", 64}}, "x"), InputError);
}

TEST(NetworkLayers, EachProductIsAskedForOnce) {
  const std::string file = MMAUDIT_TEST_NETWORKS "/configs.jsonl";
  const auto passes = decision_passes(corpus::read_known_networks(corpus::text_of_file(file), file));
  std::vector<std::string> names;
  for (const DecisionPass& pass : passes)
    for (const GemmProblem& each : pass.layers) {
      EXPECT_EQ(each.api, pass.api);
      EXPECT_EQ(why_no_problem(each), "");
      names.push_back(name_of(each));
    }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(name_of(passes.front().layers.front()), "cublas bf16 -> bf16 nt 1 x 4096 x 4096");
}

}  // namespace
}  // namespace mmaudit::checks
