// Every reader at a tenth and at the whole of its limit, or of 4 MiB where that is larger. What it does per
// byte must not grow: ten times the text may cost 40 times the processor time of this thread, a quadratic
// reader takes 100 times.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/check.hpp"
#include "mmaudit/campaign/result.hpp"
#include "mmaudit/collective.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/decision_file.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/network_layers.hpp"
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/csv.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/sass/text.hpp"
#include "mmaudit/tensor_memory/ptx.hpp"
#include "mmaudit/value_text.hpp"
#include "support.hpp"
#include "trace/trace.hpp"

namespace mmaudit::fuzz {
namespace {

constexpr std::size_t kWhole = std::size_t{4} << 20;   ///< of a file
constexpr std::size_t kWord = std::size_t{128} << 10;  ///< Linux passes no longer argument
constexpr double kMostRatio = 40, kLeastSeconds = 0.004;

using Make = std::function<std::string(std::size_t)>;
using Read = std::function<void(const std::string&)>;

double seconds_of(const Read& read, const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 2; ++i) {
    timespec begin{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    accepted([&] { read(text); });
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                           1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
    best = std::min(best, seconds);
    if (seconds > 0.1) break;
  }
  return best;
}

void expect_linear(const std::string& what, std::size_t whole, const Make& make, const Read& read) {
  double ratio = 1e9;
  for (int i = 0; i < 3 && ratio > kMostRatio; ++i) {  // a loaded machine spoils one measurement, not three
    const double tenth = std::max(seconds_of(read, make(whole / 10)), kLeastSeconds);
    ratio = seconds_of(read, make(whole)) / tenth;
  }
  EXPECT_LE(ratio, kMostRatio) << what;
}

/// `head`, `unit` as often as it fits `size`, `tail`.
Make repeated(const std::string& unit, const std::string& head = "", const std::string& tail = "") {
  return [=](std::size_t size) {
    std::string text = head;
    while (text.size() + unit.size() + tail.size() <= size) text += unit;
    return text + tail;
  };
}

/// `unit` with its # replaced by a number of its own each time.
Make numbered(const std::string& unit, const std::string& head = "", const std::string& tail = "") {
  return [=](std::size_t size) {
    std::string text = head;
    for (std::size_t i = 0; text.size() + unit.size() + 8 + tail.size() <= size; ++i)
      for (const char c : unit) c == '#' ? text += std::to_string(i) : text += c;
    return text + tail;
  };
}

TEST(ReadersAreLinear, Ptx) {
  const Read read = [](const std::string& text) {
    tmem::PtxProgram program;
    check_one_line(tmem::parse_ptx(text, program));
  };
  for (const char* unit : {" ", "\n", "\t\n", ";", "/**/", "/* */", "//", "/*\n*/", "//!\n", "{}", "{\n}\n",
                           "\r", "mov.u32 %r1, %r2;\n", "a", ",", ":", ".reg .b32 %a<2>;"})
    for (const char* head : {"", "x ", "mov.u32 %r1, {"})
      expect_linear(std::string("PTX ") + head + unit, kWhole, repeated(unit, head), read);
  for (const char* unit : {"l#: ", "l#:\n", "l#: ret;\n", "bra l#;\n", "%r#, "})
    expect_linear(std::string("PTX ") + unit, kWhole, numbered(unit), read);
  // Leading and trailing blanks are looked at once, however many lines follow.
  expect_linear(
      "PTX line by line", kWhole,
      [](std::size_t size) { return std::string(size / 2, ' ') + "x" + std::string(size / 2 - 1, '\n'); },
      read);
  expect_linear(
      "PTX colons line by line", kWhole,
      [](std::size_t size) { return repeated(":\n", std::string(size / 2, 'a') + " b")(size); }, read);
  expect_linear("PTX constant", kWhole, repeated("1+", "mov.u32 %r1, (", "1);"), read);
  expect_linear(
      "PTX constant with blanks", kWhole,
      [](std::size_t size) {
        return repeated("1 +", "mov.u32 %r1, [")(size / 2) + "1" + std::string(size / 2 - 8, ' ') + "];";
      },
      read);
}

TEST(ReadersAreLinear, Sass) {
  const Read read = [](const std::string& text) { sass::read(text); };
  const std::string head = "\tcode for sm_90\n\t\tFunction : k\n";
  for (const char* unit :
       {" ", "\n", "/*", "/* 0x", "/*0000*/ ", "/*0000*/ NOP ; /* 0x0000000000007918 */\n", ";",
        "Function : k\n",
        "/*0000*/ IMAD R1, R2, R3, R4 ; /* 0x0000000000007918 */\n/* 0x000fc00000000000 */\n"})
    expect_linear(std::string("SASS ") + unit, kWhole, repeated(unit, head), read);
}

TEST(ReadersAreLinear, Json) {
  const Read read = [](const std::string& text) { static_cast<void>(parse_json(text)); };
  for (const char* unit : {" ", "[", "\"a\",", "1,", "1", "[],", "{},", "\n", "\\u0041", "\""})
    for (const char* head : {"", "[\""})
      expect_linear(std::string("JSON ") + head + unit, kWhole, repeated(unit, head), read);
  expect_linear("JSON list", kWhole, repeated("1,", "[", "1]"), read);
  expect_linear("JSON keys", kWhole, numbered("\"#\":1,", "{", "\"\":1}"), read);
}

TEST(ReadersAreLinear, Csv) {
  const Read read = [](const std::string& text) { csv::rows_of(text, "head"); };
  for (const char* unit : {",", "\"", "\n", "a,b\n", "\"a\",", "#\n", "head\n", "\"\"", "a"})
    expect_linear(std::string("CSV ") + unit, kWhole, repeated(unit), read);
}

TEST(ReadersAreLinear, Npy) {
  static ScratchFile file("x.npy");
  const Read read = [](const std::string& header) {
    std::string text("\x93NUMPY\x02\x00", 8);
    for (unsigned i = 0; i < 4; ++i) text += static_cast<char>(header.size() >> (8 * i));
    static_cast<void>(corpus::read_npy(file.holding(text + header)));
  };
  for (const char* unit : {" ", "1,", "'", "#", "\n", "0"})
    for (const char* head : {"", "{'descr': '<f4', 'fortran_order': False, 'shape': (",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} # "})
      expect_linear(std::string("npy ") + head + unit, kWhole, repeated(unit, head), read);
  for (const char* order : {"True", "False"})
    expect_linear(
        std::string("npy data ") + order, kWhole,
        [](std::size_t size) { return std::string(size / 2048 * 2048, 'x'); },
        [&](const std::string& data) {
          std::string header = std::string("{'descr': '|u1', 'fortran_order': ") + order + ", 'shape': (" +
                               std::to_string(data.size() / 2048) + ", 2048)}";
          std::string text("\x93NUMPY\x01\x00", 8);
          text += static_cast<char>(header.size());
          text += '\0';
          text.append(header).append(data);
          static_cast<void>(corpus::read_npy(file.holding(text)));
        });
}

TEST(ReadersAreLinear, Safetensors) {
  static ScratchFile file("x.safetensors");
  const auto read_with = [](const Read& read) {
    return Read([read](const std::string& header) {
      std::string text;
      for (unsigned i = 0; i < 8; ++i) text += static_cast<char>(std::uint64_t{header.size()} >> (8 * i));
      read(file.holding(text + header).string());
    });
  };
  const Read whole =
                 read_with([](const std::string&path) { static_cast<void>(corpus::read_safetensors(path)); }),
             one = read_with([](const std::string&path) { corpus::read_safetensors_tensor(path, "none"); });
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  for (const std::string& unit : {"\"t#\":" + entry, "\"t\":" + entry, std::string(R"("t#":{"dtype":"X"},)"),
                                  std::string(R"("t#":1,)"), std::string("\"t\":[[[]]],"), std::string(" ")})
    for (const Read& read : {whole, one})
      expect_linear("safetensors " + unit, kWhole, numbered(unit, "{", "\"end\":0}"), read);
  for (const char* unit : {"[", "1,", "{\"a\":"})
    expect_linear(std::string("safetensors shape ") + unit, kWhole, repeated(unit, R"({"t":{"shape":[)"),
                  whole);
  expect_linear("safetensors metadata", kWhole, numbered(R"("#":"",)", R"({"__metadata__":{)", R"("":""}})"),
                whole);
}

/// A result with as many instructions as fit, its checksum right.
std::string campaign_result(std::size_t size) {
  const std::string unit =
      R"({"dots":1,"engine":"e","families":{"normal":{"dots":1,"mismatches":0}},"instruction":"i#","mismatches":0},)";
  std::string list = numbered(unit, "[")(size);
  list.back() = ']';
  Json result = parse_json(
      R"({"architecture":"hopper","complete":true,"cuda":"","date":"","dots_asked":1,"driver":"","examples":[],)"
      R"("generator":"1","gpu":"","gpus":1,"mismatches":0,"not_done":[],"on":"hardware","plan":"","revision":"",)"
      R"("schema":"mmaudit.campaign/1","seed":1,"version":"","instructions":)" +
      list + "}");
  result["dots"] = static_cast<std::uint64_t>(result.at("instructions").size());
  result["checksum"] = corpus::checksum_of(std::string_view(result.sorted().dump()));
  return result.dump();
}

TEST(ReadersAreLinear, CampaignResults) {
  ASSERT_TRUE(accepted([] { campaign::read_campaign(campaign_result(10'000), "x"); }));
  expect_linear("campaign result", kWhole, campaign_result,
                [](const std::string& text) { campaign::read_campaign(text, "x"); });
}

TEST(ReadersAreLinear, Journals) {
  static ScratchFile file("journal");
  campaign::Schedule schedule;
  schedule.seed = 7;
  const Architecture& hopper = *find_architecture("hopper");
  schedule.architecture = hopper.name;
  const Instruction instruction = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  const DatapathEntry* entry = find_datapath(hopper, instruction);
  schedule.instructions.push_back({instruction, entry, "plain", 1024, 1024, entry});
  schedule.input_classes = {gen::InputClass::normal};
  schedule.dots = kWhole / 128 * 1024;  // a line has more than 128 bytes
  const auto line_of = [](std::size_t first) {
    Json line = {{"instruction", 0}, {"family", 0},     {"first", first}, {"chunks", 1},
                 {"dots", 1024},     {"mismatches", 0}, {"seconds", 0.5}, {"examples", Json::array()}};
    line["checksum"] = corpus::checksum_of(std::string_view(line.sorted().dump()));
    return line.sorted().dump() + "\n";
  };
  const auto lines = [&](std::size_t size, std::size_t stride) {
    std::string text = campaign::journal_header(schedule, {}) + "\n";
    for (std::size_t i = 0; text.size() + 256 < size; ++i) text += line_of(i * stride);
    return text;
  };
  for (const std::size_t stride : {0U, 1U})
    expect_linear(
        "journal, stride " + std::to_string(stride), kWhole,
        [&](std::size_t size) { return lines(size, stride); },
        [&](const std::string& text) { campaign::Journal(file.holding(text), schedule, {}); });
}

TEST(ReadersAreLinear, ProductsOfALibrary) {
  const Read read = [](const std::string& text) { static_cast<void>(corpus::read_gemm_problems(text, "x")); };
  expect_linear("products", kWhole, numbered("{\"type\":\"f16\",\"m\":1#,\"n\":8,\"k\":8}\n"), read);
  for (const char* unit :
       {" ", "\n", "[", "[][Trace]Matmul]", "{}\n", "[a][cublasLt][Trace] Matmul] Adesc=[type=R_16F\n"})
    expect_linear(std::string("products ") + unit, kWhole, repeated(unit), read);
}

TEST(ReadersAreLinear, Decisions) {
  const Read read = [](const std::string& text) { corpus::read_decisions(text, "x"); };
  const std::string head =
      R"({"schema":"mmaudit.gemm.decisions/1","gpu":"g","architecture":"hopper","library":"1","first_m":1,)"
      R"("last_m":9000000000})"
      "\n";
  const std::string choice = R"({"choice":{"algorithm":{"id":1#},"kernels":[{"name":"n#"}]}})"
                             "\n",
                    two = numbered(choice)(150);
  const std::string layer = R"({"layer":{"type":"f16","n":1#,"k":8},"starts":")", end = "\"}\n";
  for (const auto& [what, make] :
       {std::pair{"choices", numbered(choice, head)},
        std::pair{"layers", numbered(std::string(layer).append("1:0 2:1").append(end), head + two)},
        std::pair{
            "starts",
            numbered("1#:0 ", head + two + R"({"layer":{"type":"f16","n":8,"k":8},"starts":"1:0 )", end)}}) {
    ASSERT_TRUE(accepted([&, &one = make] { read(one(10'000)); })) << what;
    expect_linear(what, kWhole, make, read);
  }
  expect_linear(
      "networks", kWhole,
      repeated(
          R"({"model":"m","source":"s","config":{"model_type":"gpt2","n_embd":8,"n_head":2,"vocab_size":9}})"
          "\n"),
      [](const std::string& text) { corpus::read_known_networks(text, "x"); });
}

TEST(ReadersAreLinear, ChecksOfALibrary) {
  const Read read = [](const std::string& text) { checks::gemm_check_of_json(text, "x"); };
  const std::string head =
      R"({"schema":"mmaudit.gemm.check/1","library":"1","gpu":"g","asked":{},"seed":1,"repeat":2,"taken":3,"stopped":false,)"
      R"("seconds":1,"product_seconds":1,"why_refused":"","launches":{"alone":1,"beside another stream":0,"in a CUDA graph":0,)"
      R"("in a grouped call":0},"not_started":{},"faults":[],"types":{)";
  const std::string counts =
      R"("products":1,"wrong_products":0,"calls":1,"wrong_calls":0,"runs":1,"elements":1,"refused":0,"refused_calls":0,)"
      R"("seconds":1,"product_seconds":1,"calls_by_algorithm":{)";
  const std::string last = "\"z\":{" + counts + "}}}}";
  ASSERT_TRUE(accepted([&] { read(numbered("\"t#\":{" + counts + "}},", head, last)(10'000)); }));
  expect_linear("types", kWhole, numbered("\"t#\":{" + counts + "}},", head, last), read);
  expect_linear("algorithms", kWhole, numbered("\"a#\":1,", head + "\"t\":{" + counts, "\"a\":1}}}}"), read);
}

TEST(ReadersAreLinear, Traces) {
  static ScratchFile file("x.trace");
  const auto trace_with = [](const std::string& header, const std::string& json) {
    std::string text = R"({"__metadata__":{},)" + header + R"("trace":{"dtype":"U8","shape":[)" +
                       std::to_string(json.size()) + R"(],"data_offsets":[0,)" + std::to_string(json.size()) +
                       "]}}";
    for (unsigned i = 0; i < 8; ++i)
      text.insert(text.begin() + i, static_cast<char>((text.size() - i) >> (8 * i)));
    return text + json;
  };
  const auto json_with = [](const std::string& tensors, const std::string& operations) {
    return R"({"machine":{},"flags":[],"calls":[],"texts":["a"],"tensors":[)" + tensors +
           R"(],"operations":[)" + operations + "]}";
  };
  const std::string entry = R"("rows.#":{"dtype":"I64","shape":[0,2],"data_offsets":[0,0]},)",
                    tensor = R"({"shape":[1],"dtype":"f"},)",
                    operation = R"({"module":0,"kind":0,"operator":0,"call":null,"in":[0],"out":[0]},)";
  const auto with_last = [](const std::string& unit, std::size_t size) {
    std::string text = repeated(unit)(size);
    text.pop_back();
    return text;
  };
  const Read read = [](const std::string& text) {
    const std::string path = file.holding(text).string();
    checks::trace_of(corpus::read_safetensors(path), path);
  };
  ASSERT_TRUE(
      accepted([&] { read(trace_with("", json_with(with_last(tensor, 100), with_last(operation, 200)))); }));
  expect_linear(
      "parts", kWhole, [&](std::size_t size) { return trace_with(numbered(entry)(size), json_with("", "")); },
      read);
  expect_linear(
      "tensors", kWhole,
      [&](std::size_t size) { return trace_with("", json_with(with_last(tensor, size), "")); }, read);
  expect_linear(
      "operations", kWhole,
      [&](std::size_t size) {
        return trace_with("", json_with(with_last(tensor, 100), with_last(operation, size)));
      },
      read);
}

TEST(ReadersAreLinear, LogsOfCollectives) {
  const Read read = [](const std::string& text) {
    CollectiveProblem problem;
    problem.count = 8;
    CollectiveChoice choice;
    check_one_line(take_log(collective_log_of(text), problem, choice));
  };
  for (const char* unit :
       {" ", "\n", "Channel 00/01 : 0 1\n", "Trees [0] 1/-1/-1->0->-1\n", " [0] 1/-1/-1->0->-1", "Channel ",
        "Trees", "NCCL version 2.28\n", "AllReduce: 32 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"})
    for (const char* head : {"", "NCCL version 2.28\nTrees", "Channel 00/01 :"})
      expect_linear(std::string("log ") + head + unit, kWhole, repeated(unit, head), read);
}

TEST(ReadersAreLinear, Mnemonics) {
  const Read read = [](const std::string& text) {
    static_cast<void>(read_instruction(text));
    check_one_line(why_no_instruction(text));
    static_cast<void>(read_format(text));
    check_one_line(why_no_format(text));
    check_one_line(why_no_architecture(text, ""));
  };
  for (const char* unit : {"a", ".", "mma.", "_", "16x8x16_", ":", "f16", "m16n8k8.", "1"})
    for (const char* head : {"", "mma.", "hmma.", "SM80_16x8x16_"})
      expect_linear(std::string("mnemonic ") + head + unit, kWord, repeated(unit, head), read);
  expect_linear("mnemonic of many words", kWord, numbered("w#.", "mma.m16n8k16."), read);
}

TEST(ReadersAreLinear, Values) {
  const Read read = [](const std::string& text) {
    for (const NamedFormat& row : kFormats) check_one_line(parse_value(text, row.spec).error);
  };
  for (const char* unit : {"1", "0", "-", ".", "e", "*2^", " ", "f"})
    for (const char* head : {"", "0x", "0x1.", "1.", "2^", "1e"})
      expect_linear(std::string("value ") + head + unit, kWord, repeated(unit, head), read);
}

}  // namespace
}  // namespace mmaudit::fuzz
