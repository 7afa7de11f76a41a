// Multiply-adds per second of matmul() on one core: every datapath on data that is kind and data that is not.
// Each data set is one row of a table. A case runs as many rows of D as fit its time. Rates are by the
// thread's own clock, the best of several rounds over all cases. ./run bench --data prints the table; --csv a
// line per case.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "hostile_sets.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {
namespace {

using namespace bench;

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
  DrawnOperand a_, b_;
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
  for (const DataSet& set : data_sets()) cases.emplace_back(path, set, wanted.size, wanted.options);
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
  for (const Path& path : paths()) {
    if (std::string_view(path.name).find(wanted.only) != std::string_view::npos)
      all &= print(path, wanted, level);
    std::fflush(stdout);
  }
  return all ? 0 : 1;
}
