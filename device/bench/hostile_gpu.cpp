// Multiply-adds per second of the model on a GPU: every datapath on data that is kind and data that is not,
// the data sets of the host's benchmark. Rates are medians of several launches, unpacking of A and B
// included, by CUDA events. ./run bench --data --gpu prints the table; --csv a line per case; --check D
// compares D dot products of instructions per case with the plain core's kernel, bit by bit.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "hostile_sets.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "model/product.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

using bench::DataSet;
using bench::DrawnOperand;
using bench::Path;

constexpr std::uint64_t kDrawn = 256;  ///< lines; the others are these, turned along K
constexpr std::uint64_t kTurn = 64;    ///< elements of K that a turn is a multiple of: whole steps

struct Wanted {
  std::uint64_t size = 4096, rows = 0;  ///< rows of D; 0: as many as `size`
  std::string_view only, data;
  double check = 0;  ///< dot products to compare
  int rounds = 5;
  bool csv = false;
};

/// `lines` of the drawn ones, each copy of them turned by `turn` elements more.
std::vector<std::byte> turned(const std::byte* from, std::uint64_t width, std::uint64_t drawn,
                              std::uint64_t lines, std::uint64_t depth, std::uint64_t turn, bool of_b) {
  std::vector<std::byte> to(lines * depth * width);
  for (std::uint64_t first = 0; first < lines; first += drawn) {
    const std::uint64_t by = depth == 0 ? 0 : first / drawn * turn % depth, rest = depth - by;
    if (of_b) {
      for (std::uint64_t k = 0; k < depth; ++k)
        std::memcpy(&to[(k * lines + first) * width], from + (k + by) % depth * drawn * width, drawn * width);
      continue;
    }
    for (std::uint64_t line = 0; line < drawn; ++line) {
      const std::byte* row = from + line * depth * width;
      std::byte* out = &to[(first + line) * depth * width];
      std::memcpy(out, row + by * width, rest * width);
      std::memcpy(out + rest * width, row, by * width);
    }
  }
  return to;
}

/// A datapath, and what its cases share.
struct Plan {
  const Path& path;
  Instruction instruction;
  Datapath datapath;
  Matmul problem;  ///< sizes alone
  std::uint64_t stored = 0, block = 1;
  FormatSpec scale;
  DeviceModel model = DeviceModel::fast;

  Plan(const Path& of, std::uint64_t size) : path(of) {
    const auto found = find_instruction(of.instruction);
    const auto* entry = found ? find_datapath(*find_architecture(of.architecture), *found) : nullptr;
    if (entry == nullptr) return;
    instruction = *found;
    datapath = entry->datapath;
    problem.m = problem.n = problem.k = size;
    stored = stored_k(instruction, problem);
    block = static_cast<std::uint64_t>(std::max<int>(instruction.scale_block, 1));
    scale = spec_of(instruction.scale);
    if (!why_no_matmul_on_device(instruction, datapath, problem).empty()) model = DeviceModel::plain;
  }
  [[nodiscard]] bool scaled() const { return instruction.scale != Format::none; }
  [[nodiscard]] std::uint64_t drawn_lines() const { return std::min(kDrawn, problem.m); }
  [[nodiscard]] DrawnOperand draw(const DataSet& set, bool of_b) const {
    return bench::drawn(set, spec_of(of_b ? instruction.b : instruction.a), scaled() ? &scale : nullptr,
                        block, drawn_lines(), of_b ? problem.k : stored, of_b, of_b ? 2 : 1);
  }
};

/// One data set: its operands on the device.
class Case {
 public:
  Case(const Plan& plan, const DrawnOperand& a, const DrawnOperand& b) : plan_(plan), problem_(plan.problem) {
    const std::uint64_t size = problem_.m, drawn = plan.drawn_lines(), turns = size / drawn;
    const std::size_t of_a = spec_of(plan.instruction.a).storage_bytes(),
                      of_b = spec_of(plan.instruction.b).storage_bytes();
    std::size_t at = 0;
    const auto put = [&](const auto& from) {
      return (buffers_[at++] = uploaded(from)).template data<std::uint8_t>();
    };
    // Every pair of copies is turned by a distance of its own.
    const std::uint64_t sparse = problem_.k / plan.stored, turn_a = turns * kTurn;
    problem_.a = put(turned(a.elements.data(), of_a, drawn, size, plan.stored, turn_a / sparse, false));
    problem_.b = put(turned(b.elements.data(), of_b, drawn, size, problem_.k, kTurn, true));
    if (plan.scaled()) {
      const auto bytes = [](const std::vector<std::uint8_t>& x) {
        return reinterpret_cast<const std::byte*>(x.data());
      };
      const std::uint64_t blocks = problem_.k / plan.block;
      problem_.scale_a = put(turned(bytes(a.scales), 1, drawn, size, blocks, turn_a / plan.block, false));
      problem_.scale_b = put(turned(bytes(b.scales), 1, drawn, size, blocks, kTurn / plan.block, true));
    }
    if (is_sparse(plan.instruction.op)) {
      std::vector<std::uint8_t> metadata(size * plan.stored + kMaxK);
      const Sparsity sparsity = sparsity_of(plan.instruction);
      for (std::size_t i = 0; i + kMaxK < metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
        write_pattern(sparsity, static_cast<int>(i / 2 % static_cast<std::size_t>(patterns(sparsity))),
                      &metadata[i]);
      problem_.metadata = put(metadata);
    }
    d_bytes_ = spec_of(plan.instruction.d).storage_bytes();
    buffers_[at] = Buffer(size * size * d_bytes_);
    problem_.d = buffers_[at].data();
  }

  /// Seconds of a product of so many rows.
  double seconds(std::uint64_t rows, DeviceModel model) {
    problem_.m = rows;
    const DeviceProduct product(plan_.instruction, plan_.datapath, problem_, {}, model);
    if (product.workspace() > space_bytes_) space_ = Buffer(space_bytes_ = product.workspace());
    Event begin, end;
    begin.record();
    product.launch(space_.data(), nullptr);
    end.record();
    cuda_check(cudaEventSynchronize(end.get()), "running the model");
    return Event::seconds(begin, end);
  }
  /// The rows that `most` seconds are enough for.
  std::uint64_t rows_within(double most) {
    const std::uint64_t size = plan_.problem.m;
    if (plan_.model == DeviceModel::fast) return size;
    const std::uint64_t first = std::min<std::uint64_t>(size, 64);
    seconds(first, plan_.model);  // the first launch loads the kernels
    const double rows = most / seconds(first, plan_.model) * static_cast<double>(first);
    return rows >= static_cast<double>(size) ? size
                                             : std::max(first, static_cast<std::uint64_t>(rows) / 64 * 64);
  }
  /// D of the first rows.
  std::vector<std::byte> result(std::uint64_t rows, DeviceModel model) {
    std::vector<std::byte> d(rows * problem_.n * d_bytes_);
    poison(problem_.d, d.size());
    seconds(rows, model);
    copy_out(d.data(), problem_.d, d.size());
    return d;
  }
  [[nodiscard]] std::size_t d_bytes() const { return d_bytes_; }

 private:
  const Plan& plan_;
  Matmul problem_;
  Buffer buffers_[6], space_;
  std::uint64_t space_bytes_ = 0;
  std::size_t d_bytes_ = 0;
};

/// Whether the kernels agree; prints how many dot products were compared, and the first that differs.
bool check(const Plan& plan, const DataSet& set, Case& one, const Wanted& wanted) {
  const std::uint64_t size = plan.problem.m;
  const double dots_of_row = static_cast<double>(size) * static_cast<double>(plan.stored) /
                             static_cast<double>(plan.instruction.stored_k());
  const auto rows =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted.check / dots_of_row + 0.999), 1, size);
  const auto fast = one.result(rows, DeviceModel::fast), plain = one.result(rows, DeviceModel::plain);
  std::size_t differ = 0, first = 0;
  const std::size_t bytes = one.d_bytes();
  const bool equal = fast == plain;
  for (std::size_t i = 0; i < fast.size() && !equal; i += bytes)
    if (std::memcmp(&fast[i], &plain[i], bytes) != 0 && differ++ == 0) first = i / bytes;
  std::printf("%s, %s: %.3g dots, %zu differ\n", plan.path.name, set.name,
              static_cast<double>(rows) * dots_of_row, differ);
  if (differ == 0) return true;
  std::uint32_t x = 0, y = 0;
  std::memcpy(&x, &fast[first * bytes], bytes);
  std::memcpy(&y, &plain[first * bytes], bytes);
  std::printf("  row %zu, column %zu: fast 0x%x, plain 0x%x\n", first / size, first % size, x, y);
  return false;
}

struct Measured {
  const char* name;
  std::uint64_t rows = 0;  ///< of D; 0: the formats hold nothing that the data set asks for
  double rate = 0, least = 0, most = 0;
};

Measured measure(const Plan& plan, const DataSet& set, Case& one, const Wanted& wanted) {
  constexpr double kSeconds = 0.05;
  Measured out{set.name};
  out.rows = wanted.rows != 0 ? std::min(wanted.rows, wanted.size) : one.rows_within(kSeconds);
  one.seconds(out.rows, plan.model);
  std::vector<double> rates(static_cast<std::size_t>(wanted.rounds));
  for (double& rate : rates)
    rate = static_cast<double>(out.rows * plan.problem.n) * static_cast<double>(plan.stored) /
           one.seconds(out.rows, plan.model) / 1e9;
  std::sort(rates.begin(), rates.end());
  out.rate = rates[rates.size() / 2], out.least = rates.front(), out.most = rates.back();
  return out;
}

void print(const Plan& plan, const std::vector<Measured>& cases) {
  const Measured *worst = nullptr, *best = nullptr;
  std::printf("%s (%s)%s\n", plan.path.name, plan.path.instruction,
              plan.model == DeviceModel::plain ? ", plain core" : "");
  for (const Measured& one : cases) {
    if (one.rows == 0) {
      std::printf("  %-18s        -\n", one.name);
      continue;
    }
    std::printf("  %-18s %8.1f  (%.1f to %.1f)\n", one.name, one.rate, one.least, one.most);
    if (worst == nullptr || one.rate < worst->rate) worst = &one;
    if (best == nullptr || one.rate > best->rate) best = &one;
  }
  if (worst != nullptr)
    std::printf("  worst %.1f (%s), best %.1f, ratio 1 / %.1f\n", worst->rate, worst->name, best->rate,
                best->rate / worst->rate);
}

/// All cases of a datapath; false where there is none, or where a comparison failed.
bool run_path(const Path& path, const Wanted& wanted) {
  const Plan plan(path, wanted.size);
  if (plan.stored == 0) {
    std::fprintf(stderr, "%s: no such datapath\n", path.instruction);
    return false;
  }
  std::vector<const DataSet*> sets;
  for (const DataSet& set : bench::data_sets())
    if (std::string_view(set.name).find(wanted.data) != std::string_view::npos) sets.push_back(&set);
  std::vector<std::future<DrawnOperand>> drawn;
  for (const DataSet* set : sets)
    for (const bool of_b : {false, true})
      drawn.push_back(std::async(std::launch::async, [&plan, set, of_b] { return plan.draw(*set, of_b); }));
  std::vector<Measured> cases;
  bool good = true;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const DataSet& set = *sets[i];
    const DrawnOperand a = drawn[2 * i].get(), b = drawn[2 * i + 1].get();
    cases.push_back({set.name});
    if ((set.put == bench::Put::infinity || set.put == bench::Put::nan) && !a.has_special) continue;
    Case one(plan, a, b);
    if (wanted.check > 0 && plan.model == DeviceModel::fast) good &= check(plan, set, one, wanted);
    const Measured& found = cases.back() = measure(plan, set, one, wanted);
    if (wanted.csv)
      std::printf("%s,%s,%zu,%zu,%.1f,%.1f,%.1f\n", path.name, set.name, std::size_t{wanted.size},
                  std::size_t{found.rows}, found.rate, found.least, found.most);
    std::fflush(stdout);
  }
  if (!wanted.csv) print(plan, cases);
  std::fflush(stdout);
  return good;
}

}  // namespace
}  // namespace mmaudit::device

int main(int count, char** arguments) {
  using namespace mmaudit;
  device::Wanted wanted;
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
    constexpr std::string_view kWithValue[] = {"--size",  "--only",   "--data-set",
                                               "--check", "--rounds", "--rows"};
    if (std::find(std::begin(kWithValue), std::end(kWithValue), name) == std::end(kWithValue) ||
        i + 1 == count)
      return refuse("bench --data --gpu: found '" + std::string(name) +
                    "', allowed: --size N, --only TEXT, --data-set TEXT, --check DOTS, --rounds N, --rows N, "
                    "--csv");
    const char* value = arguments[++i];
    if (name == "--only") wanted.only = value;
    if (name == "--data-set") wanted.data = value;
    if (name == "--check") wanted.check = std::atof(value);
    if (name == "--rows") wanted.rows = std::strtoull(value, nullptr, 10);
    if (name == "--rounds") wanted.rounds = std::atoi(value);
    if (name == "--size") wanted.size = std::strtoull(value, nullptr, 10);
  }
  if (wanted.size < device::kDrawn || wanted.size > 16384 || wanted.size % device::kDrawn != 0)
    return refuse("--size: found " + std::to_string(wanted.size) +
                  ", allowed: multiples of 256 from 256 to 16384");
  if (wanted.rounds < 1 || wanted.rounds > 1000)
    return refuse("--rounds: found " + std::to_string(wanted.rounds) + ", allowed: 1 to 1000");
  try {
    cudaDeviceProp gpu{};
    device::cuda_check(cudaGetDeviceProperties(&gpu, 0), "looking for a GPU");
    if (wanted.csv)
      std::printf("datapath,data,size,rows,rate,least,most\n");
    else
      std::printf("%s, M = N = K = %zu, 10^9 multiply-adds per second, median (least to most)\n", gpu.name,
                  std::size_t{wanted.size});
    bool all = true;
    for (const bench::Path& path : bench::paths())
      if (std::string_view(path.name).find(wanted.only) != std::string_view::npos)
        all &= device::run_path(path, wanted);
    return all ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
