#pragma once
// Two small tensors in files, and mmaudit audit --a --b over them.
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {

class AuditTensors : public Folder {
 protected:
  void save(const std::string& name, std::vector<std::uint64_t> shape, float scale = 1) {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    std::vector<float> values(count);
    std::uint32_t state = 1;
    for (float& x : values) {
      state = state * 1664525U + 1013904223U;
      x = scale * (static_cast<float>(state >> 8) * 0x1p-23F - 1);
    }
    save_values(name, std::move(shape), values);
  }
  void save_values(const std::string& name, std::vector<std::uint64_t> shape,
                   const std::vector<float>& values) {
    corpus::save_tensor(path(name),
                        corpus::make_tensor<float>("x", corpus::DType::f32, std::move(shape), values));
  }
  void SetUp() override {
    Folder::SetUp();
    save("A.npy", {10, 96});
    save("B.npy", {96, 6});
  }
  Outcome audit(std::vector<std::string> more, const std::string& a = "A.npy",
                const std::string& b = "B.npy") {
    std::vector<std::string> arguments = {"-q", "audit", "--a", path(a), "--b", path(b)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static void refused(const Outcome& outcome, const std::vector<std::string>& words) {
    EXPECT_EQ(outcome.code, kBadInput) << outcome.out;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    for (const std::string& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
};

}  // namespace mmaudit::cli::test
