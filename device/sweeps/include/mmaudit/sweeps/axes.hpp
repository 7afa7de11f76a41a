#pragma once
// Axes as data: what varies, how the command line spells it, and which values are swept by default.
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::sweeps {

/// One axis with the values to sweep, in order.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  bool operator==(const Axis&) const = default;
};

/// One axis that a benchmark may have. A number lies between `least` and `most`, or is one of `words`.
struct AxisSpec {
  std::string_view name;
  bool number = false;
  int least = 0, most = 0;        ///< of a number
  std::string_view words = {};    ///< comma-separated; empty: any number in the range
  std::string_view usual;         ///< the values of a sweep, as the command line spells them
  std::string_view quick;         ///< the values of a sweep with --quick
  std::string_view meaning = {};  ///< one clause for --list
};

constexpr AxisSpec word_axis(std::string_view name, std::string_view words, std::string_view usual,
                             std::string_view quick, std::string_view meaning) {
  return {.name = name, .words = words, .usual = usual, .quick = quick, .meaning = meaning};
}
/// `words`: the numbers that are allowed, where not all are.
constexpr AxisSpec number_axis(std::string_view name, int least, int most, std::string_view usual,
                               std::string_view quick, std::string_view meaning,
                               std::string_view words = {}) {
  return {name, true, least, most, words, usual, quick, meaning};
}

// The axes that the engine itself knows. A benchmark's own axes are declared in its file.
inline constexpr AxisSpec
    kScopeAxis =
        word_axis("scope", "sm,gpu,energy", "[sm,gpu]", "[sm,gpu]",
                  "one multiprocessor; all of them at the best warps and ilp; those for seconds, with power"),
    kInitAxis = word_axis("init", "zero,random", "[zero,random]", "[zero]", "operands"),
    kWarpsAxis = number_axis("warps", 1, 32, "[1,2,4,6,8,12,16,32]", "[1,4,8]",
                             "warps of the one block per multiprocessor"),
    kIlpAxis = number_axis("ilp", 1, 6, "[1:6:1]", "[1:3:1]", "independent chains per warp");

/// Every axis there is: the axes of the engine, then of the benchmarks, each name once.
std::vector<AxisSpec> axis_specs();

/// What: whether an axis can have a value, spelled as parse_axis() returns it: numbers without a sign or
/// zeros in front.
bool allows(const AxisSpec& spec, std::string_view value);
/// Its values as text: "1 to 32", or the words.
std::string allowed_values(const AxisSpec& spec);

/// What: "warps=[1,2,4]", "ilp=[1:6:1]" (start, end included, step), "n[pow2]=[3:8:1]" (powers of two) or
/// "init=zero". Range: values of axis_specs(); repeated values count once. Errors: InputError that names the
/// axis, what was found and what is allowed.
Axis parse_axis(std::string_view text);

/// Every axis with its usual values (or the quick ones), then replaced by `given`.
std::vector<Axis> resolve_axes(const std::vector<std::string>& given, bool quick);

/// The parts of a text between the characters `at`.
std::vector<std::string_view> split(std::string_view text, char at);

/// The axis of that name; it must be there.
const Axis& axis_of(const std::vector<Axis>& axes, std::string_view name);

}  // namespace mmaudit::sweeps
