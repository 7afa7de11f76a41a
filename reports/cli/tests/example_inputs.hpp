#pragma once
// Files that examples of commands read, made once per process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gemm/check.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "tests/trace_fixture.hpp"

namespace mmaudit::cli::test {

/// A folder with ones.npy (16 x 32 ones of f16), square.npy (32 x 32), model.safetensors (one layer),
/// problem.json, plan.json, kernel.ptx, check.json (of gemm check) and run.trace; gone at the end.
class ExampleInputs {
 public:
  ExampleInputs() {
    std::filesystem::create_directories(folder_);
    const std::vector<std::uint16_t> ones(1024, 0x3C00);
    for (const auto& [name, rows] : {std::pair{"ones.npy", std::uint64_t{16}}, {"square.npy", 32}})
      corpus::save_tensor(*this / name,
                          corpus::make_tensor<std::uint16_t>("x", corpus::DType::f16, {rows, 32},
                                                             std::span(ones).first(rows * 32)));
    corpus::save_tensor(
        *this / "model.safetensors",
        corpus::make_tensor<std::uint16_t>("a.weight", corpus::DType::f16, {32, 32}, std::span(ones)));
    const std::pair<const char*, const char*> texts[] = {
        {"problem.json", R"({"type": "f16", "d": "f32", "m": 16, "n": 32, "k": 32})"},
        {"plan.json", R"({"instruction": "mma.m16n8k16.f32.f16.f16.f32"})"},
        {"kernel.ptx",
         ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry kernel()\n{\n  ret;\n}\n"}};
    for (const auto& [name, text] : texts) std::ofstream(*this / name) << text << '\n';
    checks::GemmCheck check;
    check.types["f16"].calls = check.types["f16"].calls_by["cublaslt 0"] = 1;
    std::ofstream(*this / "check.json") << to_json(check);
    checks::test::TraceFixture().write(*this / "run.trace");
  }
  ExampleInputs(const ExampleInputs&) = delete;
  ExampleInputs& operator=(const ExampleInputs&) = delete;
  ~ExampleInputs() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string operator/(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("mmaudit_examples_" + std::to_string(getpid()));
};

}  // namespace mmaudit::cli::test
