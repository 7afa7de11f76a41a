#include "timing/paper_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::timing {
namespace {

constexpr double kCycle = 1.0, kShare = 0.05;

double number_of(std::string_view text) {
  return text.empty() ? 0 : std::strtod(std::string(text).c_str(), nullptr);
}

std::string_view axis_of(const sweeps::PublishedRow& row, std::string_view name) {
  for (const auto& [axis, value] : row.axes)
    if (axis == name) return value;
  return {};
}
int axis_of(const sweeps::PublishedRow& row, std::string_view name, int otherwise) {
  const std::string_view value = axis_of(row, name);
  return value.empty() ? otherwise : static_cast<int>(number_of(value));
}

/// "A100", "RTX 4090", "H800 PCIe": its first word.
const Machine* machine_of(std::string_view gpu) { return find_machine(gpu.substr(0, gpu.find(' '))); }

std::optional<Instruction> instruction_of(const sweeps::PublishedRow& row) {
  std::string name(row.subjects.front());
  if (const std::size_t at = name.find("nN"); at != std::string::npos)
    name.replace(at, 2, "n" + std::string(axis_of(row, "n")));
  return find_instruction(name);
}

/// The best of a grid, on the whole GPU in TFLOPS or TOPS.
double rate_of_gpu(const Machine& machine, const Instruction& inst, bool registers, double mhz) {
  double best = 0;
  for (const int warps : {4, 8, 16})
    for (const int ilp : {1, 2, 4}) {
      if (is_wgmma(inst.op) && ilp > 1) continue;
      const auto program = chain_program(machine, inst, ilp, kStraight, registers);
      Launch launch;
      launch.warps = warps;
      launch.trips = trips_of(*program);
      best = std::max(best, simulate(machine, *program, launch).work_per_cycle);
    }
  return 2 * best * machine[Parameter::multiprocessors] * mhz * 1e6 / 1e12;
}

/// The source of a fitted number names the cell as tables do: "Sun III, m8n8k16 INT8 (8,2)".
bool is_fitted(const Machine& machine, const sweeps::PublishedRow& row, int warps, int ilp) {
  const std::string_view set = axis_of(row, "set");
  const std::string place =
      set.empty() ? "(" + std::to_string(warps) + "," + std::to_string(ilp) + ")" : "set " + std::string(set);
  const std::string_view subject = row.subjects.front();
  const std::size_t at = subject.find(".m") + 1;
  const std::string_view shape = subject.substr(at, subject.find('.', at) - at);
  return std::any_of(machine.numbers.begin(), machine.numbers.end(), [&](const Number& number) {
    const auto names = [&](std::string_view part) {
      return number.source.find(part) != std::string_view::npos;
    };
    if (number.known != Known::fitted && number.known != Known::published) return false;
    return number.source.starts_with(std::string(row.table) + ",") && names(shape) &&
           (names(place) || place == "(1,1)");
  });
}

std::optional<PaperCell> cell_of(const sweeps::PublishedRow& row,
                                 const std::function<bool(const PaperCell&)>& wanted) {
  PaperCell cell;
  cell.row = &row;
  cell.machine = machine_of(row.gpu);
  if (cell.machine == nullptr) return std::nullopt;
  cell.warps = axis_of(row, "warps", 1);
  cell.ilp = axis_of(row, "ilp", 1);
  cell.ways = axis_of(row, "ways", 1);
  cell.printed_cycles = number_of(row.cycles);
  cell.printed_rate = number_of(row.rate);
  const bool registers = axis_of(row, "a") == "registers", whole_gpu = row.unit == "TFLOPS";
  // With random operands the clock of the whole GPU falls under the power limit: no business of this model.
  if (whole_gpu && axis_of(row, "init") == "random") cell.printed_rate = 0;
  cell.loop = &loop_of(row.table);
  std::optional<Program> program;
  const auto inst = instruction_of(row);
  if (inst) {
    program = chain_program(*cell.machine, *inst, cell.ilp, *cell.loop, registers);
  } else if (const auto access = shared_access(row.subjects.front(), cell.ways)) {
    program = load_program(*cell.machine, *access, cell.ilp, *cell.loop);
  }
  if (!program) return std::nullopt;
  cell.program = program->name;
  if (wanted && !wanted(cell)) return std::nullopt;
  cell.fitted = is_fitted(*cell.machine, row, cell.warps, cell.ilp);
  if (const int set = axis_of(row, "set", 0); set > 0) {
    cell.cycles = set_clocks(*cell.machine, *inst).at(static_cast<std::size_t>(set - 1));
    return cell;
  }
  Launch launch;
  launch.warps = cell.warps;
  launch.trips = trips_of(*program);
  const Timing timing = simulate(*cell.machine, *program, launch);
  cell.cycles = timing.cycles_per_step;
  cell.rate = timing.work_per_cycle;
  const double printed_work = cell.printed_cycles * cell.printed_rate, work = cell.cycles * cell.rate;
  cell.contradicts = !whole_gpu && printed_work > 0 && std::fabs(printed_work / work - 1) > kShare;
  if (whole_gpu && cell.printed_rate > 0) {
    const double mhz = row.mhz.empty() ? (*cell.machine)[Parameter::clock_mhz] : number_of(row.mhz);
    cell.rate = rate_of_gpu(*cell.machine, *inst, registers, mhz);
  }
  return cell;
}

}  // namespace

bool PaperCell::cycles_agree() const { return std::fabs(cycles - printed_cycles) <= kCycle; }
bool PaperCell::rate_agrees() const { return std::fabs(rate / printed_rate - 1) <= kShare; }

const Loop& loop_of(std::string_view table) {
  return table.starts_with("Raihan") ? kAlone : table.starts_with("Luo") ? kStraight : kPaperLoop;
}

std::vector<PaperCell> paper_cells(const std::function<bool(const PaperCell&)>& wanted) {
  constexpr std::string_view kTables[] = {"Sun III", "Sun IV",   "Sun V",  "Sun VI", "Sun VII", "Sun IX",
                                          "Sun X",   "Luo VIII", "Luo IX", "Luo X",  "Luo XI",  "Raihan I"};
  std::vector<PaperCell> cells;
  for (const sweeps::PublishedRow& row : sweeps::published_rows()) {
    if (std::find(std::begin(kTables), std::end(kTables), row.table) == std::end(kTables)) continue;
    if (const auto cell = cell_of(row, wanted)) cells.push_back(*cell);
  }
  return cells;
}

std::vector<PaperScore> scores_of(const std::vector<PaperCell>& cells) {
  std::vector<PaperScore> scores;
  for (const PaperCell& cell : cells) {
    auto at = std::find_if(scores.begin(), scores.end(), [&](const PaperScore& score) {
      return score.table == cell.row->table && score.gpu == cell.row->gpu;
    });
    if (at == scores.end()) {
      at = scores.insert(scores.end(), PaperScore{});
      at->table = cell.row->table;
      at->gpu = cell.row->gpu;
      at->loop = cell.loop->name;
    }
    at->contradicting += cell.contradicts;
    if (cell.contradicts) continue;
    const auto count = [&](bool printed, bool agrees, int& agreeing, int& all) {
      if (!printed) return;
      agreeing += agrees;
      ++all;
      if (cell.fitted) return;
      at->held_out += agrees;
      ++at->of_held_out;
    };
    at->fitted += cell.fitted;
    count(cell.printed_cycles > 0, cell.cycles_agree(), at->cycles, at->of_cycles);
    count(cell.printed_rate > 0, cell.rate_agrees(), at->rates, at->of_rates);
  }
  return scores;
}

}  // namespace mmaudit::timing
