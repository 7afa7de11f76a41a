// A recording of a block-scaled instruction, as `baseline corpus` would write it and with the model's D:
// every command that reads recordings reads its scales.
#include <nlohmann/json.hpp>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/value_text.hpp"
#include "program.hpp"
#include "verify.hpp"

namespace mmaudit::cli::test {
namespace {

class ScaledRecording : public Folder {
 protected:
  /// Directed tiles and one of each input class.
  static corpus::Recording recorded(const Instruction& inst) {
    const Datapath datapath = find_datapath(*find_architecture("sm_120"), inst)->datapath;
    TileBatch tiles(inst);
    std::vector<corpus::FamilyRange> families = {{"directed", gen::append_directed(tiles, datapath, 0)}};
    const gen::GeneratorSpec generator = gen::make_generator_spec(inst, datapath);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      gen::append_class(tiles, generator, input_class, 1, 0, 1, 0);
      families.push_back({std::string(gen::name_of(input_class)), 1});
    }
    emulate(inst, datapath, tiles.view());
    const Provenance provenance = {.gpu = "the model",
                                   .driver = "none",
                                   .cuda = "none",
                                   .compute_capability = 120,
                                   .version = {},
                                   .revision = "0",
                                   .date = "2026-01-01",
                                   .seed = 1,
                                   .command = {}};
    return corpus::recording_of(std::move(tiles), std::move(families), provenance,
                                std::string(gen::kGeneratorVersion));
  }
  void write(const std::string& name, const corpus::Recording& recording) const {
    corpus::write_recording(path(name + ".safetensors"), recording);
  }
};

constexpr const char* kNvfp4 = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3";

TEST_F(ScaledRecording, EveryNarrowInstructionReplays) {
  std::size_t dots = 0, instructions = 0;
  for (const Instruction& inst : kInstructions) {
    if (is_tcgen05(inst.op) || inst.kind == MmaKind::none) continue;
    const corpus::Recording recording = recorded(inst);
    write(name_of(inst), recording);
    dots += recording.d.elements();
    ++instructions;
  }
  EXPECT_EQ(instructions, 2 * 78U);
  const Outcome outcome = run({"-q", "verify", "--corpus", path("")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("156 instructions, " + std::to_string(dots) + " dot products, 0 mismatches"),
            std::string::npos)
      << outcome.out;
}

TEST_F(ScaledRecording, AChangedScaleIsAMismatchThatSaysTheScales) {
  corpus::Recording recording = recorded(find_instruction(kNvfp4).value());
  for (std::byte& scale : recording.scale_b.data) scale ^= std::byte{8};
  write("changed", recording);
  const Outcome outcome = run({"-q", "verify", "--corpus", path(""), "--json", path("v.json")});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("--scale-b "), std::string::npos) << outcome.out;
  const Outcome json = run({"-q", "verify", "--corpus", path(""), "--json"});
  const auto examples = nlohmann::json::parse(json.out).at("instructions").at(0).at("examples");
  ASSERT_FALSE(examples.empty());
  EXPECT_EQ(examples.at(0).at("scale_a").size(), 4U);
  EXPECT_EQ(examples.at(0).at("scale_b").size(), 4U);
}

TEST_F(ScaledRecording, ExplainReadsTheScalesOfItsElement) {
  const Instruction inst = find_instruction(kNvfp4).value();
  const corpus::Recording recording = recorded(inst);
  write("one", recording);
  for (const auto& [row, column] : {std::pair{0, 0}, {5, 3}, {15, 7}}) {
    const Outcome outcome =
        run({"explain", "--arch", "sm_120", "--tile", path("one.safetensors"), "--index", "2", "--row",
             std::to_string(row), "--col", std::to_string(column), "--json"});
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    const auto said = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(said.at("recorded"), said.at("traces").at(0).at("d"));
    for (std::size_t block = 0; block < 4; ++block) {
      const auto a =
          recording.scale_a.data[(std::size_t{2} * 16 + static_cast<std::size_t>(row)) * 4 + block];
      const auto b =
          recording.scale_b.data[(std::size_t{2} * 4 + block) * 8 + static_cast<std::size_t>(column)];
      const nlohmann::json& scales = said.at("traces").at(0).at("scales");
      EXPECT_EQ(scales.at("a").at(block), hex_text(std::to_integer<std::uint64_t>(a), 8));
      EXPECT_EQ(scales.at("b").at(block), hex_text(std::to_integer<std::uint64_t>(b), 8));
    }
  }
}

TEST_F(ScaledRecording, LawsReadScales) {
  corpus::Recording recording = recorded(find_instruction(kNvfp4).value());
  write("one", recording);
  const std::vector<std::string> command = {"-q",
                                            "verify",
                                            "laws",
                                            "--on",
                                            "corpus",
                                            "--arch",
                                            "sm_120",
                                            "--corpus",
                                            path(""),
                                            "--law",
                                            "follows_the_documented_model"};
  const Outcome right = run(command);
  EXPECT_EQ(right.code, kAllGood) << right.out << right.err;
  for (std::byte& scale : recording.scale_a.data) scale ^= std::byte{8};
  write("one", recording);
  EXPECT_EQ(run(command).code, kMismatch);
}

TEST_F(ScaledRecording, MutantsOfScalesAreContradicted) {
  write("one", recorded(find_instruction(kNvfp4).value()));
  const Outcome outcome = run({"-q", "verify", "--corpus", path(""), "--strength", "--json"});
  ASSERT_TRUE(outcome.code == kAllGood || outcome.code == kMismatch) << outcome.err;
  EXPECT_NE(outcome.out.find("scale"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace mmaudit::cli::test
