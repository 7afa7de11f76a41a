// Which unit computes an instruction on which GPU: the table, what ptxas makes of the instruction, the
// datapaths and the timing model say the same.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "mmaudit/datapath_text.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/sass/opcode.hpp"
#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts{""};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text.compare(i, by.size(), by) == 0) {
      parts.emplace_back();
      i += by.size() - 1;
    } else {
      parts.back() += text[i];
    }
  return parts;
}

struct Made {
  std::string name;
  std::vector<std::string> targets;
  std::map<std::string, int> opcodes;
  bool calls = false;
};

const std::vector<Made>& made_by_ptxas() {
  static const std::vector<Made> all = [] {
    std::vector<Made> rows;
    std::ifstream file(MMAUDIT_TIMING_DATA "/sass_units.csv");
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> cells = split(line, ",");
      if (line.starts_with("#") || line.starts_with("instruction,") || cells.size() != 4) continue;
      Made row{cells[0], split(cells[1], " "), {}, !cells[3].empty()};
      if (!cells[2].empty())
        for (const std::string& one : split(cells[2], "; "))
          row.opcodes[one.substr(one.find(' ') + 1)] += std::stoi(one);
      rows.push_back(row);
    }
    return rows;
  }();
  return all;
}

bool of_types(const std::string& opcode, const Instruction& inst) {
  const auto found = sass::matrix_instruction(opcode);
  if (!found) return false;
  return core_type_of(*found) == core_type_of(inst);
}

TEST(Units, AreWhatPtxasMakes) {
  int rows = 0;
  std::map<UnitUse, int> uses;
  for (const Made& made : made_by_ptxas()) {
    const auto inst = find_instruction(made.name);
    ASSERT_TRUE(inst) << made.name;
    for (const std::string& target : made.targets) {
      if (target == "sm_110a") continue;  // no generation of ours has the alias
      const Architecture* architecture = find_architecture(target);
      ASSERT_NE(architecture, nullptr) << target;
      const auto path = path_of(*architecture, *inst);
      ASSERT_TRUE(path) << made.name << " on " << target;
      bool same = true;
      for (const auto& [opcode, count] : made.opcodes) {
        same = same && of_types(opcode, *inst);
        EXPECT_EQ(sass::base_of(opcode), path->opcode) << made.name << " on " << target;
      }
      const UnitUse use = made.opcodes.empty()  ? UnitUse::code
                          : made.calls || !same ? UnitUse::converted
                                                : UnitUse::native;
      EXPECT_EQ(name_of(path->use), name_of(use)) << made.name << " on " << target;
      EXPECT_EQ(path->opcode.empty(), use == UnitUse::code);
      ++uses[use];
      ++rows;
    }
  }
  EXPECT_GT(rows, 1500);
  for (const UnitUse use : {UnitUse::native, UnitUse::converted, UnitUse::code}) EXPECT_GT(uses[use], 20);
}

TEST(Units, PtxasWasAskedForEveryInstructionOfAWarp) {
  std::set<std::string> asked;
  for (const Made& made : made_by_ptxas())
    for (const std::string& target : made.targets)
      asked.insert(made.name + std::string(find_architecture(target) ? find_architecture(target)->name : ""));
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions)
      if (!is_asynchronous(inst.op) && architecture.compute_capability >= 75 && path_of(architecture, inst)) {
        EXPECT_TRUE(asked.contains(name_of(inst) + std::string(architecture.name)))
            << name_of(inst) << " on " << architecture.name;
      }
}

TEST(Units, WmmaHasThePartsThatPtxasMakes) {
  int rows = 0;
  for (const Made& made : made_by_ptxas()) {
    const Instruction inst = find_instruction(made.name).value();
    if (inst.op != Op::wmma) continue;
    for (const std::string& target : made.targets) {
      const Machine* machine = find_machine(target);
      if (machine == nullptr || path_of(machine->architecture(), inst)->use != UnitUse::native) continue;
      ASSERT_EQ(made.opcodes.size(), 1U);
      const auto& [opcode, count] = *made.opcodes.begin();
      const auto one = sass::matrix_instruction(opcode);
      const MmaParts parts = parts_of(machine->architecture(), inst);
      EXPECT_EQ(parts.side_by_side * parts.in_a_row, count) << made.name << " on " << target;
      EXPECT_TRUE(parts.part.m == one->m && parts.part.n == one->n && parts.part.k == one->k)
          << made.name << " on " << target << ": " << name_of(parts.part) << ", " << opcode;
      ++rows;
    }
  }
  EXPECT_GT(rows, 100);
}

TEST(Units, DatapathsWithoutAUnitAreTheOnesThatWiden) {
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions) {
      const auto path = path_of(architecture, inst);
      if (!path) continue;
      const Datapath& datapath = find_datapath(architecture, inst)->datapath;
      const bool ieee = datapath.subnormal_operand == SubnormalRule::normalised;  // FFMA and FADD
      EXPECT_EQ(path->use == UnitUse::code, ieee) << name_of(inst) << " on " << architecture.name;
      EXPECT_EQ(path->use == UnitUse::converted && path->opcode == "HMMA", datapath.widen_to == Format::f16)
          << name_of(inst) << " on " << architecture.name;
    }
}

// Turing's published 4 x 4 x 4 takes two clocks for the 8 products of its datapath's step.
TEST(Units, DepthOfACoreIsTheStepOfTheDatapath) {
  int compared = 0;
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions) {
      const auto depth = core_depth(architecture, inst);
      if (!depth || inst.op == Op::wmma || inst.unit == units::mma_884 || spec_of(inst.a).integer() ||
          inst.a == Format::b1)
        continue;
      const int step = products_per_step_of(inst, find_datapath(architecture, inst)->datapath);
      const int clocks = architecture.name == "turing" ? 2 : 1;
      if (step < inst.k || clocks == 2) {
        EXPECT_EQ(step, clocks * *depth) << name_of(inst) << " on " << architecture.name;
      }
      ++compared;
    }
  EXPECT_GT(compared, 50);
}

TEST(Units, TimeIsGivenWhereTheUnitIsAndANumberAndNowhereElse) {
  int timed = 0, unknown = 0, none = 0;
  for (const Machine& machine : machines())
    for (Instruction inst : kInstructions) {
      if (find_datapath(machine.architecture(), inst) == nullptr || inst.op == Op::mfma) continue;
      if (inst.n == 0) inst.n = 64;
      const bool native = path_of(machine.architecture(), inst)->use == UnitUse::native;
      const std::string what = name_of(inst) + " on " + std::string(machine.name);
      try {
        const auto program = chain_program(machine, inst, 1, kPaperLoop);
        EXPECT_EQ(program.has_value(), native) << what;
        (program ? timed : none) += 1;
        if (!program) continue;
        EXPECT_GT(program->ops.size(), 0U) << what;
        const CoreType type = core_type_of(inst).value();
        const int ceiling = core_ceiling(machine.architecture().compute_capability, type);
        if (ceiling == 0) continue;
        Launch launch;
        launch.warps = 8;
        launch.trips = 60;  // the fill and drain of so few are in the tolerance
        EXPECT_LE(simulate(machine, *program, launch).work_per_cycle,
                  1.015 * ceiling * (is_sparse(inst.op) ? 2 : 1))
            << what;
      } catch (const InputError& error) {
        EXPECT_TRUE(native) << what;
        EXPECT_NE(std::string(error.what()).find("in a time that no source gives, allowed: "),
                  std::string::npos)
            << error.what();
        ++unknown;
      }
    }
  EXPECT_GT(timed, 500);
  EXPECT_GT(unknown, 10);
  EXPECT_GT(none, 10);
}

TEST(Units, ExamplesOfEachKind) {
  const auto rate = [](std::string_view machine, std::string_view name) {
    const auto program = chain_program(*find_machine(machine), *find_instruction(name), 4, kPaperLoop);
    if (!program) return 0.0;
    Launch launch;
    launch.warps = 16;
    launch.trips = 100;
    return simulate(*find_machine(machine), *program, launch).work_per_cycle;
  };
  for (const char* machine : {"ga100", "ga104", "ad102", "hopper"})
    EXPECT_EQ(rate(machine, "mma.m8n8k4.f32.f16.f16.f32"), 0) << machine;
  // Per clock and SM of an RTX 4090 and an RTX 2080 Ti, from the documents' T(FL)OPS.
  EXPECT_NEAR(rate("ad102", "mma.m16n8k32.f16.e4m3.e4m3.f16"), 660.6e12 / 2 / 128 / 2.52e9, 15);
  EXPECT_NEAR(rate("ad102", "mma.m16n8k32.f32.e4m3.e5m2.f32"), 330.3e12 / 2 / 128 / 2.52e9, 15);
  EXPECT_NEAR(rate("ad102", "mma.m16n8k64.s32.s4.s4.s32"), 1321.2e12 / 2 / 128 / 2.52e9, 30);
  EXPECT_NEAR(rate("tu102", "mma.m8n8k32.s32.s4.s4.s32"), 455.4e12 / 2 / 68 / 1.635e9, 40);
  const auto why = [](std::string_view machine, std::string_view name) -> std::string {
    try {
      chain_program(*find_machine(machine), *find_instruction(name), 1, kPaperLoop);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(why("ga100", "mma.m8n8k4.f64.f64.f64.f64"),
            "--inst: found mma.m8n8k4.f64.f64.f64.f64, which the tensor cores of ga100 compute (DMMA) in a "
            "time that "
            "no source gives, allowed: --machine with tensor.latency.f64");
  EXPECT_EQ(why("v100", "mma.m8n8k4.f32.f16.f16.f32"),
            "--inst: found mma.m8n8k4.f32.f16.f16.f32, which the tensor cores of v100 compute (HMMA) in a "
            "time that no "
            "source gives, allowed: instructions that were timed");
}

// Raihan et al. 2019, Table I: 99 cycles for one. Of a row of them each takes the unit four times 16 cycles.
TEST(Units, WmmaOfTuringIsOfItsOwnMma) {
  const auto program = chain_program(*find_machine("tu102"),
                                     *find_instruction("wmma.m16n16k16.f32.f16.f16.f32"), 1, kPaperLoop);
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->text.front().starts_with("mma.m16n8k8.f32.f16.f16.f32")) << program->text.front();
  EXPECT_TRUE(program->alone.starts_with("43, 59, 75, 99 cycles")) << program->alone;
  Launch launch;
  launch.warps = 1;
  launch.trips = 50;
  EXPECT_NEAR(simulate(*find_machine("tu102"), *program, launch).cycles_per_step, 64, 1);
}

TEST(Peaks, AreWhatDocumentsPrint) {
  struct Printed {
    int capability;
    CoreType type;
    double tera, sms, ghz;
  };
  constexpr Printed kPrinted[] = {
      {70, CoreType::f16, 125, 80, 1.53},     {80, CoreType::f16, 312, 108, 1.41},
      {80, CoreType::tf32, 156, 108, 1.41},   {80, CoreType::int8, 624, 108, 1.41},
      {80, CoreType::f64, 19.5, 108, 1.41},   {89, CoreType::f16, 330.3, 128, 2.52},
      {90, CoreType::f16, 989.4, 132, 1.83},  {90, CoreType::fp8, 1978.9, 132, 1.83},
      {90, CoreType::f64, 66.9, 132, 1.98},   {86, CoreType::int4, 598.7, 84, 1.74},
      {120, CoreType::int8, 838, 170, 2.407}, {120, CoreType::fp4, 1676, 170, 2.407},
      {75, CoreType::int8, 227.7, 68, 1.635}};
  for (const Printed& one : kPrinted)
    EXPECT_NEAR(core_ceiling(one.capability, one.type) / (one.tera * 1e12 / 2 / one.sms / (one.ghz * 1e9)), 1,
                0.01)
        << one.capability << " " << static_cast<int>(one.type);
  EXPECT_EQ(core_ceiling(90, CoreType::int4), 0);
  EXPECT_EQ(core_ceiling(90, CoreType::b1), 0);     // measured alone
  EXPECT_EQ(core_ceiling(87, CoreType::int8), 0);   // Orin's are others
  EXPECT_EQ(core_ceiling(103, CoreType::int8), 0);  // B300 lacks it
}

TEST(Peaks, OfATypeThatTheTensorCoreHas) {
  for (const CorePeak& peak : kCorePeaks) {
    EXPECT_GE(peak.source.size(), 10U);
    bool has = false;
    for (const Instruction& inst : kInstructions) {
      const auto path = path_of(*find_architecture(peak.architecture), inst);
      has = has || (path && path->use == UnitUse::native && core_type_of(inst) == peak.type &&
                    is_asynchronous(inst.op) == peak.asynchronous);
    }
    EXPECT_TRUE(has) << peak.architecture << " " << static_cast<int>(peak.type);
  }
}

TEST(Peaks, TheMachinesAreFromThem) {
  using enum Parameter;
  constexpr std::pair<Parameter, CoreType> kRates[] = {
      {rate_f16_f16, CoreType::f16}, {rate_f16_f32, CoreType::f16}, {rate_tf32, CoreType::tf32},
      {rate_fp8_f16, CoreType::fp8}, {rate_fp8_f32, CoreType::fp8}, {rate_int8, CoreType::int8},
      {rate_int4, CoreType::int4},   {rate_bits, CoreType::b1},     {rate_f64, CoreType::f64}};
  int equal = 0;
  for (const Machine& machine : machines())
    for (const auto& [rate, type] : kRates) {
      const int ceiling = core_ceiling(machine.architecture().compute_capability, type);
      if (ceiling == 0 || machine[rate] == 0) continue;
      EXPECT_LE(4 * machine[rate], ceiling) << machine.name << " " << static_cast<int>(type);
      equal += 4 * machine[rate] == ceiling;
    }
  EXPECT_GE(equal, 20);
}

}  // namespace
}  // namespace mmaudit::timing
