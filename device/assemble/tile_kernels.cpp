// tile_kernels FOLDER TARGET: writes the text of every form of the kernel that records a tcgen05.mma, one
// file each, for ptxas. Formats of A and B are a number in the text and no form of their own.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "mmaudit/tensor_memory/tile_kernel.hpp"

namespace {

using namespace mmaudit;

/// "mxf4nvf4_4X_f32_n8_sp": what a file is called.
std::string form_name(const Instruction& inst, std::uint8_t modifiers) {
  std::string name = std::string(name_of(inst.kind)) + "_";
  if (inst.scale != Format::none) name += std::to_string(scales_of(inst)) + "X_";
  name += std::string(name_of(inst.d)) + "_n" + std::to_string(inst.n);
  if (is_sparse(inst.op)) name += "_sp";
  return name + (modifiers == 0 ? "" : "_" + std::to_string(modifiers));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path folder = argv[1];
  const std::string target = argv[2];
  std::filesystem::create_directories(folder);
  std::set<std::string> written;
  for (Instruction inst : instructions::kTcgen05) {
    inst.m = 128;
    for (const int n : {8, 256}) {
      for (const bool sparse : {false, true}) {
        for (const std::uint8_t modifiers : {std::uint8_t{0}, kScaleDZero}) {
          Instruction used = inst;
          used.n = static_cast<std::int16_t>(n);
          if (sparse && inst.scale != Format::none) continue;
          if (sparse) {
            used.op = Op::mma_sp;
            used.k = static_cast<std::int16_t>(2 * inst.k);
          }
          tmem::TileKernel kernel;
          const std::string reason = tmem::make_tile_kernel(used, modifiers, target, kernel);
          if (!reason.empty() && inst.kind == MmaKind::i8 && target != "sm_100a") continue;
          if (!reason.empty()) {
            std::fprintf(stderr, "%s: %s\n", name_of(inst).c_str(), reason.c_str());
            return 1;
          }
          const std::string name = form_name(used, modifiers);
          if (written.insert(name).second) std::ofstream(folder / (name + ".ptx")) << kernel.text;
        }
      }
    }
  }
  std::printf("%zu kernels for %s\n", written.size(), target.c_str());
  return written.empty() ? 1 : 0;
}
