#include "collective/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/splitmix64.hpp"
#include "python_run.hpp"

namespace mmaudit::checks {
namespace {

/// Raw bits in, raw bits out, so nothing but torch touches the numbers.
constexpr const char* kPython = R"(import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, folder, backend, kind, operation, name, ranks, count, calls):
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,GRAPH,TUNING",
                      NCCL_DEBUG_FILE=folder + "/log.%h.%p")
    if backend == "gloo":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group(backend, init_method="file://" + folder + "/meet", rank=rank, world_size=ranks)
    type_ = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[name]
    where = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(where)
    op = {"sum": dist.ReduceOp.SUM, "average": dist.ReduceOp.AVG}[operation]
    x = torch.from_file(folder + "/x", size=calls * ranks * count, dtype=type_).view(calls, ranks, count)
    with open(folder + "/y" + str(rank), "wb") as out:
        for call in range(calls):
            one = x[call, rank].clone().to(where)
            if kind == "all-reduce":
                dist.all_reduce(one, op)
            else:
                part = torch.empty(count // ranks, dtype=type_, device=where)
                dist.reduce_scatter_tensor(part, one, op)
                one = part
            out.write(one.cpu().view(torch.uint8).numpy().tobytes())
    dist.destroy_process_group()

if __name__ == "__main__":
    folder, backend, kind, operation, name, ranks, count, calls = sys.argv[1:]
    with open(folder + "/version", "w") as out:
        out.write(torch.__version__)
    mp.spawn(work, (folder, backend, kind, operation, name, int(ranks), int(count), int(calls)), int(ranks))
)";

}  // namespace

CollectiveAnswer run_torch(const CollectiveRun& run, const std::vector<std::byte>& x) {
  const PythonRun python;
  python.write("x", x.data(), x.size());
  const CollectiveProblem& problem = run.problem;
  python.run(
      run.python, kPython,
      {run.backend, std::string(name_in(names::kCollectiveKind, problem.kind)),
       std::string(name_in(names::kCollectiveOperation, problem.operation)),
       std::string(name_of(problem.type)), std::to_string(problem.ranks), std::to_string(problem.count),
       std::to_string(run.calls)},
      fmt::format("torch.distributed with {}, {} processes of {}", run.backend, problem.ranks, run.python));
  CollectiveAnswer out;
  out.version = python.read("version");
  const bool scatters = problem.kind == CollectiveKind::reduce_scatter;
  const std::size_t bytes =
      run.calls * problem.count / (scatters ? problem.ranks : 1) * spec_of(problem.type).storage_bytes();
  for (std::uint64_t rank = 0; rank < problem.ranks; ++rank) {
    const std::string text = python.read(fmt::format("y{}", rank), bytes);
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    out.ranks.emplace_back(first, first + text.size());
  }
  for (const auto& each : std::filesystem::directory_iterator(python.folder()))
    if (each.path().filename().string().starts_with("log.")) out.log += corpus::text_of_file(each.path());
  return out;
}

std::vector<std::byte> collective_inputs(const CollectiveProblem& problem, std::uint64_t seed) {
  const FormatSpec format = spec_of(problem.type);
  const std::size_t bytes = format.storage_bytes();
  std::vector<std::byte> out(problem.ranks * problem.count * bytes);
  Draws draws{seed};
  const auto fraction = (std::uint64_t{1} << format.fraction_bits) - 1;
  const auto one = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
  for (std::uint64_t i = 0; i < problem.ranks * problem.count; ++i) {
    const std::uint64_t word = draws.next();
    const std::uint64_t scale = (word >> 32 & 7) << format.fraction_bits;  // 1 to 255
    const bool any = i % problem.count % 8 == 7;
    store_word(out.data(), bytes, i, any ? word : (word & (fraction | format.sign_bit())) | (one + scale));
  }
  return out;
}

void compare_collective(const CollectiveProblem& problem, const CollectivePlan& plan,
                        const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                        CollectiveDifference& out) {
  const std::size_t bytes = spec_of(problem.type).storage_bytes();
  for (const CollectivePiece& piece : plan.pieces)
    for (std::uint64_t i = piece.first; i < piece.first + piece.count; ++i) {
      const std::uint64_t is = load_word(found.data(), bytes, i),
                          wants = load_word(expected.data(), bytes, i);
      ++out.compared;
      if (is == wants) continue;
      if (out.wrong++ == 0)
        out.first = fmt::format("element {}, order {}: {:#x} instead of {:#x}", i,
                                text_of(plan.orders[piece.order]), is, wants);
    }
}

std::vector<std::byte> mask_inputs(const CollectiveProblem& problem) {
  const FormatSpec format = spec_of(problem.type);
  const FastCast cast(format, {});
  const double large = problem.type == Format::f16 ? 0x1p15 : 0x1p30;  // swallows 15 ones
  const std::size_t bytes = format.storage_bytes();
  std::vector<std::byte> out(pairs_of(problem.ranks) * problem.ranks * problem.count * bytes);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < problem.ranks; ++i)
    for (std::uint64_t j = i + 1; j < problem.ranks; ++j)
      for (std::uint64_t rank = 0; rank < problem.ranks; ++rank)
        for (std::uint64_t k = 0; k < problem.count; ++k)
          store_word(out.data(), bytes, at++, cast(rank == i ? large : rank == j ? -large : 1.0));
  return out;
}

std::string order_of_masks(std::uint64_t ranks, const std::vector<std::uint64_t>& left) {
  // The two that nothing was joined to before, or groups of such, come first.
  std::vector<std::string> said;
  std::vector<std::vector<std::uint64_t>> groups;
  for (std::uint64_t i = 0; i < ranks; ++i) said.push_back(std::to_string(i)), groups.push_back({i});
  const auto below = [&](std::uint64_t i, std::uint64_t j) {
    const auto [a, b] = std::minmax(i, j);
    return ranks - left[a * (2 * ranks - a - 1) / 2 + b - a - 1];
  };
  while (groups.size() > 1) {
    bool joined = false;
    for (std::size_t a = 0; a < groups.size() && !joined; ++a)
      for (std::size_t b = a + 1; b < groups.size() && !joined; ++b) {
        const std::uint64_t size = groups[a].size() + groups[b].size();
        joined = std::all_of(groups[a].begin(), groups[a].end(), [&](std::uint64_t i) {
          return std::all_of(groups[b].begin(), groups[b].end(),
                             [&](std::uint64_t j) { return below(i, j) == size; });
        });
        if (!joined) continue;
        const bool first = groups[a].size() >= groups[b].size();
        const auto part = [&](std::size_t one) {
          return groups[one].size() == 1 ? said[one] : "(" + said[one] + ")";
        };
        said[a] = first ? part(a) + " + " + part(b) : part(b) + " + " + part(a);
        groups[a].insert(groups[a].end(), groups[b].begin(), groups[b].end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
        said.erase(said.begin() + static_cast<std::ptrdiff_t>(b));
      }
    if (!joined) return "";
  }
  return said.front();
}

}  // namespace mmaudit::checks
