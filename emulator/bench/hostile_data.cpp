// Multiply-adds per second of matmul() on one core: every datapath on data that is kind and data that is not.
// Each data set is one row of a table. A case runs as many rows of D as fit its time. Rates are by the
// thread's own clock, the best of several rounds over all cases. ./run bench --data prints the table; --csv a
// line per case.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
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
    {"f16 CDNA3", "cdna3", "v_mfma_f32_32x32x8f16"},
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
    {"equal exponents", Put::numbers,
     [](Draw& x) { return std::copysign(1.5 + x.uniform() / 2, x.uniform()); }},
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
    const auto at = [&](std::uint64_t k, std::uint64_t width) {
      return of_b ? k * lines + line : line * width + k;
    };
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
      store_word(
          out.elements.data(), bytes, at(k, depth),
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

/// One datapath on one data set.
class Case {
 public:
  Case(const Path& path, const DataSet& set, std::uint64_t size, const MatmulOptions& options)
      : name(set.name), options_(options) {
    const auto instruction = find_instruction(path.instruction);
    const auto* entry =
        instruction ? find_datapath(*find_architecture(path.architecture), *instruction) : nullptr;
    if (entry == nullptr) return;
    instruction_ = *instruction;
    datapath_ = entry->datapath;
    problem_.m = problem_.n = problem_.k = size;
    stored_ = stored_k(instruction_, problem_);
    const FormatSpec scale = spec_of(instruction_.scale);
    const FormatSpec* scales = instruction_.scale == Format::none ? nullptr : &scale;
    const auto block = static_cast<std::uint64_t>(std::max<int>(instruction_.scale_block, 1));
    a_ = drawn(set, spec_of(instruction_.a), scales, block, size, stored_, false, 1);
    b_ = drawn(set, spec_of(instruction_.b), scales, block, size, size, true, 2);
    if ((set.put == Put::infinity || set.put == Put::nan) && !a_.has_special) return;
    d_.resize(size * size * spec_of(instruction_.d).storage_bytes());
    metadata_.resize(is_sparse(instruction_.op) ? size * stored_ : 0);
    const Sparsity sparsity = sparsity_of(instruction_);
    for (std::size_t i = 0; i < metadata_.size(); i += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, static_cast<int>(i / 2 % static_cast<std::size_t>(patterns(sparsity))),
                    &metadata_[i]);
    problem_.a = a_.elements.data();
    problem_.b = b_.elements.data();
    problem_.d = d_.data();
    if (scales != nullptr) problem_.scale_a = a_.scales.data(), problem_.scale_b = b_.scales.data();
    if (!metadata_.empty()) problem_.metadata = metadata_.data();
    if (!why_no_matmul(instruction_, datapath_, problem_).empty()) return;
    // Rows that a run has time for; those with an infinity or a NaN are in the middle of each hundred.
    constexpr double kSeconds = 0.1;
    constexpr std::uint64_t kFirst = 4;
    problem_.m = kFirst;
    const double most = kSeconds / seconds() * static_cast<double>(kFirst);
    rows = most >= static_cast<double>(size) ? size : std::max(kFirst, static_cast<std::uint64_t>(most));
    problem_.m = rows;
  }
  void measure() {
    if (rows == 0) return;
    const double work = static_cast<double>(rows * problem_.n) * static_cast<double>(stored_);
    rate = std::max(rate, work / seconds() / 1e9);
  }

  const char* name;
  double rate = 0;         ///< best so far, 10^9 multiply-adds per second
  std::uint64_t rows = 0;  ///< of D, in one run; 0: the formats hold nothing that the data set asks for

 private:
  double seconds() {
    const double start = thread_seconds();
    matmul(instruction_, datapath_, problem_, options_);
    return std::max(thread_seconds() - start, 1e-9);
  }
  MatmulOptions options_;
  Instruction instruction_;
  Datapath datapath_;
  Matmul problem_;
  std::uint64_t stored_ = 0;
  Operand a_, b_;
  std::vector<std::byte> d_;
  std::vector<std::uint8_t> metadata_;
};

struct Wanted {
  std::uint64_t size = 512;
  bool csv = false;
  std::string_view only;
  MatmulOptions options;
};

/// All cases of a datapath in turns, false where there is none, so that what else the machine does slows them
/// alike.
bool print(const Path& path, const Wanted& wanted, const std::string& level) {
  std::vector<Case> cases;
  for (const DataSet& set : kSets) cases.emplace_back(path, set, wanted.size, wanted.options);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round)
    for (Case& one : cases) one.measure();
  const Case *worst = nullptr, *best = nullptr;
  for (const Case& one : cases) {
    if (one.rows == 0) continue;
    if (worst == nullptr || one.rate < worst->rate) worst = &one;
    if (best == nullptr || one.rate > best->rate) best = &one;
    if (wanted.csv)
      std::printf("%s,%s,%s,%zu,%zu,%.3f\n", path.name, one.name, level.c_str(), std::size_t{wanted.size},
                  std::size_t{one.rows}, one.rate);
  }
  if (worst == nullptr) std::fprintf(stderr, "%s: no such datapath\n", path.instruction);
  if (wanted.csv || worst == nullptr) return worst != nullptr;
  std::printf("%s (%s)\n", path.name, path.instruction);
  for (const Case& one : cases) {
    if (one.rows == 0)
      std::printf("  %-18s        -", one.name);
    else
      std::printf("  %-18s %8.3f", one.name, one.rate);
    std::printf(one.rows != 0 && one.rows < wanted.size ? "  (%zu rows)\n" : "\n", std::size_t{one.rows});
  }
  std::printf("  worst %.3f (%s), best %.3f, ratio 1 / %.1f\n", worst->rate, worst->name, best->rate,
              best->rate / worst->rate);
  return true;
}

}  // namespace
}  // namespace mmaudit

int main(int count, char** arguments) {
  using namespace mmaudit;
  Wanted wanted;
  const auto refuse = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return 2;
  };
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--csv") {
      wanted.csv = true;
      continue;
    }
    if ((name != "--size" && name != "--simd" && name != "--only") || i + 1 == count)
      return refuse("bench --data: found '" + std::string(name) +
                    "', allowed: --size N, --simd LEVEL, --only TEXT, --csv");
    const char* value = arguments[++i];
    if (name == "--only") wanted.only = value;
    if (name == "--size") wanted.size = std::strtoull(value, nullptr, 10);
    if (wanted.size < 64 || wanted.size > 4096 || wanted.size % 64 != 0)
      return refuse("--size: found " + std::string(value) + ", allowed: multiples of 64 from 64 to 4096");
    if (name != "--simd") continue;
    wanted.options.level = find_simd_level(value);
    if (!wanted.options.level || !has_simd_level(*wanted.options.level))
      return refuse("--simd: found " + std::string(value) + ", allowed: " + simd_levels_here());
  }
  const std::string level(name_of(wanted.options.level.value_or(best_simd_level())));
  if (wanted.csv)
    std::printf("datapath,data,level,size,rows,rate\n");
  else
    std::printf("10^9 multiply-adds per second, %s, one core, N = K = %zu\n", level.c_str(),
                std::size_t{wanted.size});
  bool all = true;
  for (const Path& path : kPaths) {
    if (std::string_view(path.name).find(wanted.only) != std::string_view::npos)
      all &= print(path, wanted, level);
    std::fflush(stdout);
  }
  return all ? 0 : 1;
}
