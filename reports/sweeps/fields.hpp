#pragma once
// Numbers of reports as text, and columns of tables that show them.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/report.hpp"

namespace mmaudit::sweeps {

/// A number so many times larger with so many digits after the point; "-" where it was not measured.
std::string number_text(std::optional<double> value, int digits = 0, double scale = 1);
/// "12.3%"; "-" where it was not measured.
std::string share_text(std::optional<double> share, int digits = 1);
/// "4.62 TB/s", "980 GB/s".
std::string bytes_text(double bytes_per_second);

/// A column of what a member or a function says of an item. It becomes the Field of any item that has it.
template <class Value>
struct NumberColumn {
  std::string_view header;
  Value value;
  std::function<std::string(std::optional<double>)> text;

  template <class Item>
  operator report::Field<Item>() const {  // NOLINT(google-explicit-constructor): in lists of fields
    return {{header, true},
            [value = value, text = text](const Item& item) { return text(std::invoke(value, item)); }};
  }
};

template <class Value>
NumberColumn<Value> number_column(std::string_view header, Value value, int digits = 0, double scale = 1) {
  return {header, value, [=](std::optional<double> one) { return number_text(one, digits, scale); }};
}
template <class Value>
NumberColumn<Value> share_column(std::string_view header, Value value, int digits = 1) {
  return {header, value, [=](std::optional<double> one) { return share_text(one, digits); }};
}

/// A table that is too wide for a terminal, which gets a list: `line` is a format string for the cells of a
/// row.
std::vector<report::Section> table_or_lines(report::Table table, std::string_view line);

}  // namespace mmaudit::sweeps
