#pragma once
// Figures of data that other libraries bring, as inline SVG without script, in the style of the audit's page.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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

/// One or two numbers per row, as marks on a logarithmic axis to the right: errors of types, of layers.
struct Levels {
  struct Row {
    std::string label, remark = {};  ///< the remark is soft and stands behind the label
    Format colour = Format::none;
    std::vector<std::optional<double>> values;  ///< one per name
  };
  std::string id, title, x_title;
  std::vector<std::string> names;  ///< of the numbers: the first is a full mark, the second a hollow one
  std::vector<Row> rows;
  std::optional<double> limit = {};  ///< a line; above 0
};
/// Empty without a number above 0.
std::string levels(const Levels& plot);

/// The figures that a report holds as data: pages draw them, JSON writes and reads them.
using Figure = std::variant<Curves, Scatter, Levels>;
std::string drawn(const Figure& figure);

/// A picture of many numbers, one small cell each; darker is more.
struct CellMap {
  std::string id, title, x_title, y_title, unit;
  std::vector<std::vector<std::uint32_t>> rows;                    ///< 0: no cell
  std::vector<std::pair<std::size_t, std::string>> row_labels;     ///< (row, label)
  std::vector<std::pair<std::size_t, std::string>> column_labels;  ///< (column, label)
  bool key = true;  ///< says what the lightest and the darkest cell stand for
};
/// Empty without a number.
std::string cell_map(const CellMap& map);

/// Levels of a machine as boxes, the nearest on top.
struct LevelPicture {
  struct Box {
    std::string name;
    std::vector<std::string> measured, published;  ///< lines
  };
  std::string id, title;
  std::vector<std::vector<Box>> rows;
};
/// Empty without a box.
std::string level_picture(const LevelPicture& picture);

/// What bounds a kernel: rates of bytes as slopes, rates of operations as roofs, both axes logarithmic.
struct Roofline {
  struct Slope {
    std::string name, rate;  ///< rate: as text, with its unit
    double value = 0;        ///< bytes/s
  };
  struct Roof {
    std::string name;
    Format colour = Format::none;
    double value = 0;  ///< FLOP/s
  };
  std::string id, title;
  std::vector<Slope> slopes;  ///< two at most are told apart
  std::vector<Roof> roofs;
};
/// Empty without a slope or without a roof.
std::string roofline(const Roofline& plot);

/// How often each number occurs, in bins, one colour per group.
struct Histogram {
  struct Group {
    std::string name;
    Format colour = Format::none;
    std::vector<std::uint32_t> numbers;
  };
  std::string id, title, x_title;
  std::uint32_t bin = 16, most = 0;  ///< width of a bin; greater numbers are not drawn
  std::vector<Group> groups;
};
/// Empty without a number.
std::string histogram(const Histogram& plot);

/// A figure of a page as an SVG document.
std::string svg_document(std::string_view figure);

}  // namespace mmaudit::report
