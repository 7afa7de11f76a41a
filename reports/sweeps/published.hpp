#pragma once
// What papers printed (corpus/published/), beside what is measured here.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// One printed line. Numbers are text, digit for digit; empty: not printed.
struct PublishedRow {
  std::string_view table;                                           ///< "Luo VIII"
  std::string_view gpu;                                             ///< it was taken on
  std::vector<std::string_view> subjects;                           ///< names of benchmarks
  std::vector<std::pair<std::string_view, std::string_view>> axes;  ///< (name, value)
  std::string_view cycles, rate;
  std::string_view unit;  ///< of the rate: "FMA/clk/SM", "B/clk/SM", "B/clk", "GB/s", "TFLOPS" (or TOPS)
  std::string_view mhz, watts, per_watt;
};

/// A printed figure of a machine, not of a benchmark.
struct PublishedFact {
  std::string_view table, gpu, what, value, unit;
};
/// corpus/published/luo2025_machine.csv.
const std::vector<PublishedFact>& published_facts();
/// "258.0 (H800 PCIe, Luo IV), 208.0 (A100 PCIe, Luo IV)"; empty for none.
std::string published_fact(std::string_view what);

/// All of them. Errors: logic_error for a file that has other columns.
const std::vector<PublishedRow>& published_rows();

// Numbers for a point with where they are from, "24.1 (H800, Luo VIII)", several with commas; empty for none.
// A row is for a point when the benchmark names its table and every coordinate that both have is the same.
/// Cycles; the point must be one of scope "sm".
std::string published_cycles(const Point& point);
/// Rates of a whole GPU; the point must be one of scope "gpu". Warps and ilp may differ.
std::string published_rates(const Point& point);
/// Rates in bytes with their units, those per clock of a whole GPU also per multiprocessor; the point must be
/// one of scope "gpu". Warps and ilp may differ.
std::string published_bytes(const Point& point);
/// Rates per watt; the point must be one of scope "energy". Warps and ilp may differ.
std::string published_efficiency(const Point& point);
/// Cycles of a whole product, which is no point of a sweep.
std::string published_gemm_cycles(std::string_view kernel, int size);

// Tables that come with the program, as text.

/// reports/sweeps/census.csv, as census_csv() prints it.
std::string_view shipped_census();
/// Every file corpus/published/*_speed.csv.
std::vector<std::string_view> published_files();

}  // namespace mmaudit::sweeps
