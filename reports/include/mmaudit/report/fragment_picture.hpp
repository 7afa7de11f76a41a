#pragma once
// Which lane holds which element of an operand, as a table and as a figure.
#include <string>
#include <vector>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {

/// One place where an element is held.
struct Holder {
  int lane = 0, value = 0;
  bool operator==(const Holder&) const = default;
};

/// rows x cols elements, row-major; an element can be held in several places, or in none.
struct FragmentPicture {
  std::string title;  ///< "A of mma.m16n8k16.f32.f16.f16.f32: 16 x 16 f16"
  int rows = 0, cols = 0;
  int per_register = 1;                      ///< values that share a 32-bit register
  std::vector<std::vector<Holder>> holders;  ///< empty: of an operand in shared memory
  char operand = 'A';                        ///< 'A', 'B', 'C' or 'D'
};

/// What: its table, one cell per element, neighbours in the same register as one: "T5 r1" is register 1 of
/// lane 5. Its elements, low bits first, follow the direction in which the cell is wider than one element. Of
/// more than 32 cells down or 16 across, what repeats is shown once and said in a line.
Section section_of(const FragmentPicture& picture);

/// The same as a figure, coloured by lane: A left, B above, D where they meet, C below it.
std::string fragment_figure(const std::vector<FragmentPicture>& pictures);

}  // namespace mmaudit::report
