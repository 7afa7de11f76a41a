#include "mmaudit/timing/machine.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <stdexcept>

#include "mmaudit/csv.hpp"
#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::timing {
namespace {

constexpr ParameterText kTexts[] = {
#define MMAUDIT_TEXT(ENUMERATOR, NAME, UNIT, MEANING) {NAME, UNIT, MEANING},
    MMAUDIT_TIMING_PARAMETERS(MMAUDIT_TEXT)
#undef MMAUDIT_TEXT
};

constexpr std::string_view kKnown[] = {"measured", "published", "compiler", "fitted"};
constexpr std::string_view kTypes[] = {"f16", "tf32", "fp8", "fp4", "int8", "int4", "b1", "f64"};

struct MachineFile {
  std::string_view name, text;
};
constexpr MachineFile kFiles[] = {
#include "timing_machine_files.hpp"
};

/// What a Machine has views of.
struct Row {
  Machine machine;
  std::string_view like;
  std::vector<std::string_view> aliases;
  std::vector<Number> numbers;
};

template <class Enum, std::size_t Count>
std::optional<Enum> find_in(const std::string_view (&names)[Count], std::string_view name) {
  const auto* const at = std::find(std::begin(names), std::end(names), name);
  return at == std::end(names) ? std::nullopt : std::optional(static_cast<Enum>(at - std::begin(names)));
}

/// A sub-core's share of what a document says of the four of a multiprocessor.
std::optional<Number> documented(Parameter parameter, std::string_view architecture, std::string_view type,
                                 bool asynchronous) {
  const auto core = find_in<CoreType>(kTypes, type);
  const CorePeak* const peak = core ? find_peak(architecture, *core, asynchronous) : nullptr;
  if (peak == nullptr) return std::nullopt;
  return Number{parameter, peak->fma / 4.0, peak->measured ? Known::measured : Known::published,
                peak->source};
}

std::optional<Number> number_of(const Machine& machine, const std::vector<std::string_view>& cells) {
  const auto parameter = find_parameter(cells[0]);
  if (!parameter || cells.size() < 3) return std::nullopt;
  if (cells[2] == "documented") return documented(*parameter, machine.generation, cells[1], cells.size() > 3);
  const auto value = whole_number<double>(cells[1]);
  const auto known = find_in<Known>(kKnown, cells[2]);
  if (!value || !known || cells.size() != 4) return std::nullopt;
  return Number{*parameter, *value, *known, cells[3]};
}

Row row_of(const MachineFile& file) {
  Row row;
  row.machine.name = file.name;
  for (const std::vector<std::string_view>& cells : csv::rows_of(file.text, "")) {
    const std::string_view key = cells[0], value = cells.size() > 1 ? cells[1] : std::string_view();
    if (key == "gpu") {
      row.machine.gpu = value;
    } else if (key == "alias") {
      row.aliases.push_back(value);
    } else if (key == "generation") {
      row.machine.generation = value;
    } else if (key == "loop") {
      row.machine.loop = value;
    } else if (key == "like") {
      row.like = value;
    } else if (const auto number = number_of(row.machine, cells)) {
      row.numbers.push_back(*number);
    } else {
      throw std::logic_error("emulator/timing/machines: " + csv::line_of(cells, ""));
    }
  }
  return row;
}

/// The numbers of another machine, but for the row's own.
void take_numbers(Row& row, const std::deque<Row>& all) {
  if (row.like.empty()) return;
  row.machine.stands_for_generation = false;
  const auto base =
      std::find_if(all.begin(), all.end(), [&](const Row& one) { return one.machine.name == row.like; });
  if (base == all.end()) throw std::logic_error("emulator/timing/machines: like " + std::string(row.like));
  std::vector<Number> numbers = base->numbers;
  for (const Number& own : row.numbers)
    std::replace_if(
        numbers.begin(), numbers.end(), [&](const Number& one) { return one.parameter == own.parameter; },
        own);
  row.numbers = std::move(numbers);
}

bool same_name(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

const std::array<Machine, std::size(kFiles)>& sorted() {
  static const auto rows = [] {
    std::deque<Row> all;
    for (const MachineFile& file : kFiles) all.push_back(row_of(file));
    for (Row& row : all) take_numbers(row, all);
    return all;
  }();
  static const auto by_name = [] {
    std::array<Machine, std::size(kFiles)> all;
    std::transform(rows.begin(), rows.end(), all.begin(), [](const Row& row) {
      Machine machine = row.machine;
      machine.aliases = row.aliases;
      machine.numbers = row.numbers;
      return machine;
    });
    std::stable_sort(all.begin(), all.end(), [](const Machine& x, const Machine& y) {
      return x.architecture().compute_capability < y.architecture().compute_capability;
    });
    return all;
  }();
  return by_name;
}

}  // namespace

std::span<const ParameterText> parameter_texts() { return kTexts; }

std::optional<Parameter> find_parameter(std::string_view name) {
  for (std::size_t i = 0; i < kParameters; ++i)
    if (kTexts[i].name == name) return static_cast<Parameter>(i);
  return std::nullopt;
}

std::string_view name_of(Known known) { return kKnown[static_cast<std::size_t>(known)]; }

std::vector<std::string_view> Machine::names() const {
  std::vector<std::string_view> all{name};
  all.insert(all.end(), aliases.begin(), aliases.end());
  if (!stands_for_generation) return all;
  all.push_back(generation);
  const std::string own = "sm_" + std::to_string(architecture().compute_capability);
  for (const std::string_view alias : architecture().aliases)
    if (alias.starts_with(own)) all.push_back(alias);
  return all;
}

double Machine::operator[](Parameter parameter) const {
  if (is_overridden[static_cast<std::size_t>(parameter)])
    return overridden[static_cast<std::size_t>(parameter)];
  for (const Number& number : numbers)
    if (number.parameter == parameter) return number.value;
  return 0;
}

std::span<const Machine> machines() { return sorted(); }

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : sorted()) {
    const std::vector<std::string_view> names = machine.names();
    if (std::any_of(names.begin(), names.end(),
                    [name](std::string_view one) { return same_name(name, one); }))
      return &machine;
  }
  return nullptr;
}

}  // namespace mmaudit::timing
