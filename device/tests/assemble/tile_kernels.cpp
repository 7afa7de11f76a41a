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

/// "mxf4nvf4_4X_f32_m128_n8_sp_1", "f16_f32_m32_n64_ws": what a file is called.
std::string form_name(const Instruction& inst, std::uint8_t modifiers, const tmem::TileForm& form) {
  std::string name = std::string(name_of(inst.kind)) + "_";
  if (inst.scale != Format::none) name += std::to_string(scales_of(inst)) + "X_";
  name += std::string(name_of(inst.d)) + "_m" + std::to_string(inst.m) + "_n" + std::to_string(inst.n);
  if (is_sparse(inst.op)) name += "_sp";
  if (&form != &tmem::kTileForms[0]) name.append("_").append(form.name);
  return name + (modifiers == 0 ? "" : "_" + std::to_string(modifiers));
}

Instruction of_shape(Instruction inst, int m, int n) {
  inst.m = static_cast<std::int16_t>(m);
  inst.n = static_cast<std::int16_t>(n);
  return inst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path folder = argv[1];
  const std::string target = argv[2];
  std::filesystem::create_directories(folder);
  std::set<std::string> written;
  // Whether `used` has a kernel: the shapes of a form are what it does not refuse, and the caller knows their
  // number.
  const auto write = [&](const Instruction& used, std::uint8_t modifiers, const tmem::TileForm& form) {
    tmem::TileKernel kernel;
    if (!tmem::make_tile_kernel(used, modifiers, target, kernel, form).empty()) return false;
    const std::string name = form_name(used, modifiers, form);
    if (written.insert(name).second) std::ofstream(folder / (name + ".ptx")) << kernel.text;
    return true;
  };
  constexpr std::uint8_t kC[] = {0, kScaleDZero};
  for (const Instruction& inst : kInstructions) {
    if (!is_tcgen05(inst.op)) continue;
    for (const int n : {8, 256})
      for (const std::uint8_t modifiers : kC) write(of_shape(inst, 128, n), modifiers, tmem::kTileForms[0]);
    // Of the others the largest N: the text differs in numbers alone.
    for (const tmem::TileForm& form : tmem::kTileForms)
      for (const int m : {32, 64, 128, 256})
        for (const int n : {256, 128})
          if (write(of_shape(inst, m, n), 0, form)) break;
  }
  std::printf("%zu kernels for %s\n", written.size(), target.c_str());
  return written.empty() ? 1 : 0;
}
