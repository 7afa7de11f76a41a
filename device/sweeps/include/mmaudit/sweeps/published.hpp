#pragma once
// What papers printed, beside what is measured here.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mmaudit/sweeps/result.hpp"

namespace mmaudit::sweeps {

enum class Unit : std::uint8_t { none, fma, bytes, tera };  ///< FMA/clk/SM, B/clk/SM, TFLOPS or TOPS

/// One printed row. 0 and "" stand for what the row does not say. Numbers are text, digit for digit.
struct PublishedRow {
  std::string_view table;    ///< "Luo VIII"
  std::string_view gpu;      ///< it was taken on
  std::string_view subject;  ///< as Subject::name; "...b1.b1.s32" stands for every operation on bits
  int warps = 0, ilp = 0, n = 0, ways = 0;
  std::string_view a, init;  ///< axis values
  std::string_view cycles, rate;
  Unit unit = Unit::none;
  std::string_view mhz, watts, per_watt;
};

std::span<const PublishedRow> published_luo2025();
std::span<const PublishedRow> published_sun2023();
/// Both.
std::vector<PublishedRow> published_rows();

/// The rows that print the cycles of `state`: same subject, every coordinate that both have.
std::vector<PublishedRow> published_cycles(const State& state);
/// The rows that print the rate of a whole GPU for `state`, which must be one of scope "gpu".
std::vector<PublishedRow> published_rates(const State& state);

/// The rows that print an efficiency for `state`, which must be one of scope "energy".
std::vector<PublishedRow> published_energy(const State& state);

/// "24.1 (H800, Luo VIII)", several with commas; empty for none.
std::string cycles_text(const std::vector<PublishedRow>& rows);
std::string rates_text(const std::vector<PublishedRow>& rows);
std::string efficiency_text(const std::vector<PublishedRow>& rows);

}  // namespace mmaudit::sweeps
