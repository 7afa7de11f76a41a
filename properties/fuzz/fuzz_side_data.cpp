// Scales and metadata of a product: the first bytes pick an instruction, its datapath and the sizes, the rest
// fills A, B, scales and metadata.
#include <vector>

#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/sparse_pack.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

struct Choice {
  Instruction instruction;
  Datapath datapath;
};

/// Every instruction that reads scales or metadata.
std::vector<Choice> choices() {
  std::vector<Choice> out;
  for (const Architecture& architecture : architectures())
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      const bool side = is_sparse(instruction.op) || instruction.scale != Format::none;
      if (entry != nullptr && side && instruction.c == instruction.d)
        out.push_back({instruction, entry->datapath});
    }
  return out;
}

template <typename Byte>
std::vector<Byte> taken(Bytes& bytes, std::uint64_t count) {
  std::vector<Byte> out(count);
  for (Byte& x : out) x = static_cast<Byte>(bytes.byte());
  return out;
}

void check_layouts(const std::vector<std::uint8_t>& scales, ScaleOwner owner, std::uint64_t rows,
                   std::uint64_t blocks) {
  const std::vector<std::uint8_t> blocked = blocked_scales(scales.data(), owner, 1, rows, blocks);
  if (blocked.size() != blocked_scale_bytes(rows, blocks)) fail("blocked scales have another size");
  if (plain_scales(blocked.data(), owner, 1, rows, blocks) != scales) fail("blocked scales do not come back");
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static const std::vector<Choice> all = choices();
  const auto& [inst, datapath] = all[bytes.word(2) % all.size()];
  Matmul problem;
  problem.m = 1 + bytes.byte() % 5;
  problem.n = 1 + bytes.byte() % 40;
  problem.k = 1 + bytes.byte() % static_cast<std::uint64_t>(2 * inst.k);
  if (bytes.byte() % 4 == 0 && inst.d == Format::f32) problem.promote = static_cast<std::uint64_t>(inst.k);
  const Sparsity sparsity = sparsity_of(inst);
  const std::uint64_t stored = stored_k(inst, problem), blocks = scale_blocks(inst, problem);
  const auto metadata = taken<std::uint8_t>(bytes, is_sparse(inst.op) ? problem.m * stored : 0);
  const auto scale_a = taken<std::uint8_t>(bytes, problem.m * blocks),
             scale_b = taken<std::uint8_t>(bytes, blocks * problem.n);
  const auto a = taken<std::byte>(bytes, problem.m * stored * spec_of(inst.a).storage_bytes()),
             b = taken<std::byte>(bytes, problem.k * problem.n * spec_of(inst.b).storage_bytes());
  std::vector<std::byte> d(problem.m * problem.n * spec_of(inst.d).storage_bytes());
  problem.a = a.data(), problem.b = b.data(), problem.d = d.data();
  if (!metadata.empty()) problem.metadata = metadata.data();
  if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
  check_layouts(scale_a, ScaleOwner::a, problem.m, blocks);
  check_layouts(scale_b, ScaleOwner::b, problem.n, blocks);
  const std::string why = why_no_matmul(inst, datapath, problem);
  check_one_line(why);
  if (!why.empty()) return;
  if (!metadata.empty()) {
    const std::string bad = why_bad_metadata(sparsity, metadata, 1, problem.m, stored);
    check_one_line(bad);
    if (!bad.empty()) return;
    const FormatSpec format = spec_of(inst.a);
    const auto dense = expand_sparse(sparsity, format, a.data(), metadata.data(), problem.m, problem.k);
    if (pack_sparse(sparsity, format, dense.data(), problem.m, problem.k).pruned != 0)
      fail("what a sparse A expands to is pruned");
  }
  MatmulOptions options;
  options.fast = false;
  matmul(inst, datapath, problem, options);
  const std::vector<std::byte> plain = d;
  options.fast = true;
  for (const SimdLevel level : kSimdLevels) {
    if (!has_simd_level(level)) continue;
    options.level = level;
    matmul(inst, datapath, problem, options);
    if (d != plain) fail(name_of(inst) + ": " + std::string(name_of(level)) + " differs from the plain core");
  }
}
