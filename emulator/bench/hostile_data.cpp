// Multiply-adds per second of matmul() on one core: every datapath on data that is kind and data that is not.
// Each data set is one row of a table. A case runs as many rows of D as fit its time. Rates are by the
// thread's own clock, the best of three. ./run bench --data prints the table; --csv a line per case.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

struct Path {
  const char *name, *architecture, *instruction;
};
constexpr Path kPaths[] = {
    {"f16", "hopper", "wgmma.m64n64k16.f32.f16.f16"},
    {"bf16", "hopper", "wgmma.m64n64k16.f32.bf16.bf16"},
    {"tf32", "hopper", "wgmma.m64n64k8.f32.tf32.tf32"},
    {"e4m3", "hopper", "wgmma.m64n64k32.f32.e4m3.e4m3"},
    {"e5m2", "hopper", "wgmma.m64n64k32.f32.e5m2.e5m2"},
    {"e4m3 widened", "hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
    {"f16 sums", "hopper", "wgmma.m64n64k16.f16.f16.f16"},
    {"f16 Volta", "volta", "mma.m8n8k4.f32.f16.f16.f32"},
    {"mxf8", "blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0"},
    {"NVFP4", "blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"},
    {"MXFP4", "blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0"},
    {"f16 sparse", "hopper", "wgmma.sp.m64n64k32.f32.f16.f16"},
    {"e4m3 sparse", "hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3"},
    {"f16 CDNA2", "cdna2", "v_mfma_f32_32x32x8f16"},
    {"f16 CDNA3", "cdna3", "v_mfma_f32_32x32x8_f16"},
    {"fp8 CDNA3", "cdna3", "v_mfma_f32_16x16x32_fp8_fp8"},
};

/// A factor of the product as it is drawn: element (row or column `line`, position `k`).
struct Draw {
  std::mt19937_64& random;
  const FormatSpec& format;  ///< of the element, or of the scale where there are scales
  std::uint64_t line, k;
  bool of_b;

  double normal() { return std::normal_distribution<double>()(random); }
  double uniform() { return std::uniform_real_distribution<double>(-1, 1)(random); }
  double outlier(double times) { return normal() * (!of_b && k % 97 == 13 ? times : 1); }
  double student() {  // with two degrees of freedom
    const double x = normal(), y = normal(), z = normal();
    return x / std::sqrt((y * y + z * z) / 2);
  }
};

enum class Put { numbers, any_bits, any_scales, infinity, nan, cancel };
struct DataSet {
  const char* name;
  Put put;
  double (*number)(Draw& draw);
};
double normal(Draw& draw) { return draw.normal(); }
const DataSet kSets[] = {
    {"equal exponents", Put::numbers, [](Draw& x) { return std::copysign(1.5 + x.uniform() / 2, x.uniform()); }},
    {"normal", Put::numbers, normal},
    {"finite bits", Put::any_bits, normal},
    {"outliers x 20", Put::numbers, [](Draw& x) { return x.outlier(20); }},
    {"outliers x 1000", Put::numbers, [](Draw& x) { return x.outlier(1000); }},
    {"Student t (2)", Put::numbers, [](Draw& x) { return x.student(); }},
    {"Inf in 1% of rows", Put::infinity, normal},
    {"NaN in 1% of rows", Put::nan, normal},
    {"3/4 zeros", Put::numbers, [](Draw& x) { return x.random() % 4 != 0 ? 0.0 : x.normal(); }},
    {"subnormals", Put::numbers, [](Draw& x) { return std::ldexp(x.uniform(), x.format.min_exponent()); }},
    {"cancelling pairs", Put::cancel, normal},
    {"whole range", Put::any_scales,
     [](Draw& x) {
       std::uniform_int_distribution<int> exponent(x.format.min_exponent(), x.format.max_exponent() - 1);
       return std::ldexp(1 + std::fabs(x.uniform()), exponent(x.random)) * (x.random() % 2 == 0 ? 1 : -1);
     }},
};

std::uint64_t finite_bits(const FormatSpec& format, std::mt19937_64& random) {
  const std::uint64_t magnitudes = format.max_finite_bits() + 1;
  return random() % magnitudes | (format.signless || random() % 2 == 0 ? 0 : format.sign_bit());
}

/// Elements and scales of one operand: A as (lines, depth), B as (depth, lines).
struct Operand {
  std::vector<std::byte> elements;
  std::vector<std::uint8_t> scales;
  bool has_special = false;
};

Operand drawn(const DataSet& set, const FormatSpec& format, const FormatSpec* scale, std::uint64_t block,
              std::uint64_t lines, std::uint64_t depth, bool of_b, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Operand out;
  const std::size_t bytes = format.storage_bytes();
  out.elements.resize(lines * depth * bytes);
  const std::uint64_t blocks = scale == nullptr ? 0 : (depth + block - 1) / block;
  out.scales.resize(lines * blocks);
  const double largest = std::fabs(std::ldexp(1.5, format.max_exponent()));
  std::vector<double> numbers(depth);
  for (std::uint64_t line = 0; line < lines; ++line) {
    Draw draw{random, scale == nullptr ? format : *scale, line, 0, of_b};
    for (std::uint64_t& k = draw.k; k < depth; ++k)
      numbers[k] = set.put == Put::any_scales && scale != nullptr ? draw.normal() : set.number(draw);
    for (std::uint64_t k = 1; set.put == Put::cancel && k < depth; k += 2)
      numbers[k] = of_b ? numbers[k - 1] : -numbers[k - 1];
    const auto at = [&](std::uint64_t k, std::uint64_t width) { return of_b ? k * lines + line : line * width + k; };
    for (std::uint64_t b = 0; b < blocks; ++b) {
      const std::uint64_t end = std::min(depth, (b + 1) * block);
      double most = 0;
      for (std::uint64_t k = b * block; k < end; ++k) most = std::max(most, std::fabs(numbers[k]));
      double by = set.put == Put::any_scales ? 1 : most / largest;
      if (std::string_view(set.name) == "equal exponents") by = 1;
      std::uint64_t byte = encode_nearest_even(by, *scale);
      if (set.put == Put::any_bits || set.put == Put::any_scales) byte = finite_bits(*scale, random);
      out.scales[at(b, blocks)] = static_cast<std::uint8_t>(byte);
      for (std::uint64_t k = b * block; k < end && by > 0; ++k) numbers[k] /= by;
    }
    for (std::uint64_t k = 0; k < depth; ++k)
      store_word(out.elements.data(), bytes, at(k, depth),
                 set.put == Put::any_bits ? finite_bits(format, random) : encode_nearest_even(numbers[k], format));
    if (of_b || line % 100 != 50) continue;
    const std::uint64_t where = random() % depth, nan_code = format.sign_bit() - 1;
    if (set.put == Put::nan && scale != nullptr) {
      out.scales[at(where / block, blocks)] = static_cast<std::uint8_t>(scale->max_finite_bits() + 1);
      out.has_special = true;
    } else if (set.put == Put::nan && format.specials != Specials::finite) {
      const bool minus_zero = format.specials == Specials::nan_at_minus_zero;
      store_word(out.elements.data(), bytes, at(where, depth), minus_zero ? format.sign_bit() : nan_code);
      out.has_special = true;
    } else if (set.put == Put::infinity && format.specials == Specials::ieee) {
      store_word(out.elements.data(), bytes, at(where, depth), format.infinity_bits());
      out.has_special = true;
    }
  }
  return out;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Rate {
  double rate = 0;  ///< 10^9 multiply-adds per second; 0: the data set has nothing that the formats can hold
  std::uint64_t rows = 0;
};

Rate measure(const Path& path, const DataSet& set, std::uint64_t size, const MatmulOptions& options) {
  constexpr double kSeconds = 0.25;  // of one run, about
  const auto instruction = find_instruction(path.instruction);
  const auto* entry = instruction ? find_datapath(*find_architecture(path.architecture), *instruction) : nullptr;
  if (entry == nullptr) return {};
  Matmul problem;
  problem.m = problem.n = problem.k = size;
  const std::uint64_t stored = stored_k(*instruction, problem);
  const FormatSpec a_format = spec_of(instruction->a), b_format = spec_of(instruction->b);
  const FormatSpec scale = spec_of(instruction->scale);
  const FormatSpec* scales = instruction->scale == Format::none ? nullptr : &scale;
  const auto block = static_cast<std::uint64_t>(std::max<int>(instruction->scale_block, 1));
  const Operand a = drawn(set, a_format, scales, block, size, stored, false, 1);
  const Operand b = drawn(set, b_format, scales, block, size, size, true, 2);
  if ((set.put == Put::infinity || set.put == Put::nan) && !a.has_special) return {};
  std::vector<std::byte> d(size * size * spec_of(instruction->d).storage_bytes());
  std::vector<std::uint8_t> metadata(is_sparse(instruction->op) ? size * stored : 0);
  const Sparsity sparsity = sparsity_of(*instruction);
  for (std::size_t i = 0; i < metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, static_cast<int>(i / 2 % static_cast<std::size_t>(patterns(sparsity))), &metadata[i]);
  problem.a = a.elements.data();
  problem.b = b.elements.data();
  problem.d = d.data();
  if (scales != nullptr) problem.scale_a = a.scales.data(), problem.scale_b = b.scales.data();
  if (!metadata.empty()) problem.metadata = metadata.data();
  if (!why_no_matmul(*instruction, entry->datapath, problem).empty()) return {};
  // Rows that a run has time for; the special ones are in the middle of each hundred.
  const auto seconds = [&](std::uint64_t rows) {
    problem.m = rows;
    const double start = thread_seconds();
    matmul(*instruction, entry->datapath, problem, options);
    return std::max(thread_seconds() - start, 1e-9);
  };
  std::uint64_t rows = std::min<std::uint64_t>(size, 4);
  const double first = seconds(rows);
  rows = static_cast<std::uint64_t>(std::clamp(kSeconds / first * static_cast<double>(rows),
                                               static_cast<double>(rows), static_cast<double>(size)));
  double best = 0;
  for (int run = 0; run < 3; ++run)
    best = std::max(best, static_cast<double>(rows * size) * static_cast<double>(stored) / seconds(rows));
  return {best / 1e9, rows};
}

int run(std::uint64_t size, bool csv, const MatmulOptions& options, std::string_view only) {
  if (csv) std::printf("datapath,data,level,size,rows,rate\n");
  const std::string level(name_of(options.level.value_or(best_simd_level())));
  if (!csv) std::printf("10^9 multiply-adds per second, %s, one core, N = K = %llu\n", level.c_str(),
                        static_cast<unsigned long long>(size));
  for (const Path& path : kPaths) {
    if (std::string_view(path.name).find(only) == std::string_view::npos) continue;
    Rate worst, best;
    const char* of_worst = "";
    if (!csv) std::printf("%s (%s)\n", path.name, path.instruction);
    for (const DataSet& set : kSets) {
      const Rate here = measure(path, set, size, options);
      if (csv && here.rate > 0)
        std::printf("%s,%s,%s,%llu,%llu,%.3f\n", path.name, set.name, level.c_str(),
                    static_cast<unsigned long long>(size), static_cast<unsigned long long>(here.rows), here.rate);
      if (!csv && here.rate > 0)
        std::printf("  %-18s %8.3f%s\n", set.name, here.rate,
                    here.rows < size ? (", " + std::to_string(here.rows) + " rows").c_str() : "");
      if (!csv && here.rate == 0) std::printf("  %-18s        -\n", set.name);
      std::fflush(stdout);
      if (here.rate > best.rate) best = here;
      if (here.rate > 0 && (worst.rate == 0 || here.rate < worst.rate)) worst = here, of_worst = set.name;
    }
    if (!csv)
      std::printf("  worst %.3f (%s), best %.3f, ratio 1 / %.1f\n", worst.rate, of_worst, best.rate,
                  worst.rate > 0 ? best.rate / worst.rate : 0);
  }
  return 0;
}

}  // namespace
}  // namespace mmaudit

int main(int count, char** arguments) {
  using namespace mmaudit;
  std::uint64_t size = 512;
  bool csv = false;
  std::string_view only;
  MatmulOptions options;
  const auto refuse = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return 2;
  };
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--csv") {
      csv = true;
      continue;
    }
    if ((name != "--size" && name != "--simd" && name != "--only") || i + 1 == count)
      return refuse("bench --data: found '" + std::string(name) +
                    "', allowed: --size N, --simd LEVEL, --only TEXT, --csv");
    const char* value = arguments[++i];
    if (name == "--only") only = value;
    if (name == "--size") size = std::strtoull(value, nullptr, 10);
    if (size < 64 || size > 4096 || size % 64 != 0)
      return refuse("--size: found " + std::string(value) + ", allowed: multiples of 64 from 64 to 4096");
    if (name != "--simd") continue;
    options.level = find_simd_level(value);
    if (!options.level || !has_simd_level(*options.level))
      return refuse("--simd: found " + std::string(value) + ", allowed: " + simd_levels_here());
  }
  return run(size, csv, options, only);
}
