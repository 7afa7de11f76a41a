// mmaudit probe and mmaudit gemm reveal as a user types them, on functions that work, crash, hang and lie.
#include <nlohmann/json.hpp>

#include "mmaudit/corpus/user_model.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

const std::string kLibrary = MMAUDIT_FOREIGN_LIBRARY;
constexpr const char* kF16 = "mma.m16n8k8.f16.f16.f16.f16";
constexpr const char* kF64 = "mma.m8n8k4.f64.f64.f64.f64";

class ProbeCommand : public Folder {
 protected:
  static Outcome reveal(const std::string& function, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"-q", "gemm", "reveal", function, "--m",
                                          "8",  "--n",  "8",      "--k",    "32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static void refused(const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.code, kBadInput) << outcome.out;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(ProbeCommand, a_known_datapath_is_found_and_read_back) {
  const Outcome outcome = run({"-q", "probe", "--inst", kF16, "--arch", "turing", "--dots", "1000",
                               "--witnesses", "--out", path("m.json"), "--name", "mine"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* part : {"  F                     24\n", "Steps: k 0-7\n", "F 24, not 23: ", "Not decided"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << outcome.out;
  const auto model = corpus::load_model(path("m.json"));
  ASSERT_EQ(model->datapaths.size(), 1U);
  EXPECT_EQ(model->datapaths[0].datapath.fraction_bits, 24);
  EXPECT_EQ(model->architecture.name, "mine");
  EXPECT_EQ(run({"-q", "explain", "--inst", kF16, "--model", path("m.json"), "--a", "1", "--b", "1"}).code,
            kAllGood);
}

TEST_F(ProbeCommand, a_function_is_asked) {
  const Outcome outcome = run(
      {"-q", "probe", "--inst", kF64, "--library", kLibrary + ":fused_f64", "--dots", "1000", "--json", "-"});
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("schema"), "mmaudit.probe/1");
  for (const auto& claim : json.at("claims"))
    if (claim.at("rule") == "rounding") {
      EXPECT_EQ(claim.at("value"), "RNE");
    }
}

TEST_F(ProbeCommand, a_product_without_a_plan_shows_its_tree) {
  const Outcome outcome = reveal(kLibrary + ":clears_a_bit", {"--type", "f32"});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.err;
  EXPECT_NE(outcome.out.find("k 0-31: 31 parts, added in ascending order"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("  plan             none: "), std::string::npos) << outcome.out;
}

TEST_F(ProbeCommand, products_rounded_one_by_one_are_as_many_lanes) {
  const Outcome outcome = reveal(kLibrary + ":rounds_products", {"--type", "f32"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("  C                the function is given none\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("  plan             any fma of f32 and f32, scalar, lanes 32\n"),
            std::string::npos)
      << outcome.out;
}

TEST_F(ProbeCommand, the_place_of_c_and_its_factor_are_printed) {
  const Outcome outcome = reveal(kLibrary + ":adds_half_of_c", {"--type", "f32", "--with-c"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* const part : {"  C                      added last, to the finished sum\n",
                                 "  factors                alpha 1, beta 0.5\n",
                                 "  random products and C  896 elements compared, 0 mismatches"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
}

TEST_F(ProbeCommand, a_chain_of_fused_multiply_adds_is_named_and_so_are_the_units_of_its_bits) {
  const Outcome outcome = reveal(kLibrary + ":good", {"--type", "f32"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("  plan             any fma of f32 and f32, scalar\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("  same bits        cdna1 v_mfma_f32_32x32x1f32\n"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("is no result"), std::string::npos);
}

TEST_F(ProbeCommand, bad_functions_are_one_line) {
  refused(reveal(kLibrary + ":says_seven"), "found return value 7 in a call with m 8, n 8, k 32");
  refused(reveal(kLibrary + ":aborts"), "found signal 6 (Aborted)");
  refused(reveal(kLibrary + ":exits"), "found exit code 5");
  refused(reveal(kLibrary + ":hangs", {"--timeout", "0.2"}), "found no answer within 0.2 s");
  refused(reveal(kLibrary + ":no_such"), "no_such");
  refused(reveal("./nowhere.so:good"), "nowhere.so");
  refused(reveal("good"), "allowed: LIBRARY:FUNCTION");
}

TEST_F(ProbeCommand, bad_commands_are_one_line) {
  const std::vector<std::string> gemm = {"-q", "gemm", "reveal"};
  const auto by = [&](std::vector<std::string> more) {
    more.insert(more.begin(), gemm.begin(), gemm.end());
    return run(more);
  };
  refused(by({}), "found none, allowed: one of LIBRARY:FUNCTION");
  refused(by({"--command", "exit 4"}), "found exit code 4 when it was loaded");
  refused(by({"--command", "cat", "--timeout", "0.2"}), "found no answer within 0.2 s");
  refused(by({"--command", "printf 'not eight zeros'"}), "allowed: a function");
  refused(by({"--socket", "0"}), "--socket: found 0, allowed: a socket");
  refused(reveal(kLibrary + ":good", {"--type", "s8"}), "--type: found s8, allowed: f64, f32");
  refused(by({kLibrary + ":good", "--m", "1000000", "--k", "1000000"}),
          "found a matrix of 1000000000000 elements");
  // The limit itself is accepted: what is refused then is the function.
  refused(by({"good", "--m", "1000", "--n", "1", "--k", "1000000"}), "allowed: LIBRARY:FUNCTION");
  refused(by({"good", "--m", "1", "--n", "500000001", "--k", "2"}),
          "found a matrix of 1000000002 elements, allowed: up to 1000000000");
  refused(run({"-q", "probe", "--inst", kF16, "--recording", path("none.safetensors")}), "none.safetensors");
  for (const char* const name : {"Mine", "hopper"})
    refused(run({"-q", "probe", "--inst", kF64, "--on", "model", "--out", path("m.json"), "--name", name}),
            "--name: found " + std::string(name) + ", allowed: ");
}

TEST_F(ProbeCommand, a_file_says_all_of_one_product) {
  const std::string product = R"({"type": "f16", "m": 64, "n": 64, "k": 64})";
  const std::string one = write("one.json", product + "\n");
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"--m", "8"},
                                                                                    {"--n", "8"},
                                                                                    {"--k", "8"},
                                                                                    {"--type", "bf16"},
                                                                                    {"--b", "f16"},
                                                                                    {"--d", "f32"},
                                                                                    {"--with-c"}}) {
    std::vector<std::string> arguments = {"-q", "gemm", "reveal", "--problem", one};
    arguments.insert(arguments.end(), more.begin(), more.end());
    refused(run(arguments), "--problem: found with " + more[0] + ", allowed: one of them");
  }
  const std::string two =
      write("two.json", product + "\n" + R"({"type": "f16", "m": 8, "n": 64, "k": 64})" + "\n");
  refused(run({"-q", "gemm", "reveal", "--problem", two}), "found 2 products, allowed: one");
}

}  // namespace
}  // namespace mmaudit::cli::test
