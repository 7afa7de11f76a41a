#pragma once
// Figures of data that other libraries bring, as inline SVG without script, in the style of the audit's page.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::report {

/// Numbers over two lists of labels; darker is more.
struct HeatMap {
  std::string id, title, x_title, y_title;
  std::vector<std::string> columns, rows;
  std::vector<std::vector<std::optional<double>>> values;  ///< [row][column]; none: not measured
  int digits = 0;                                          ///< after the point
};
/// Empty without a number.
std::string heat_map(const HeatMap& map);

/// Points of two positive numbers, the second on a logarithmic axis upwards.
struct Scatter {
  struct Point {
    std::string name;
    Format colour = Format::none;
    bool hollow = false;
    double x = 0, y = 0;
  };
  std::string id, title, x_title, y_title;
  std::vector<Point> points;
};
/// Empty without a point whose numbers are above 0.
std::string scatter(const Scatter& plot);

/// Curves over labels, on a logarithmic axis.
struct Curves {
  struct Curve {
    std::string name;
    Format colour = Format::none;
    bool hollow = false;
    std::vector<std::optional<double>> values;  ///< one per label
  };
  std::string id, title, x_title;
  std::vector<std::string> labels;
  std::vector<Curve> curves;
};
std::string curves(const Curves& plot);

}  // namespace mmaudit::report
