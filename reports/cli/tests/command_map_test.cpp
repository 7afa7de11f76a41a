// Which commands there are, and that those with an older name still work.
#include <regex>
#include <set>

#include "program.hpp"
#include "respelled.hpp"

namespace mmaudit::cli::test {
namespace {

/// The commands that a help text lists.
std::vector<std::string> listed(const std::string& help) {
  std::istringstream lines(help.substr(0, help.find("Options of every command:")));
  std::vector<std::string> out;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, match, std::regex("^  ([a-z][a-z0-9]*)(  |$)"))) out.push_back(match[1]);
  return out;
}

/// The words of `spelling` that are commands.
std::string command_of(std::string_view spelling) {
  return std::string(spelling.substr(0, spelling.find(" --")));
}

std::string note_of(const Respelled& one) {
  return "mmaudit: `" + std::string(one.was) + "` is now `" + std::string(one.is) + "`\n";
}

class CommandMap : public Folder {};

TEST_F(CommandMap, HelpListsNoMoreThanAPersonReads) {
  const std::vector<std::string> names = listed(run({"--help"}).out);
  EXPECT_EQ(names, (std::vector<std::string>{"audit", "model", "explain", "list", "convert", "probe",
                                             "matmul", "gemm", "attention", "collective", "tcgen05", "verify",
                                             "baseline", "trace", "screen", "sweep", "time", "doctor"}));
  EXPECT_LE(names.size(), 18U);
  for (const auto& [outer, inner] : {std::pair{"explain", "layout"},
                                     {"convert", "pack"},
                                     {"verify", "laws"},
                                     {"verify", "campaign"},
                                     {"baseline", "corpus"}}) {
    const std::vector<std::string> found = listed(run({outer, "--help"}).out);
    EXPECT_NE(std::find(found.begin(), found.end(), inner), found.end()) << outer << ' ' << inner;
  }
}

TEST_F(CommandMap, EveryOldSpellingWorksAndSaysTheNewOne) {
  for (const Respelled& one : kRespelled) {
    const std::string was(one.was), usage = "\n  mmaudit " + command_of(one.is) + " ";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{was, "--help"}, {"--color", "never", was, "-h"}, {"help", was}}) {
      const Outcome old = run(words);
      EXPECT_EQ(old.code, kAllGood) << was;
      EXPECT_NE(old.out.find(usage), std::string::npos) << old.out;
      EXPECT_EQ(old.err, note_of(one));
    }
    EXPECT_EQ(run({"-q", was, "--help"}).err, "");
    EXPECT_EQ(run({was, "--quiet", "--help"}).err, "");
  }
}

TEST_F(CommandMap, OldAndNewSpellingGiveTheSame) {
  const std::string inst = "mma.m16n8k16.f32.f16.f16.f32";
  for (const auto& [was, is] :
       {std::pair<std::vector<std::string>, std::vector<std::string>>{{"laws", "--list"},
                                                                      {"verify", "laws", "--list"}},
        {{"layout", "--inst", inst}, {"explain", "layout", "--inst", inst}},
        {{"campaign", "--show", "none"}, {"verify", "campaign", "--show", "none"}},
        {{"emulate", "--inst", inst, "--a", "none.npy", "--b", "none.npy", "--out", "d.npy"},
         {"matmul", "--tiles", "--inst", inst, "--a", "none.npy", "--b", "none.npy", "--out", "d.npy"}},
        {{"diff", "none", "none"}, {"baseline", "diff", "none", "none"}},
        {{"record", "--inst", "none"}, {"baseline", "corpus", "--inst", "none"}}}) {
    std::vector<std::string> quiet = was;
    quiet.emplace_back("-q");
    const Outcome old = run(quiet), now = run(is);
    EXPECT_EQ(old.code, now.code);
    EXPECT_EQ(old.out, now.out);
    EXPECT_EQ(old.err, now.err);
  }
}

TEST_F(CommandMap, DocumentedAsTheTableIs) {
  const std::string page = read(MMAUDIT_SCHEMAS "/../cli.md");
  std::string rows;
  for (const Respelled& one : kRespelled)
    rows += "| `" + std::string(one.was) + "` | `" + std::string(one.is) + "` |\n";
  EXPECT_NE(page.find("| was | is |\n|---|---|\n" + rows + "\n"), std::string::npos) << rows;
}

TEST_F(CommandMap, AWordIsACommandOnlyInItsPlace) {
  EXPECT_EQ(run({"convert", "--to", "e4m3", "--in", "laws"}).err.find("is now"), std::string::npos);
  const Outcome file = run({"verify", "campaign", "--merge", "laws", "campaign", "--out", path("x.json")});
  EXPECT_NE(file.err.find("laws: cannot read"), std::string::npos) << file.err;
}

TEST_F(CommandMap, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "audit"}).out, run({"audit", "--help"}).out);
  EXPECT_EQ(run({"help", "verify", "laws"}).out, run({"verify", "laws", "--help"}).out);
  EXPECT_EQ(run({"version"}).out, run({"--version"}).out);
  for (const char* name : {"nope", "run nothing"})
    EXPECT_NE(run({"help", name}).err.find("command: found " + std::string(name) + ", allowed: "),
              std::string::npos);
}

TEST_F(CommandMap, CompletionsAndManualPagesWorkUnseen) {
  const std::string script = run({"completions", "bash"}).out, page = run({"man"}).out;
  for (const Respelled& one : kRespelled) {
    EXPECT_EQ(script.find("'mmaudit " + std::string(one.was) + "'"), std::string::npos) << one.was;
    EXPECT_EQ(page.find("mmaudit\\-" + std::string(one.was) + " (1)"), std::string::npos) << one.was;
  }
  for (const std::string name : {"man", "completions", "help", "version"}) {
    EXPECT_EQ(script.find("'mmaudit " + name + "'"), std::string::npos) << name;
    EXPECT_EQ(page.find("mmaudit\\-" + name), std::string::npos) << name;
  }
}

TEST_F(CommandMap, TilesAndProductsHaveTheirOwnOptions) {
  const std::vector<std::string> product = {
      "matmul", "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--a", "a.npy", "--b", "b.npy"};
  const auto refusal = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> words = product;
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, kBadInput) << outcome.err;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(refusal({}).find("--out: found nothing"), std::string::npos);
  EXPECT_NE(refusal({"--tiles"}).find("--out: found nothing"), std::string::npos);
  EXPECT_NE(refusal({"--on", "gpu"}).find("--out: found nothing"), std::string::npos);
  EXPECT_NE(refusal({"--on", "both"}).find("a.npy"), std::string::npos);
  EXPECT_NE(refusal({"--negate-a", "--out", "d.npy"}).find("--negate-a: found without --tiles"),
            std::string::npos);
  EXPECT_NE(refusal({"--tiles", "--promote", "8", "--out", "d.npy"}).find("--promote: found with tiles"),
            std::string::npos);
  EXPECT_NE(refusal({"--on", "both", "--threads", "2"}).find("--threads: found with tiles"),
            std::string::npos);
  EXPECT_NE(refusal({"--on", "gpu", "--arch", "ada", "--out", "d.npy"}).find("--arch, --model: found with"),
            std::string::npos);
}

TEST_F(CommandMap, OptionsOfTheOuterCommandAreNotIgnored) {
  EXPECT_NE(run({"verify", "laws", "--families"})
                .err.find("--families: found with `mmaudit verify laws`, allowed: with `mmaudit verify`"),
            std::string::npos);
  EXPECT_EQ(run({"verify", "--live", "laws", "--list"}).code, kBadInput);
  EXPECT_EQ(run({"verify", "laws", "--list", "-q"}).code, kAllGood);
}

TEST_F(CommandMap, AnUnknownNameIsAnsweredByTheNearest) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"list", "--arch", "hoper"}, "(did you mean hopper?), allowed: hopper, "},
      {{"list", "--arch", "foo"}, " more: `mmaudit list`)"},
      {{"convert", "--to", "e4m4", "1"}, "allowed: e4m3, "},
      {{"audit", "--a", "x", "--b", "y", "--dtype", "nvf5"}, "(did you mean nvf4?), allowed: nvf4, "},
      {{"explain", "--inst", "mma.m16n8k16.f32.f16.f17.f32"}, "allowed: mma.m16n8k16.f32.f16.f16.f32, "},
      {{"layuot"}, "(did you mean explain layout?)"},
      {{"audit", "--dtpye", "e4m3"}, "allowed: --dtype, "}};
  for (const auto& [words, text] : refused) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, kBadInput) << text;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err << text;
    const std::string allowed = outcome.err.substr(outcome.err.find("allowed: "));
    EXPECT_LE(std::count(allowed.begin(), allowed.end(), ','), 3) << outcome.err;
  }
}

TEST_F(CommandMap, AnOptionOfTensorsIsBlamedWithoutThem) {
  const Outcome outcome = run({"audit", "--no-files", "--threads", "1"});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_EQ(outcome.err,
            "mmaudit: --threads: found without tensors, allowed: with --a and --b, or --capture\n");
}

}  // namespace
}  // namespace mmaudit::cli::test
