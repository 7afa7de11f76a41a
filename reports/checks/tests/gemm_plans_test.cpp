// The recorded samples of every plan, replayed without a GPU; a plan with one wrong field is told apart.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "gemm/compare.hpp"
#include "gemm/samples.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/library_log.hpp"

namespace mmaudit::checks {
namespace {

std::vector<corpus::GemmSample> recorded() {
  std::vector<corpus::GemmSample> out;
  for (const auto& file : std::filesystem::directory_iterator(MMAUDIT_TEST_PLANS)) {
    const std::string name = file.path().filename().string();
    auto more = corpus::read_gemm_samples(corpus::text_of_file(file.path()), name);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

/// Of the GPU that corpus/plans was recorded on.
const Architecture& hopper() { return *find_architecture("hopper"); }

TEST(GemmPlans, every_sample_is_predicted) {
  std::uint64_t elements = 0;
  for (const corpus::GemmSample& sample : recorded()) {
    const SampleOutcome found = check_sample(hopper(), sample);
    ASSERT_TRUE(found.plan) << name_of(sample.problem) << ": " << found.why;
    EXPECT_EQ(found.wrong, 0U) << name_of(sample.problem) << ": " << text_of(*found.plan);
    elements += found.elements;
  }
  EXPECT_GT(elements, 1000U);
}

TEST(GemmPlans, every_family_has_samples_of_its_types_or_says_which_lack_one) {
  std::set<std::pair<std::string_view, std::string_view>> sampled;
  for (const corpus::GemmSample& sample : recorded()) {
    const KernelFamily* const family = find_kernel_family(sample.problem, sample.call.kernels.front().name);
    ASSERT_NE(family, nullptr);
    sampled.emplace(family->name, name_of(sample.problem.type));
  }
  const auto words = [](std::string_view text) {
    std::istringstream in{std::string(text)};
    return std::set<std::string>(std::istream_iterator<std::string>(in), {});
  };
  for (const KernelFamily& family : kernel_families()) {
    const std::set<std::string> unsampled = words(family.unsampled);
    for (const std::string& type : words(family.types))
      EXPECT_EQ(sampled.count({family.name, type}) == 0, unsampled.count(type) != 0)
          << family.name << ": " << type;
    for (const std::string& type : unsampled) EXPECT_EQ(words(family.types).count(type), 1U) << family.name;
  }
}

/// Samples that a changed plan gives other bits for, of those that the change applies to.
struct Told {
  int apply = 0, differ = 0;
};
Told told_by(const std::function<bool(GemmPlan&)>& change) {
  Told out;
  for (const corpus::GemmSample& sample : recorded()) {
    const std::optional<GemmPlan> plan = plan_of(sample.problem, sample.call);
    GemmPlan wrong = plan.value_or(GemmPlan{});
    if (!plan || sample.problem.type == Format::s8 || !change(wrong)) continue;
    ++out.apply;
    if (wrong.output != output_of(sample.problem)) {
      EXPECT_THROW(predicted_bits(hopper(), sample, wrong), InputError);
      ++out.differ;
      continue;
    }
    const auto bits = predicted_bits(hopper(), sample, wrong);
    out.differ += bits != sample.d ? 1 : 0;
  }
  return out;
}

/// The names of the fields of a plan.
struct FieldNames {
  std::set<std::string> of_fields;
  void instruction(std::string_view name, const Instruction& /*value*/) { of_fields.emplace(name); }
  void boolean(std::string_view name, bool /*value*/) { of_fields.emplace(name); }
  void count(std::string_view name, std::uint64_t /*value*/, std::uint64_t /*least*/) {
    of_fields.emplace(name);
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&/*names*/)[Count], Enum /*value*/) {
    of_fields.emplace(name);
  }
  void format(std::string_view name, Format /*value*/) { of_fields.emplace(name); }
};

TEST(GemmPlans, a_wrong_field_turns_samples_red) {
  // Every field of a plan by its name in files; each change says whether it applies.
  const std::vector<std::pair<std::string, std::function<bool(GemmPlan&)>>> changes = {
      {"instruction",
       [](GemmPlan& plan) {
         const bool applies = name_of(plan.instruction) == "mma.m16n8k16.f32.f16.f16.f32";
         plan.instruction = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
         return applies;
       }},
      {"scalar",
       [](GemmPlan& plan) {
         const bool applies = !plan.scalar && plan.head_tile == 0 && plan.instruction.a == Format::bf16;
         plan.scalar = true;
         return applies;
       }},
      {"running",
       [](GemmPlan& plan) {
         const bool applies = plan.scalar && plan.instruction.a == Format::f16;
         plan.running = Format::f16;
         return applies;
       }},
      {"slice_rule",
       [](GemmPlan& plan) {
         const bool applies = plan.slice_rule == SliceRule::cyclic;
         plan.slice_rule = SliceRule::even;
         return applies;
       }},
      {"partial",
       [](GemmPlan& plan) {
         const bool applies = plan.partial != Format::f32;
         plan.partial = Format::f32;
         return applies;
       }},
      {"output",
       [](GemmPlan& plan) {
         const bool applies = plan.output != Format::f32 && plan.output != Format::f64;
         plan.output = Format::f32;
         return applies;
       }},
      {"tile_k", [](GemmPlan& plan) { return plan.slices > 1 && !plan.scalar && (plan.tile_k *= 2) != 0; }},
      {"slices", [](GemmPlan& plan) { return plan.slices > 1 && !plan.scalar && ++plan.slices != 0; }},
      {"lanes", [](GemmPlan& plan) { return plan.lanes > 1 && (plan.lanes *= 2) != 0; }},
      {"lane_tile", [](GemmPlan& plan) { return plan.lanes > 1 && ++plan.lane_tile != 0; }},
      {"lane_order",
       [](GemmPlan& plan) {
         const bool applies = plan.lane_order == SliceOrder::halved;
         plan.lane_order = SliceOrder::ascending;
         return applies;
       }},
      {"slice_order",
       [](GemmPlan& plan) {
         if (plan.slices < 3) return false;
         plan.slice_order =
             plan.slice_order == SliceOrder::ascending ? SliceOrder::descending : SliceOrder::ascending;
         return true;
       }},
      {"promote", [](GemmPlan& plan) { return plan.promote > 64 && (plan.promote /= 2) != 0; }},
      {"head_tile", [](GemmPlan& plan) { return plan.head_tile != 0 && (plan.head_tile = 0) == 0; }},
      {"input",
       [](GemmPlan& plan) {
         const bool applies = plan.input == InputRounding::nearest_even;
         plan.input = InputRounding::nearest_away;
         return applies;
       }},
      {"total",
       [](GemmPlan& plan) {
         const bool applies = plan.total != Format::f32;
         plan.total = Format::f32;
         return applies;
       }},
      {"epilogue",
       [](GemmPlan& plan) {
         const bool applies = plan.epilogue != EpilogueRule::fused_sum;
         plan.epilogue = EpilogueRule::fused_sum;
         return applies;
       }},
      {"before_bias",
       [](GemmPlan& plan) {
         const bool applies = plan.before_bias != Format::f32;
         plan.before_bias = Format::f32;
         return applies;
       }},
      {"gelu", [](GemmPlan& plan) {
         const bool applies = plan.gelu == GeluRule::factored;
         plan.gelu = GeluRule::fused;
         return applies;
       }}};
  FieldNames fields;
  GemmPlan any;
  for_each_field(any, fields);
  for (const auto& [name, change] : changes) {
    EXPECT_EQ(fields.of_fields.erase(name), 1U) << name;
    const Told told = told_by(change);
    EXPECT_GT(told.apply, 0) << name;
    EXPECT_GT(told.differ, 0) << name << " of " << told.apply;
  }
  // The library adds no C elsewhere: reveal_test has functions that do.
  EXPECT_EQ(fields.of_fields, (std::set<std::string>{"c_place"})) << "fields that no planted error is in";
}

TEST(GemmPlans, json_says_the_same_plan) {
  for (const corpus::GemmSample& sample : recorded()) {
    const std::optional<GemmPlan> plan = plan_of(sample.problem, sample.call);
    ASSERT_TRUE(plan);
    EXPECT_EQ(text_of(corpus::gemm_plan_of(corpus::to_json(*plan), "plan")), text_of(*plan));
    EXPECT_EQ(gemm_plan_in(text_of(*plan)), plan) << text_of(*plan);
    EXPECT_EQ(corpus::gemm_problem_of(corpus::to_json(sample.problem), "problem").k, sample.problem.k);
    EXPECT_EQ(corpus::library_call_of(corpus::to_json(sample.call), "call"), sample.call);
  }
}

TEST(GemmPlans, problems_are_read_from_json_and_from_a_log) {
  const auto of_json = corpus::read_gemm_problems(
      R"({"type": "bf16", "d": "f32", "m": 3, "n": 40, "k": 16, "layout": "nt", "fast_accum": false})", "x");
  ASSERT_EQ(of_json.size(), 1U);
  EXPECT_EQ(name_of(of_json[0]), "cublaslt bf16 -> f32 nt 3 x 40 x 16");
  const auto third =
      corpus::read_gemm_problems(R"({"type": "bf16", "m": 3, "n": 40, "k": 16, "algorithm": 2})", "x");
  EXPECT_EQ(name_of(third[0]), "cublaslt bf16 -> bf16 nn 3 x 40 x 16 algorithm 2");
  EXPECT_EQ(name_of(corpus::gemm_problem_of(corpus::to_json(third[0]), "x")), name_of(third[0]));
  const auto finished = corpus::read_gemm_problems(
      R"({"type": "e4m3", "m": 16, "n": 32, "k": 16, "layout": "nt", "alpha": 0.3, "beta": -1.25,)"
      R"( "scale_a": 0.1, "scale_b": 2, "bias": true, "activation": "relu"})",
      "x");
  EXPECT_EQ(name_of(finished[0]),
            "cublaslt e4m3 -> bf16 nt 16 x 32 x 16 alpha 0.3 beta -1.25 scale_a 0.1 scale_b 2 bias relu");
  EXPECT_EQ(name_of(corpus::gemm_problem_of(corpus::to_json(finished[0]), "x")), name_of(finished[0]));
  const auto batch = corpus::read_gemm_problems(
      R"({"type": "f64", "m": 3, "n": 40, "k": 16, "batch": 4, "stride_a": 0, "stride_b": 700, "alpha": 0.1})",
      "x");
  EXPECT_EQ(name_of(batch[0]),
            "cublaslt f64 -> f64 nn 3 x 40 x 16 batch 4 stride_a 0 stride_b 700 alpha 0.1");
  EXPECT_EQ(batch[0].alpha, 0.1);  // binary64; of other types what the library reads
  EXPECT_EQ(finished[0].alpha, static_cast<double>(0.3F));
  EXPECT_EQ(name_of(corpus::gemm_problem_of(corpus::to_json(batch[0]), "x")), name_of(batch[0]));
  const char* const log =
      "[2026][cublasLt][1][Trace][cublasLtSSSMatmul] A=0X7 Adesc=[type=R_32F rows=256 cols=8192 ld=264] "
      "B=0X7 "
      "Bdesc=[type=R_32F rows=256 cols=4096 ld=256] C=0X7 Cdesc=[type=R_32F rows=8192 cols=4096 ld=8200] "
      "D=0X7 "
      "Ddesc=[type=R_32F rows=8192 cols=4096 ld=8200] computeDesc=[computeType=COMPUTE_32F_FAST_TF32 "
      "scaleType=R_32F "
      "transa=OP_T smCountTarget=132] algo=[algoId=43 reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE "
      "numSplitsK=-1]\n";
  const auto of_log = corpus::read_gemm_problems(std::string(log) + log, "x");
  ASSERT_EQ(of_log.size(), 1U);
  EXPECT_EQ(name_of(of_log[0]), "cublas tf32 -> f32 nt 4096 x 8192 x 256 ldb 264 ldd 8200");
  std::string plain = log;
  plain.replace(plain.find("_FAST_TF32"), 10, "");
  EXPECT_EQ(name_of(corpus::read_gemm_problems(plain, "x")[0]),
            "cublas f32 -> f32 nt 4096 x 8192 x 256 ldb 264 ldd 8200");
  // As cuBLAS 13.1 logs a batch.
  std::string batched =
      "[2026][cublasLt][1][Trace][cublasLtBBBMatmul] A=0X7 Adesc=[type=R_16BF rows=464 cols=232 ld=464 "
      "batchCount=8 stridedBatchOffset=107648] B=0X7 Bdesc=[type=R_16BF rows=464 cols=280 ld=464 "
      "batchCount=8 "
      "stridedBatchOffset=0] C=0X7 Cdesc=[type=R_16BF rows=232 cols=280 ld=232 batchCount=8 "
      "stridedBatchOffset=70000] D=0X7 Ddesc=[type=R_16BF rows=232 cols=280 ld=232 batchCount=8 "
      "stridedBatchOffset=70000] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T "
      "smCountTarget=132] algo=[algoId=66]";
  EXPECT_EQ(name_of(corpus::read_gemm_problems(batched, "x")[0]),
            "cublas bf16 -> bf16 nt 280 x 232 x 464 batch 8 stride_a 0 stride_d 70000");
  for (std::size_t at = 0; (at = batched.find("R_16BF", at)) != std::string::npos;)
    batched.replace(at, 6, "R_64F");
  EXPECT_EQ(corpus::read_gemm_problems(batched, "x")[0].type, Format::f64);
  const auto algorithm = algorithm_of_log(log);
  EXPECT_EQ(algorithm, (std::vector<std::pair<std::string, std::int64_t>>{
                           {"id", 43}, {"split_k", -1}, {"reduction", 2}, {"custom", 0}}));
}

std::string traced(const std::string& compute, const std::string& type = "R_16BF") {
  return "[2026][cublasLt][1][Trace][cublasLtMatmul] A=0X7 Adesc=[type=" + type +
         " rows=64 cols=32 ld=64] B=0X7 Bdesc=[type=R_16BF rows=64 cols=16 ld=64] C=0X7 Cdesc=[type=R_16BF "
         "rows=32 cols=16 ld=32] D=0X7 Ddesc=[type=R_16BF rows=32 cols=16 ld=32] "
         "computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T" +
         compute + "] algo=[algoId=66]\n";
}

TEST(GemmPlans, an_epilogue_of_a_log_is_the_problems) {
  const std::string plain = "cublaslt bf16 -> bf16 nt 16 x 32 x 64";
  const std::pair<const char*, const char*> all[] = {{"", ""},
                                                     {" epilogue=EPILOGUE_DEFAULT", ""},
                                                     {" epilogue=EPILOGUE_BIAS biasPointer=0x7", " bias"},
                                                     {" epilogue=EPILOGUE_RELU", " relu"},
                                                     {" epilogue=EPILOGUE_RELU_BIAS", " bias relu"},
                                                     {" epilogue=EPILOGUE_GELU", " gelu"},
                                                     {" epilogue=EPILOGUE_GELU_BIAS", " bias gelu"}};
  for (const auto& [epilogue, what] : all) {
    std::string left_out = "?";
    const auto found = corpus::read_gemm_problems(traced(epilogue), "x", &left_out);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(name_of(found[0]), plain + what);
    EXPECT_EQ(left_out, "");
  }
}

TEST(GemmPlans, products_of_a_log_that_no_problem_says_are_counted) {
  const std::string aux = traced(" epilogue=EPILOGUE_GELU_AUX_BIAS");
  std::string left_out;
  const auto found =
      corpus::read_gemm_problems("[2026][cublasLt][1][Api][cublasLtCreate] handle=0X7\n" + aux + traced("") +
                                     aux + traced("", "R_4F_E2M1") + traced("", "R_16F"),
                                 "x", &left_out);
  ASSERT_EQ(found.size(), 1U);
  const std::string why =
      "epilogue: found EPILOGUE_GELU_AUX_BIAS, allowed: EPILOGUE_DEFAULT, EPILOGUE_BIAS, EPILOGUE_RELU, "
      "EPILOGUE_RELU_BIAS, EPILOGUE_GELU, EPILOGUE_GELU_BIAS";
  EXPECT_EQ(left_out, "x: 4 products of the log left out, first line 2: " + why);
  const auto first = [](const std::string& line) {
    std::string counted;
    corpus::read_gemm_problems(traced("") + line, "x", &counted);
    return counted;
  };
  const std::string one = "x: 1 product of the log left out, first line 2: ";
  EXPECT_EQ(
      first(traced("", "R_4F_E2M1")),
      one + "type: found R_4F_E2M1, allowed: R_16F, R_16BF, R_32F, R_64F, R_8F_E4M3, R_8F_E5M2, R_8I, R_32I");
  EXPECT_EQ(first(traced("", "R_16F")),
            one + "types of B and A: found bf16 and f16, allowed: the same, or e5m2 and e4m3");
  EXPECT_EQ(first("[2026][cublasLt][1][Trace][cublasLtMatmul] A=0X7\n"),
            one + "found a part of a line, allowed: Adesc, Bdesc, Ddesc, computeDesc");
  try {
    corpus::read_gemm_problems(aux, "x");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "x: 1 product of the log left out, first line 1: " + why + "; no product is left");
  }
}

TEST(GemmPlans, a_bad_call_or_plan_is_one_line) {
  const auto refusal = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto grid = [&](const char* value) {
    const auto call = parse_json(R"({"kernels": [{"name": "x", "grid": )" + std::string(value) + "}]}");
    return refusal([&] { corpus::library_call_of(call, "c"); });
  };
  const std::string allowed = ", allowed: up to 3 integers from 0";
  EXPECT_EQ(grid("[1, 2, 3]"), "accepted");
  EXPECT_EQ(grid("[-1]"), "c: grid: found -1" + allowed);
  EXPECT_EQ(grid("[1, 1, 1, 1]"), "c: grid: found 4 entries" + allowed);
  EXPECT_EQ(grid("7"), "c: grid: found 7" + allowed);
  EXPECT_EQ(grid("[\"a\"]"), "c: grid: found \"a\"" + allowed);
  const auto both = parse_json(R"({"scalar": true, "instruction": "mma.m16n8k16.f32.f16.f16.f32"})");
  EXPECT_EQ(refusal([&] { corpus::gemm_plan_of(both, "p"); }),
            "p: instruction: found mma.m16n8k16.f32.f16.f16.f32 beside scalar, allowed: one of both");
}

TEST(GemmPlans, bad_input_is_one_line) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      corpus::read_gemm_problems(text, "f");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(""), "f: found no product, allowed: JSON lines, or a log of CUBLASLT_LOG_LEVEL=5");
  for (const char* const list : {R"([{"type": "bf16", "m": 1, "n": 1, "k": 1}])", "[", "  [ ]"})
    EXPECT_EQ(refusal(list),
              "f: line 1: found a list, allowed: one object per line, or a log of CUBLASLT_LOG_LEVEL=5");
  EXPECT_EQ(refusal(R"({"type": "b16", "m": 1, "n": 1, "k": 1})"),
            "f: line 1: type: found b16, allowed: bf16?");
  EXPECT_EQ(refusal(R"({"type": "nonsense", "m": 1, "n": 1, "k": 1})"),
            "f: line 1: type: found nonsense, allowed: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 0, "n": 1, "k": 1})"),
            "f: line 1: m: found 0, allowed: 1 to 2147483647");
  EXPECT_EQ(refusal(R"({"type": "e4m3", "m": 16, "n": 16, "k": 16})"),
            "f: line 1: layout: found nn, allowed: nt with FP8");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 1, "n": 1, "k": 1, "api": "cublas", "algorithm": 1})"),
            "f: line 1: algorithm: found 1, allowed: 0 to 63 with cublaslt, 0 with cublas");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 1, "n": 1, "k": 1, "api": "cublas", "bias": true})"),
            "f: line 1: bias, activation: found some, allowed: none with cublas");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 1, "n": 1, "k": 1, "scale_a": 2})"),
            "f: line 1: scale_a, scale_b: found others, allowed: 1 but with FP8");
  for (const char* const type : {"nvfp4", "mxf8"})
    EXPECT_EQ(refusal((R"({"type": ")" + std::string(type) + R"(", "m": 64, "n": 64, "k": 64})").c_str()),
              "f: line 1: type: found " + std::string(type) +
                  ", allowed: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8 (cuBLASLt has scales of blocks on "
                  "Blackwell alone, and no kernel of that was recorded)");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "batch": 0})"),
            "f: line 1: batch: found 0, allowed: an integer from 1");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "batch": 2, "stride_a": 15})"),
            "f: line 1: stride_a: found 15, allowed: 0 (one matrix for all) or from 16 on");
  for (const char* const field : {"stride_a", "stride_b", "stride_d"})  // without a gap
    EXPECT_EQ(refusal((R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "batch": 2, ")" + std::string(field) +
                       R"(": 16})")
                          .c_str()),
              "accepted");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "batch": 2, "stride_d": 0})"),
            "f: line 1: stride_d: found 0, allowed: from 16 on");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "stride_b": 99})"),
            "f: line 1: stride_b: found 99, allowed: none without a batch");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 4, "n": 4, "k": 4, "alpha": 1e39})"),
            "f: line 1: alpha: found inf, allowed: a finite binary32 number");
  EXPECT_EQ(refusal(R"({"type": "f64", "d": "f32", "m": 4, "n": 4, "k": 4})"),
            "f: line 1: d: found f32, allowed: f64");
  EXPECT_EQ(refusal(R"({"type": "s8", "m": 4, "n": 4, "k": 4, "alpha": 2})"),
            "f: line 1: alpha, beta, bias, activation: found others, allowed: 1, 0, none with s8");
  EXPECT_EQ(refusal(R"({"type": "bf16", "m": 1, "n": 1, "k": 1, "layuot": "nn"})"),
            "f: line 1: found layuot, allowed: layout?");
}

TEST(GemmPlans, a_name_that_ends_inside_a_tile_has_no_plan) {  // and is not read beyond its end
  GemmProblem problem;
  problem.type = Format::f64;
  problem.m = problem.n = problem.k = 64;
  LibraryCall call;
  call.algorithm = {{"split_k", 3}};
  call.kernels.resize(2);
  for (const char* const tile : {"", "32", "32x", "32x32", "32x32x", "32x32x32"}) {
    call.kernels[0].name = call.kernels[1].name =
        "sm90_xmma_gemm_f64f64_f64f64_f64_tensor16x8x16_tilesize" + std::string(tile);
    EXPECT_EQ(plan_of(problem, call).has_value(), std::string_view(tile) == "32x32x32") << tile;
  }
}

TEST(GemmPlans, kernels_that_were_not_recorded_together_have_no_plan) {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 1024;
  const std::string chain = "nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_TNT",
                    split = "nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_splitK_TNT",
                    reduce = "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half>";
  struct Case {
    std::int64_t split_k;
    std::vector<std::string> kernels;
    bool known;
  };
  for (const Case& one : {Case{1, {chain}, true}, Case{3, {split, reduce}, true},
                          // a name that says slices, without their number, and without what adds them
                          Case{1, {split, reduce}, false}, Case{-1, {split, reduce}, false},
                          Case{1, {split}, false}, Case{3, {split}, false},
                          // a second or third kernel that does something else
                          Case{1, {chain, "another"}, false}, Case{3, {split, "another"}, false},
                          Case{3, {split, reduce, "another"}, false}, Case{1, {chain, reduce}, false}}) {
    LibraryCall call;
    call.algorithm = {{"split_k", one.split_k}};
    for (const std::string& name : one.kernels) call.kernels.emplace_back().name = name;
    std::string why;
    EXPECT_EQ(plan_of(problem, call, &why).has_value(), one.known)
        << one.split_k << " " << one.kernels.back() << ": " << why;
  }
  LibraryCall call;
  call.kernels.resize(2);
  call.kernels[0].name = chain;
  call.kernels[1].name = "another";
  std::string why;
  EXPECT_FALSE(plan_of(problem, call, &why));
  EXPECT_EQ(why, "no plan for the kernel " + chain + " with another behind it");
}

/// A mangled name as the C++ library prints it; the profiler cut some of them inside their parameters.
std::string demangled(const std::string& name) {
  for (const std::string& text : {name, name.substr(0, name.find("EEv") + 3) + "v"}) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> found(
        abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
    if (found != nullptr) return found.get();
  }
  return name;
}
/// As Nsight prints it.
std::string with_casts(const std::string& name) {
  std::string out = std::regex_replace(name, std::regex("([<, ])([0-9]+)(?=[,>])"), "$1(int)$2");
  out = std::regex_replace(out, std::regex("([<, ])false(?=[,>])"), "$1(bool)0");
  return std::regex_replace(out, std::regex("([<, ])true(?=[,>])"), "$1(bool)1");
}

TEST(GemmPlans, names_in_every_spelling_mean_the_same_plan) {
  std::size_t respelled = 0, mangled = 0;
  for (const corpus::GemmSample& sample : recorded()) {
    const std::string expected = text_of(plan_of(sample.problem, sample.call).value());
    LibraryCall declared = sample.call, cast = sample.call;
    for (std::size_t i = 0; i < declared.kernels.size(); ++i) {
      const std::string& name = sample.call.kernels[i].name;
      declared.kernels[i].name = demangled(name);
      cast.kernels[i].name = with_casts(declared.kernels[i].name);
      mangled += name.substr(0, 2) == "_Z" ? 1 : 0;
      respelled += declared.kernels[i].name != name ? 1 : 0;
    }
    for (const LibraryCall* const call : {&declared, &cast}) {
      std::string why;
      const std::optional<GemmPlan> plan = plan_of(sample.problem, *call, &why);
      ASSERT_TRUE(plan) << why;
      EXPECT_EQ(text_of(*plan), expected) << call->kernels.back().name;
    }
  }
  EXPECT_LE(mangled - respelled, 8U) << "cut inside the type that they return";
  EXPECT_GT(respelled, 500U);
}

TEST(GemmPlans, a_name_that_cannot_be_read_has_no_plan) {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 1024;
  LibraryCall call;
  call.algorithm = {{"split_k", 4}};
  call.kernels.resize(2);
  call.kernels[0].name = "nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_splitK_TNT";
  for (const char* const name :
       {"splitKreduce_kernel", "cublasLt::splitKreduce_kernel<", "cublasLt::splitKreduce_kernel<>",
        "void cublasLt::splitKreduce_kernel<...>", "void cublasLt::splitKreduce_kernel<32, 16, int>",
        "void cublasLt::splitKreduce_kernel<32u, 16u, int, float>",
        "void cublasLt::splitKreduce_kernel<32, 16, int, __half2, float>",
        "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16, float>",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16E", "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Ei"}) {
    call.kernels[1].name = name;
    std::string why;
    EXPECT_FALSE(plan_of(problem, call, &why)) << name;
    EXPECT_EQ(why, "no plan for the kernel " + call.kernels[0].name +
                       " with split_k 4: the format of partial sums can't be read from " + name);
  }
  // The end of a name says whether sums are promoted or C joins a rounded sum.
  call.algorithm.clear();
  call.kernels.resize(1);
  for (const char* const name :
       {"nvjet_sm90_hsh_64x32_64x16_2x1_v_b", "nvjet_sm90_hsh_64x32_64x16_2x1_v_bz_TN",
        "cutlass_80_tensorop_s16816gemm_f16_64x64_",
        "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16>"}) {
    call.kernels[0].name = name;
    EXPECT_FALSE(plan_of(problem, call)) << name;
  }
}

TEST(GemmPlans, segments_beyond_those_recorded_have_no_plan) {
  GemmProblem problem;
  problem.type = Format::tf32;
  problem.m = problem.n = 128;
  problem.k = 12288;
  LibraryCall call;
  call.kernels.resize(1);
  call.kernels[0].name =
      "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_on_"
      "kernel__5x_cublas";
  const auto known = [&](std::uint32_t segments) {
    call.kernels[0].grid[0] = segments;
    call.kernels[0].grid[1] = call.kernels[0].grid[2] = 1;
    return plan_of(problem, call).has_value();
  };
  for (const std::uint32_t segments : {2U, 3U, 8U}) EXPECT_TRUE(known(segments)) << segments;
  for (const std::uint32_t segments : {9U, 11U, 16U}) EXPECT_FALSE(known(segments)) << segments;
  EXPECT_FALSE(known(1)) << "a kernel of segments that has one alone was not recorded";
  call.kernels.push_back({call.kernels[0].name});
  for (const std::uint32_t segments : {2U, 8U}) EXPECT_FALSE(known(segments)) << segments;
  for (const std::uint32_t segments : {9U, 16U}) EXPECT_TRUE(known(segments)) << segments;
}

TEST(GemmPlans, one_slice_alone_keeps_its_minus_zero) {
  GemmProblem problem;
  problem.type = Format::f64;
  problem.m = problem.n = 1;
  problem.k = 5;
  GemmPlan plan;
  plan.instruction = find_instruction("mma.m8n8k4.f64.f64.f64.f64").value();
  plan.output = Format::f64;
  plan.head_tile = 4;  // the first k, padded, then the others
  const std::vector<double> a{0, 0, 0, 0, 0x1p-600}, b{0, 0, 0, 0, -0x1p-600};  // fma(a, b, +0) is -0
  const auto bits = [&] {
    const auto d = predicted_by(hopper(), problem, plan, 1, 1, {a.data(), b.data(), nullptr, nullptr},
                                [](const Instruction& instruction, const Datapath& model,
                                   const Matmul& part) { matmul(instruction, model, part); });
    return load_word(d.data(), 8, 0);
  };
  EXPECT_EQ(bits(), 0x8000000000000000U);
  plan.tile_k = 4;
  plan.slices = 2;  // the sum of two slices starts from +0
  EXPECT_EQ(bits(), 0U);
}

TEST(GemmPlans, an_unknown_kernel_has_no_plan) {
  corpus::GemmSample sample = recorded().front();
  for (KernelLaunch& each : sample.call.kernels) each.name = "somebody_elses_kernel";
  sample.problem.type = Format::f16;
  sample.problem.d = Format::f16;
  std::string why;
  EXPECT_FALSE(plan_of(sample.problem, sample.call, &why));
  EXPECT_EQ(why, "no plan for the kernel somebody_elses_kernel");
}

TEST(GemmPlans, a_kernel_has_no_plan_on_a_gpu_without_recordings) {
  int integers = 0, others = 0;
  for (const corpus::GemmSample& sample : recorded())
    for (const Architecture& each : architectures()) {
      if (each.name == hopper().name) continue;
      std::string why;
      const std::optional<GemmPlan> plan = plan_of(sample.problem, sample.call, &why, each);
      if (sample.problem.type == Format::s8) {  // exact: the same bits wherever the instruction is
        integers += plan ? 1 : 0;
        EXPECT_EQ(plan.has_value(),
                  find_datapath(each, plan_of(sample.problem, sample.call)->instruction) != nullptr)
            << each.name;
        continue;
      }
      ++others;
      EXPECT_FALSE(plan) << each.name << ": " << name_of(sample.problem);
      EXPECT_EQ(why, "plans of these kernels are recorded on hopper, not on " + std::string(each.name));
    }
  EXPECT_GT(integers, 0);
  EXPECT_GT(others, 0);
}

TEST(GemmPlans, slices_that_end_before_k_leave_out_its_end) {
  // cuBLAS cuts 33416 into 9 slices of floor(33416 / 9) = 3712 = 58 * 64, which end at 33408.
  GemmProblem x;
  x.m = 425;
  x.n = 136;
  x.k = 33416;
  x.transposed_b = true;
  const auto plan = [](const GemmProblem& problem, const char* kernel, std::string* why = nullptr) {
    LibraryCall call;
    call.algorithm = {{"split_k", 9}};
    call.kernels.resize(2);
    call.kernels[0].name = kernel;
    call.kernels[1].name = "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eiffff";
    return plan_of(problem, call, why);
  };
  const char* const nvjet = "nvjet_sm90_hsh_72x64_64x12_2x1_v_bz_splitK_TNN";
  const auto truncated = plan(x, nvjet);
  ASSERT_TRUE(truncated);
  EXPECT_EQ(truncated->slice_rule, SliceRule::truncated);
  EXPECT_EQ(slices_of(*truncated, x.k).back(), (KRange{29696, 33408}));
  for (const std::uint64_t k :
       {33408U, 33424U - 72, 33480U, 43280U}) {  // whole tiles, or a rest in the last one
    GemmProblem other = x;
    other.k = k;
    const auto even = plan(other, nvjet);
    ASSERT_TRUE(even) << k;
    EXPECT_EQ(even->slice_rule, SliceRule::even) << k;
    EXPECT_EQ(slices_of(*even, k).back().last, k);
  }
  EXPECT_EQ(plan(x, "cutlass_80_tensorop_s16816gemm_f16_128x64_32x6_tn_align8")->slice_rule, SliceRule::even);
  x.type = Format::bf16;
  EXPECT_EQ(plan(x, nvjet)->slice_rule, SliceRule::truncated);
  const char* const fp8 = "nvjet_sm90_qqtst_64x32_128x16_2x4_h_bz_splitK_TNT";
  x.type = Format::e4m3;
  x.k = std::uint64_t{9} * 128 * 4 + 8;
  EXPECT_EQ(plan(x, fp8)->slice_rule, SliceRule::truncated);
  std::string why;  // not recorded
  x.type = Format::e5m2;
  EXPECT_FALSE(plan(x, fp8, &why));
  EXPECT_EQ(why, "no plan for the kernel " + std::string(fp8) +
                     " with split_k 9: slices that may end before K does, not recorded for e5m2");
  x.k += std::uint64_t{8} * 128;
  EXPECT_TRUE(plan(x, fp8));
  const Told told = told_by([](GemmPlan& changed) {
    const bool applies = changed.slice_rule == SliceRule::truncated;
    changed.slice_rule = SliceRule::even;
    return applies;
  });
  EXPECT_EQ(told.apply, 29);
  EXPECT_EQ(told.differ, 29);
}

TEST(GemmPlans, the_custom_option_says_in_which_order_slices_take_turns_at_d) {
  GemmProblem x;
  x.m = 32, x.n = 2560, x.k = 4096;
  const auto of = [&x](Format type, const char* name, std::uint32_t columns, std::int64_t option,
                       std::int64_t slices, std::string* why) {
    x.type = x.d = type;
    LibraryCall call;
    call.algorithm = {{"split_k", slices}, {"custom", option}};
    call.kernels.resize(1);
    call.kernels[0].name = name;
    call.kernels[0].grid[0] = 1, call.kernels[0].grid[1] = columns;
    call.kernels[0].grid[2] = static_cast<std::uint32_t>(slices);
    return plan_of(x, call, why);
  };
  const auto plan = [&of](std::int64_t option, std::int64_t slices, std::string* why = nullptr) {
    return of(
        Format::f32,
        "sm80_xmma_gemm_f32f32_f32f32_f32_tt_n_tilesize32x64x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_"
        "execute_kernel__5x_cublas",
        40, option, slices, why);
  };
  const auto of_f64 = [&of](std::uint32_t columns, std::int64_t slices) {
    return of(
        Format::f64,
        "sm90_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x32_stage3_warpsize2x2x1_tensor16x8x16_aligna8_"
        "alignc8_execute_kernel__5x_cublas",
        columns, 1, slices, nullptr);
  };
  ASSERT_TRUE(plan(2, 13));
  EXPECT_EQ(plan(2, 13)->slice_rule, SliceRule::cyclic);
  EXPECT_EQ(plan(2, 13)->slice_order, SliceOrder::ascending);
  ASSERT_TRUE(of_f64(16, 13));
  EXPECT_EQ(of_f64(16, 13)->slice_order, SliceOrder::paired);
  EXPECT_FALSE(of_f64(86, 3)) << "258 blocks, two more than the largest recorded grid";
  EXPECT_FALSE(of_f64(930, 3)) << "more blocks than any recorded grid; one had other bits";
  EXPECT_FALSE(plan(1, 13)) << "recorded for f64 alone";
  EXPECT_TRUE(plan(7, 2)) << "two sums have one order";
  std::string why;
  EXPECT_FALSE(plan(7, 13, &why));
  EXPECT_NE(why.find("was not recorded"), std::string::npos) << why;
  const Told told = told_by([](GemmPlan& changed) {
    const bool applies = changed.slice_order == SliceOrder::paired && changed.slices > 4;
    changed.slice_order = SliceOrder::ascending;
    return applies;
  });
  EXPECT_GT(told.differ, 4) << told.apply;
}

TEST(GemmPlans, the_architecture_decides_the_bits_of_an_instruction) {
  // Ampere takes 8 products per step of an instruction that takes 16 on Hopper.
  int differ = 0;
  for (const corpus::GemmSample& sample : recorded()) {
    const std::optional<GemmPlan> plan = plan_of(sample.problem, sample.call);
    if (!plan || name_of(plan->instruction) != "mma.m16n8k16.f32.f16.f16.f32") continue;
    const auto bits = [&](const char* name) {
      return predicted_bits(*find_architecture(name), sample, *plan);
    };
    EXPECT_EQ(bits("hopper"), sample.d);
    differ += bits("ampere") != sample.d ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(GemmPlans, random_problems_are_the_same_for_the_same_seed) {
  const auto one = random_problems(5, 20, {"bf16", "e4m3-fast", "s8"}),
             same = random_problems(5, 20, {"bf16", "e4m3-fast", "s8"});
  EXPECT_EQ(one, same);
  ASSERT_EQ(one.size(), 60U);
  for (const GemmProblem& each : one) EXPECT_EQ(why_no_problem(each), "") << name_of(each);
}

TEST(GemmPlans, random_epilogues_have_every_part) {
  const auto drawn = random_problems(5, 60, {"bf16", "e4m3", "s8", "f64"}, {.epilogues = true});
  ASSERT_EQ(drawn.size(), 240U);
  int alpha = 0, beta = 0, scale = 0, bias = 0, activation = 0;
  for (const GemmProblem& each : drawn) {
    EXPECT_EQ(why_no_problem(each), "") << name_of(each);
    alpha += each.alpha != 1 ? 1 : 0;
    beta += each.beta != 0 ? 1 : 0;
    scale += each.scale_a != each.scale_b ? 1 : 0;
    bias += each.bias ? 1 : 0;
    activation += each.activation != GemmActivation::none ? 1 : 0;
  }
  for (const int count : {alpha, beta, scale, bias, activation}) EXPECT_GT(count, 15);
}

}  // namespace
}  // namespace mmaudit::checks
