// Help, manual pages and completions: they list the same commands and options, examples are read, and bash
// takes it.
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// What --help of every command says: path -> names of options, and examples.
struct Help {
  std::vector<std::string> options, examples;
};

void read_help(const std::vector<std::string>& path, std::map<std::string, Help>& out) {
  std::vector<std::string> arguments(path.begin() + 1, path.end());
  arguments.emplace_back("--help");
  const Outcome help = run(arguments);
  ASSERT_EQ(help.code, kAllGood) << help.err;
  std::string name = path.front();
  for (std::size_t i = 1; i < path.size(); ++i) name += " " + path[i];
  Help& found = out[name];
  const bool has_commands = help.out.find("COMMAND --help` says more") != std::string::npos;
  std::string heading;
  for (const std::string& line : lines_of(help.out)) {
    if (!line.empty() && line[0] != ' ' && line.back() == ':') heading = line;
    std::smatch match;
    if (std::regex_search(line, match,
                          std::regex("^  (-[a-z])?(, )?(--[a-z][a-z0-9-]*)?(, (--[a-z-]+))?( |$)")))
      for (const std::size_t group : {1U, 3U, 5U})
        if (match[group].matched && match[group].length() != 0) found.options.push_back(match[group]);
    if (heading.starts_with("Example") && line.starts_with("  mmaudit"))
      found.examples.push_back(line.substr(2));
    if (has_commands && !heading.empty() && heading != "Usage:" && !heading.starts_with("Example") &&
        std::regex_search(line, match, std::regex("^  ([a-z]+)(  |$)"))) {
      std::vector<std::string> inner = path;
      inner.push_back(match[1]);
      read_help(inner, out);
    }
  }
}

const std::map<std::string, Help>& helps() {
  static const std::map<std::string, Help> all = [] {
    std::map<std::string, Help> out;
    read_help({"mmaudit"}, out);
    return out;
  }();
  return all;
}

std::string escaped(const std::string& text) { return std::regex_replace(text, std::regex("-"), "\\-"); }

std::string bash(const std::string& command) {
  std::array<char, 4096> buffer{};
  std::string out;
  FILE* pipe = popen(("bash -c '" + command + "' 2>&1").c_str(), "r");
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  EXPECT_EQ(pclose(pipe), 0) << out;
  return out;
}

/// Standard output or standard error as a terminal while it lives.
class Terminal {
 public:
  explicit Terminal(int replaced) : replaced_(replaced), saved_(dup(replaced)) {
    int slave = 0;
    EXPECT_EQ(openpty(&master_, &slave, nullptr, nullptr, nullptr), 0);
    dup2(slave, replaced_);
    close(slave);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    dup2(saved_, replaced_);
    close(saved_);
    close(master_);
  }
  /// What was shown so far, up to `wanted` at least: the kernel hands a terminal's output on piece by piece.
  [[nodiscard]] std::string read_until(std::string_view wanted) const {
    std::string shown;
    for (pollfd ready{master_, POLLIN, 0};
         shown.find(wanted) == std::string::npos && poll(&ready, 1, 10000) > 0;) {
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(master_, buffer.data(), buffer.size());
      if (got <= 0) break;
      shown.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return shown;
  }

 private:
  int replaced_, saved_, master_ = -1;
};

class Shell : public Folder {};

TEST_F(Shell, ManualPagesAndCompletionsListEveryOptionOfHelp) {
  ASSERT_EQ(run({"man", "--out", path("man1")}).code, kAllGood);
  const std::string bash_script = run({"completions", "bash"}).out, zsh = run({"completions", "zsh"}).out,
                    fish = run({"completions", "fish"}).out;
  std::size_t options = 0;
  for (const auto& [command, help] : helps()) {
    std::string file = command;
    std::replace(file.begin(), file.end(), ' ', '-');
    std::ifstream page_file(path("man1/" + file + ".1"));
    const std::string page{std::istreambuf_iterator<char>(page_file), {}};
    const std::size_t at = bash_script.find("    '" + command + "') options='");
    ASSERT_NE(at, std::string::npos) << command;
    const std::vector<std::string> offered = words_of(
        std::regex_replace(bash_script.substr(at, bash_script.find('\n', at) - at), std::regex("[';]"), " "));
    std::string function = "_" + file;
    std::replace(function.begin(), function.end(), '-', '_');
    const std::size_t begin = zsh.find("\n" + function + "() {\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string in_zsh = zsh.substr(begin, zsh.find("\n}\n", begin) - begin);
    for (const std::string& option : help.options) {
      ++options;
      EXPECT_TRUE(std::regex_search(
          page,
          std::regex(R"((^|[\n ]))" + std::regex_replace(escaped(option), std::regex(R"(\\)"), R"(\\)") +
                     R"((,| |\n))")))
          << option << " is not in " << file << ".1";
      EXPECT_NE(std::find(offered.begin(), offered.end(), option), offered.end())
          << "bash: " << command << ' ' << option;
      EXPECT_NE(in_zsh.find("'*" + option + "["), std::string::npos) << "zsh: " << command << ' ' << option;
      const std::string flag =
          option.starts_with("--") ? " -l " + option.substr(2) + " " : " -s " + option.substr(1) + " ";
      bool found = false;
      for (const std::string& line : lines_of(fish))
        found = found || (line.find("= \"" + command + "\"'") != std::string::npos &&
                          line.find(flag) != std::string::npos);
      EXPECT_TRUE(found) << "fish: " << command << ' ' << option;
    }
  }
  EXPECT_GE(helps().size(), 20U);
  EXPECT_GE(options, 200U);
}

TEST_F(Shell, EveryCommandHasExamplesThatAreRead) {
  for (const auto& [command, help] : helps()) {
    EXPECT_GE(help.examples.size(), 2U) << command;
    EXPECT_LE(help.examples.size(), 3U) << command;
    for (const std::string& example : help.examples) {
      const std::string words =
          bash("printf \"%s\\n\" " + std::regex_replace(example, std::regex(" [>|].*| [^ ]*>.*|'"), ""));
      std::vector<std::string> arguments = lines_of(words);
      std::vector<const char*> argv;
      argv.reserve(arguments.size());
      for (const std::string& one : arguments) argv.push_back(one.c_str());
      Context context;
      EXPECT_NO_THROW(static_cast<void>(
          read_command_line(static_cast<int>(argv.size()), argv.data(), every_command(), context)))
          << example;
    }
  }
}

TEST_F(Shell, BashCompletesCommandsOptionsAndValues) {
  std::ofstream(path("completion")) << run({"completions", "bash"}).out;
  const auto completed = [&](const std::string& words, const std::string& last) {
    return words_of(bash("source " + path("completion") + "; COMP_WORDS=(" + words + " \"" + last +
                         "\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mmaudit; echo \"${COMPREPLY[@]}\""));
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(completed("mmaudit", "bas"), Words{"baseline"});
  EXPECT_EQ(completed("mmaudit sweep", "gem"), Words{"gemm"});
  EXPECT_EQ(completed("mmaudit audit", "--dtype-"), (Words{"--dtype-a", "--dtype-b"}));
  EXPECT_EQ(completed("mmaudit baseline record --arch", "hop"), Words{"hopper"});
  EXPECT_EQ(completed("mmaudit convert --round", ""), (Words{"rn", "rz", "rna", "rp", "rs"}));
  EXPECT_EQ(completed("mmaudit verify -q --color", "n"), Words{"never"});
  EXPECT_EQ(completed("mmaudit explain --inst", "wgmma.m64nNk16.f16"), Words{"wgmma.m64nNk16.f16.f16.f16"});
  EXPECT_EQ(completed("mmaudit audit --a", path("compl")), Words{path("completion")});
}

TEST(Colors, ObeyOptionVariableAndTerminal) {
  const std::string bold = "\x1b[1m";
  EXPECT_EQ(run({"--help"}).out.find('\x1b'), std::string::npos);
  EXPECT_NE(run({"--color", "always", "list", "--help"}).out.find(bold), std::string::npos);
  EXPECT_EQ(run({"list", "--help", "--color", "never"}).out.find('\x1b'), std::string::npos);
  const Outcome refused = run({"list", "--color", "blue"});
  EXPECT_EQ(refused.code, kBadInput);
  EXPECT_NE(refused.err.find("found blue, allowed: auto, always, never (see `mmaudit list --help`)"),
            std::string::npos)
      << refused.err;

  const Terminal terminal(STDOUT_FILENO);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  choose_colors("auto");
  EXPECT_TRUE(colors());
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(colors());
  choose_colors("always");
  EXPECT_TRUE(colors());
  choose_colors("auto");
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(colors());
}

TEST(Bars, SayWhatWillBeWritten) {
  std::string shown;
  {
    const Terminal terminal(STDERR_FILENO);
    Progress progress(false, "working", 2);
    progress.will_write({"out/audit.html", "", "-", "b\x1b.json"});
    progress.advance(2);
    shown = terminal.read_until("100%");
  }
  EXPECT_NE(shown.find("will write out/audit.html, b"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("b\x1b.json"), std::string::npos);
  EXPECT_NE(shown.find("100%"), std::string::npos) << shown;
}

TEST(Doctor, SaysWhatIsHere) {
  const Outcome text = run({"doctor"});
  EXPECT_EQ(text.code, kAllGood) << text.err;
  EXPECT_NE(text.out.find("\nGPUs\n"), std::string::npos) << text.out;
  const Outcome json = run({"doctor", "--json"});
  ASSERT_EQ(json.code, kAllGood) << json.err;
  const nlohmann::json found = nlohmann::json::parse(json.out);
  EXPECT_EQ(found.at("schema"), "mmaudit.doctor/1");
  for (const char* section : {"program", "machine", "gpus", "libraries", "data"})
    EXPECT_FALSE(found.at(section).empty()) << section;
  EXPECT_NE(found.at("libraries").at("MPFR"), "");
  EXPECT_NE(found.at("machine").at("vector code"), "");
  const bool gpu = found.at("gpu_count") != 0;
  EXPECT_EQ(found.at("notes").dump().find("end with 3") == std::string::npos, gpu);
}

TEST(List, IsShortUnlessAsked) {
  const Outcome short_list = run({"list"});
  EXPECT_EQ(short_list.code, kAllGood);
  EXPECT_LE(lines(short_list.out), 26U) << short_list.out;
  EXPECT_NE(short_list.out.find("blackwell_rtx"), std::string::npos);
  EXPECT_GT(lines(run({"list", "--all"}).out), 200U);

  const std::string some = run({"list", "--inst", "wgmma*.e4m3.e5m2"}).out;
  EXPECT_NE(some.find("wgmma.m64nNk32.f32.e4m3.e5m2"), std::string::npos) << some;
  EXPECT_EQ(some.find("\nmma."), std::string::npos) << some;
  EXPECT_EQ(some.find("ampere"), std::string::npos) << some;
  EXPECT_NE(
      run({"list", "--arch", "hopper", "--inst", "HMMA.16816.F32"}).out.find("mma.m16n8k16.f32.f16.f16.f32"),
      std::string::npos);
  const Outcome none = run({"list", "--arch", "volta", "--inst", "wgmma*"});
  EXPECT_EQ(none.code, kBadInput);
  EXPECT_NE(none.err.find("--inst: found \"wgmma*\", allowed: a pattern"), std::string::npos) << none.err;
}

TEST(List, CapabilitiesAreThoseOfTheRows) {
  const nlohmann::json rows = nlohmann::json::parse(run({"list", "--capabilities", "--json"}).out).at("rows");
  std::size_t cells = 0;
  for (const nlohmann::json& row : rows) {
    for (const auto& [architecture, formats] : row.at("results").items())
      for (const auto& [format, evidence] : formats.items()) {
        ++cells;
        EXPECT_NE(find_architecture(architecture), nullptr);
        EXPECT_TRUE(evidence == "recorded" || evidence == "replayed" || evidence == "literature") << evidence;
      }
    if (row.at("types") == "fp8" && row.at("instruction") == "wgmma") {
      EXPECT_EQ(row.at("results").dump(), R"({"hopper":{"f16":"recorded","f32":"recorded"}})");
    }
    if (row.at("instruction") == "tcgen05") {
      EXPECT_FALSE(row.at("results").contains("hopper"));
    }
    // wgmma and tcgen05 run on while the program goes on; mma, wmma and AMD's v_mfma do not.
    const std::string instruction = row.at("instruction");
    EXPECT_EQ(row.at("asynchronous"), instruction.starts_with("wgmma") || instruction.starts_with("tcgen05"))
        << instruction;
  }
  EXPECT_GT(cells, 60U);
  EXPECT_NE(run({"list", "--capabilities"}).out.find("blackwell_rtx"), std::string::npos);
}

TEST(List, CapabilitiesSayWhatTheOcpSpecifies) {
  const nlohmann::json rows = nlohmann::json::parse(run({"list", "--capabilities", "--json"}).out).at("rows");
  std::map<std::string, std::string> ocp;
  for (const nlohmann::json& row : rows)
    ocp[row.at("types").get<std::string>() + " | " + row.at("instruction").get<std::string>()] =
        row.at("ocp").dump();
  const std::map<std::string, std::string> wanted = {
      {"f16 | mma", "[]"},
      {"int8 | wgmma", "[]"},
      {"fp8 | mma", R"(["OFP8"])"},
      {"fp8 | wgmma.sp", R"(["OFP8"])"},
      {"fp8 fnuz | v_mfma", R"(["no"])"},
      {"fp8, fp6, fp4 | tcgen05", R"(["OFP8","elements"])"},
      {"fp8, fp6, fp4 | tcgen05 scaled by ue8m0 per 32", R"(["MX"])"},
      {"fp4 | mma scaled by ue8m0 per 32", R"(["MX"])"},
      {"fp4 | tcgen05 scaled by ue8m0 per 32", R"(["MX"])"},
      {"fp4 | tcgen05 scaled by ue8m0 per 16", R"(["no"])"},
      {"fp4 | tcgen05 scaled by ue4m3 per 16", R"(["no"])"},
  };
  for (const auto& [row, names] : wanted)
    EXPECT_EQ(ocp.contains(row) ? ocp.at(row) : "no such row", names) << row;
}

TEST(List, CoresAreSizesAndRatios) {
  const nlohmann::json rows = nlohmann::json::parse(run({"list", "--cores", "--json"}).out).at("rows");
  std::map<std::string, std::vector<double>> found;
  for (const nlohmann::json& row : rows) {
    const auto ratio = [&](const char* name) {
      return row.at(name).is_null() ? 0 : row.at(name).get<double>();
    };
    if (!row.at("k").is_null()) {
      EXPECT_EQ(row.at("cores_per_sm").get<int>() * row.at("m").get<int>() * row.at("n").get<int>() *
                    row.at("k").get<int>(),
                row.at("fma_per_clock_per_sm"));
    }
    found[row.at("architecture").get<std::string>() + " " + row.at("types").get<std::string>() + " " +
          row.at("instruction").get<std::string>()] = {ratio("k"), row.at("fma_per_clock_per_sm"),
                                                       ratio("ratio_to_f16"), ratio("ratio_to_before")};
  }
  const std::map<std::string, std::vector<double>> wanted = {
      {"volta f16 mma", {4, 512, 1, 0}},
      {"turing f16 mma", {4, 512, 1, 1}},
      {"turing int8 mma", {8, 1024, 2, 0}},
      {"turing int4 mma", {16, 2048, 4, 0}},
      {"ampere f16 mma", {8, 1024, 1, 2}},
      {"ampere bf16 mma", {8, 1024, 1, 0}},
      {"ampere tf32 mma", {4, 512, 0.5, 0}},
      {"ampere f64 mma", {0, 64, 0.06, 0}},
      {"ampere int8 mma", {16, 2048, 2, 2}},
      {"ampere int4 mma", {32, 4096, 4, 2}},
      {"ampere b1 mma", {128, 16384, 16, 0}},
      {"ga10x f16 mma", {0, 512, 1, 1}},
      {"ga10x bf16 mma", {0, 512, 1, 0}},
      {"ga10x tf32 mma", {0, 256, 0.5, 0}},
      {"ga10x int8 mma", {0, 1024, 2, 1}},
      {"ga10x int4 mma", {0, 2048, 4, 1}},
      {"ga10x b1 mma", {0, 8192, 16, 0}},
      {"ada f16 mma", {0, 512, 1, 1}},
      {"ada bf16 mma", {0, 512, 1, 1}},
      {"ada fp8 mma", {0, 1024, 2, 0}},
      {"ada int8 mma", {0, 1024, 2, 1}},
      {"ada int4 mma", {0, 2048, 4, 1}},
      {"hopper f16 mma", {0, 1359, 0.66, 1.33}},
      {"hopper bf16 mma", {0, 1359, 0.66, 1.33}},
      {"hopper tf32 mma", {0, 679, 0.33, 1.33}},
      {"hopper f64 mma", {0, 128, 0.06, 2}},
      {"hopper int8 mma", {0, 2717, 1.33, 1.33}},
      {"hopper b1 mma", {0, 21732, 10.61, 1.33}},
      {"hopper f16 wgmma", {16, 2048, 1, 2}},
      {"hopper bf16 wgmma", {16, 2048, 1, 2}},
      {"hopper tf32 wgmma", {8, 1024, 0.5, 2}},
      {"hopper fp8 wgmma", {32, 4096, 2, 0}},
      {"hopper int8 wgmma", {32, 4096, 2, 2}},
      {"hopper b1 wgmma", {0, 32768, 16, 2}},
      {"blackwell tf32 tcgen05", {8, 2048, 0.5, 2}},
      {"blackwell f16 tcgen05", {16, 4096, 1, 2}},
      {"blackwell bf16 tcgen05", {16, 4096, 1, 2}},
      {"blackwell fp8, fp6, fp4 tcgen05", {32, 8192, 2, 2}},
      {"blackwell int8 tcgen05", {32, 8192, 2, 2}},
      {"blackwell fp8, fp6, fp4 tcgen05 scaled by ue8m0 per 32", {32, 8192, 2, 2}},
      {"blackwell fp4 tcgen05 scaled by ue8m0 per 32", {64, 16384, 4, 0}},
      {"blackwell fp4 tcgen05 scaled by ue8m0 per 16", {64, 16384, 4, 0}},
      {"blackwell fp4 tcgen05 scaled by ue4m3 per 16", {64, 16384, 4, 0}},
      {"blackwell_rtx f16 mma", {0, 512, 1, 1}},
      {"blackwell_rtx bf16 mma", {0, 512, 1, 1}},
      {"blackwell_rtx fp8 mma", {0, 1024, 2, 1}},
      {"blackwell_rtx int8 mma", {0, 1024, 2, 1}},
      {"blackwell_rtx fp8, fp6, fp4 mma", {0, 1024, 2, 1}},
      {"blackwell_rtx fp8, fp6, fp4 mma scaled by ue8m0 per 32", {0, 1024, 2, 1}},
      {"blackwell_rtx fp4 mma scaled by ue8m0 per 32", {0, 2048, 4, 0}},
      {"blackwell_rtx fp4 mma scaled by ue4m3 per 16", {0, 2048, 4, 0}},
  };
  EXPECT_EQ(found, wanted);

  const Outcome text = run({"list", "--cores", "--arch", "hopper"});
  EXPECT_NE(text.out.find("P. Luo's note on Blackwell, Table 10"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("ampere "), std::string::npos) << text.out;
  // The note's Table 10 leaves Hopper's FP8 blank: the row cites what gives its rate.
  const nlohmann::json hopper =
      nlohmann::json::parse(run({"list", "--cores", "--arch", "hopper", "--json"}).out);
  for (const nlohmann::json& row : hopper.at("rows"))
    if (row.at("types") == "fp8") {
      EXPECT_EQ(row.at("source").get<std::string>().substr(0, 11), "NVIDIA H100");
    }
  const Outcome none = run({"list", "--cores", "--arch", "cdna3"});
  EXPECT_EQ(none.code, kBadInput);
  EXPECT_NE(none.err.find("found cdna3"), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("allowed: volta, turing, ampere, "), std::string::npos) << none.err;
}

// Luo et al., Table VII and ptxas: which rows of the table are no instruction of the tensor core.
TEST(List, CapabilitiesSayWhichUnit) {
  const nlohmann::json rows = nlohmann::json::parse(run({"list", "--capabilities", "--json"}).out).at("rows");
  std::map<std::string, std::string> units;
  for (const nlohmann::json& row : rows)
    for (const auto& [architecture, unit] : row.at("units").items())
      units[row.at("types").get<std::string>() + " " + row.at("instruction").get<std::string>() + " " +
            architecture] = unit;
  const std::map<std::string, std::string> wanted = {
      {"fp8 mma ada", "native QMMA"},         {"fp8 mma hopper", "converted HMMA"},
      {"fp8 wgmma hopper", "native QGMMA"},   {"int4 mma ada", "native IMMA"},
      {"int4 mma hopper", "converted IMMA"},  {"f64 mma ampere", "native DMMA"},
      {"b1 mma blackwell", "converted IMMA"}, {"b1 mma hopper", "native BMMA"},
      {"int4 mma turing", "native IMMA"}};
  for (const auto& [what, unit] : wanted) EXPECT_EQ(units[what], unit) << what;
}

}  // namespace
}  // namespace mmaudit::cli::test
