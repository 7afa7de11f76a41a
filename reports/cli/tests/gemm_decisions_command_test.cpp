// Recorded decisions as a user asks for them, where there is no GPU.
#include <vector>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class DecisionsCommand : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    // M = 1 sums two slices of K, M = 2 and 3 one chain.
    write(
        "gpu.jsonl",
        R"({"schema":"mmaudit.gemm.decisions/1","gpu":"NVIDIA H200","architecture":"hopper","library":"130100","first_m":1,"last_m":3})"
        "\n"
        R"({"choice":{"algorithm":{"split_k":2},"kernels":[{"name":"nvjet_sm90_hss_64x8_64x16_4x1_v_bz_splitK_TNT"},{"name":"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb0EfffLb1E"}]}})"
        "\n"
        R"({"choice":{"algorithm":{"split_k":1},"kernels":[{"name":"nvjet_sm90_hss_64x8_64x16_4x1_v_bz_TNT"}]}})"
        "\n"
        R"({"layer":{"api":"cublas","type":"f16","d":"f32","n":8,"k":128,"layout":"nt"},"starts":"1:0 2:1"})"
        "\n"
        R"({"layer":{"api":"cublas","type":"f16","d":"f16","n":8,"k":8,"layout":"nt"},"starts":"1:1"})");
  }
  Outcome predict(std::uint64_t m, std::uint64_t n) {
    std::vector<std::uint16_t> a(m * 128), b(128 * n);
    for (std::uint64_t i = 0; i < m; ++i) {
      a[i * 128] = 0x3C00;       // 1
      a[i * 128 + 64] = 0x0E00;  // 1.5 * 2^-12
    }
    for (std::uint64_t j = 0; j < n; ++j) {
      b[j] = 0x3C00;
      b[64 * n + j] = 0x0C00;  // 2^-12
    }
    corpus::write_npy(path("a.npy"),
                      corpus::make_tensor<std::uint16_t>("a", corpus::DType::f16, {m, 128}, a));
    corpus::write_npy(path("b.npy"),
                      corpus::make_tensor<std::uint16_t>("b", corpus::DType::f16, {128, n}, b));
    write("problem.json", R"({"api":"cublas","type":"f16","d":"f32","layout":"nt","k":128,"m":)" +
                              std::to_string(m) + R"(,"n":)" + std::to_string(n) + "}");
    return run({"gemm", "predict", "--problem", path("problem.json"), "--like", path("gpu.jsonl"), "--a",
                path("a.npy"), "--b", path("b.npy"), "--out", path("d.npy")});
  }
  [[nodiscard]] std::uint32_t d() const { return corpus::load_tensor(path("d.npy")).as<std::uint32_t>()[0]; }
};

TEST_F(DecisionsCommand, MDecidesTheBits) {
  // 1 + 1.5 * 2^-24: Hopper's chain rounds toward zero, the add of two slices to nearest even.
  const Outcome split = predict(1, 8);
  ASSERT_EQ(split.code, kAllGood) << split.err;
  EXPECT_EQ(d(), 0x3F800001U);
  EXPECT_NE(split.out.find("slices 2"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("; recorded on NVIDIA H200, cuBLAS 130100"), std::string::npos) << split.out;
  const Outcome chain = predict(2, 8);
  ASSERT_EQ(chain.code, kAllGood) << chain.err;
  EXPECT_EQ(d(), 0x3F800000U);
}

TEST_F(DecisionsCommand, AnotherLayerIsAGuessAndSaysSo) {
  const Outcome guess = predict(1, 24);
  ASSERT_EQ(guess.code, kAllGood) << guess.err;
  EXPECT_NE(guess.out.find("nearest, a guess: N 8 K 128"), std::string::npos) << guess.out;
  const Outcome beyond = predict(4, 8);
  EXPECT_EQ(beyond.code, kBadInput);
  EXPECT_NE(beyond.err.find("M = 4 was not recorded, M = 1 to 3 were"), std::string::npos) << beyond.err;
}

TEST_F(DecisionsCommand, PlansSayHowEachIsKnown) {
  write("problems.jsonl", R"({"api":"cublas","type":"f16","d":"f32","layout":"nt","m":1,"n":8,"k":128})"
                          "\n"
                          R"({"api":"cublas","type":"f16","d":"f32","layout":"nt","m":3,"n":24,"k":128})"
                          "\n"
                          R"({"api":"cublas","type":"bf16","layout":"nt","m":3,"n":24,"k":128})");
  const Outcome plans =
      run({"gemm", "plans", "--problems", path("problems.jsonl"), "--like", path("gpu.jsonl")});
  EXPECT_EQ(plans.code, kAllGood) << plans.err;
  EXPECT_NE(plans.out.find("2 of 3 products have a known plan; 1 recorded, 1 guessed from the nearest layer"),
            std::string::npos)
      << plans.out;
  EXPECT_EQ(plans.out.find("wrong"), std::string::npos) << "nothing was compared: " << plans.out;
}

TEST_F(DecisionsCommand, ANetworkIsAskedAsAWhole) {
  // Of BERT with 8 hidden units every layer has a bias: cuBLASLt is asked, which was not recorded.
  write("config.json",
        R"({"model_type":"bert","hidden_size":8,"num_attention_heads":1,"intermediate_size":16})");
  const Outcome none = run(
      {"gemm", "invariant", "--model", path("config.json"), "--type", "f16", "--like", path("gpu.jsonl")});
  EXPECT_EQ(none.code, kMismatch) << none.out;
  EXPECT_NE(none.out.find("No layer was recorded, nor one near it"), std::string::npos) << none.out;
  write(
      "config.json",
      R"({"model_type":"llama","hidden_size":8,"num_attention_heads":1,"intermediate_size":8,"vocab_size":8})");
  const Outcome all = run({"gemm", "invariant", "--model", path(""), "--type", "f16", "--like",
                           path("gpu.jsonl"), "--html", path("page.html"), "--svg", path("page.svg")});
  EXPECT_EQ(all.code, kAllGood) << all.err;
  EXPECT_NE(all.out.find("A row of D keeps its bits over M = 1 to 3"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("q_proj, k_proj, o_proj, gate_proj, down_proj, lm_head"), std::string::npos)
      << all.out;
  const Outcome layer = run({"gemm", "invariant", "--type", "f16", "--n", "8", "--k", "8", "--like",
                             path("gpu.jsonl"), "--pin", "2"});
  EXPECT_EQ(layer.code, kBadInput);
  EXPECT_NE(layer.err.find("--pin, --m, --workspace: found with --like, allowed: without"), std::string::npos)
      << layer.err;
}

TEST_F(DecisionsCommand, AResultOfAnotherTypeIsNotCompared) {
  const std::vector<std::uint16_t> ones(4, 0x3C00), two(2, 0x4000);
  corpus::write_npy(path("x.npy"), corpus::make_tensor<std::uint16_t>("x", corpus::DType::f16, {2, 2}, ones));
  corpus::write_npy(path("y.npy"), corpus::make_tensor<std::uint16_t>("y", corpus::DType::i16, {2}, two));
  const Outcome bits = run({"collective", "compare", "--x", path("x.npy"), "--y", path("y.npy")});
  EXPECT_EQ(bits.code, kBadInput) << bits.out;
  EXPECT_NE(bits.err.find("--y: found 2 elements of none, allowed: 2 of f16"), std::string::npos) << bits.err;
}

TEST_F(DecisionsCommand, WhatIsLackingIsOneLine) {
  EXPECT_NE(run({"gemm", "plans", "--problems", path("gpu.jsonl"), "--like", "h300"}).code, kAllGood);
  for (const auto& [arguments, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"gemm", "invariant", "--n", "8", "--k", "8", "--like", "h300"}, "--like: found h300, allowed: "},
           {{"gemm", "invariant"}, "--n and --k, --model: found neither, allowed: one of them"},
           {{"gemm", "invariant", "--n", "8", "--k", "8", "--type", "e4m3", "--bias", "--like",
             path("gpu.jsonl")},
            "--bias: found with e4m3, allowed: without"},
           {{"gemm", "invariant", "--model", path("x"), "--n", "8"}, "--n and --k, --model: found both"},
           {{"gemm", "invariant", "--model", path("x")}, "allowed: with --like"},
           {{"gemm", "decisions", "--check", path("x"), "--record", path("y")},
            "--record, --check: found both, allowed: one of them"},
           {{"gemm", "decisions", "--check", path("gpu.jsonl"), "--budget", "soon"},
            "--budget: found soon, allowed: a time"}}) {
    const Outcome found = run(arguments);
    EXPECT_EQ(found.code, kBadInput) << says;
    EXPECT_NE(found.err.find(says), std::string::npos) << found.err;
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
