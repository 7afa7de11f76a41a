#pragma once
// What the picture of a dot product shows, line by line.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/dot_picture.hpp"

namespace mmaudit::report {

/// A line of a picture: a number's bits, or words alone.
struct Line {
  std::string label, hint = {};
  std::optional<Dyadic> bits = {};
  std::optional<int> cut = {};  ///< bits below this power go
  std::string_view style = {};  ///< "sum", "result", "title"
};

struct Panel {
  std::vector<Line> lines;
};

std::uint64_t magnitude_of(Dyadic x);
int lead_of(Dyadic x);  ///< power of its first bit; of zero: of no meaning
int last_of(Dyadic x);  ///< power of its last set bit
/// The last place that a number of this format has around x.
int last_place(Dyadic x, const FormatSpec& format);

/// A finite number of at most 64 significant bits.
Dyadic dyadic_of(double x);

/// The number that a format spells, as a line; the special ones have no bits.
Line number_line(std::string_view name, std::uint64_t bits, const FormatSpec& format, std::string_view style);

/// The exact sum of a step before it is rounded to `output`.
Line sum_line(Dyadic sum, const FormatSpec& output);

/// "fp32, RNE:" and the number.
Line rounded_line(const Explanation& trace, std::uint64_t bits);

/// A step of a sum in stages.
Panel stage_panel(const Explanation& trace, std::size_t index);

/// The title, a panel per step, and D.
std::vector<Panel> panels_of(const DotPicture& picture);

}  // namespace mmaudit::report
