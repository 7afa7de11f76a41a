#pragma once
// Small traces as mmaudit.torch.trace writes them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/corpus/safetensors.hpp"
#include "trace/trace.hpp"

namespace mmaudit::checks::test {

/// What a trace of two operations on two tokens of 4 elements has: x -> pow -> y, y -> mul -> z, in layer
/// "net.0".
struct TraceFixture {
  std::vector<std::int64_t> hashes = {1, 2, 3, 4, 5, 6};  ///< of both rows of x, y, z
  std::string exponent = "2", call = R"({"batch":1,"tokens":2,"past":0})", operations = {},
              machine = R"({"torch":"2.11.0"})";

  void write(const std::string& path) const {
    std::string text = R"({"schema":"mmaudit.trace/1","made":"","machine":)" + machine +
                       R"(,"flags":[{"allow_tf32":false}],"calls":[)";
    text += call + R"(],"texts":["net.0","Layer","aten.pow","aten.mul"],"tensors":[)";
    for (int i = 0; i < 3; ++i)
      text += std::string(i == 0 ? "" : ",") +
              R"({"shape":[1,2,4],"dtype":"float32","batch":1,"tokens":2,"at":)" + std::to_string(2 * i) +
              (i == 0 ? "}" : R"(,"made":)" + std::to_string(i - 1) + "}");
    text +=
        R"(],"operations":[{"module":0,"kind":1,"operator":2,"call":0,"in":[0],"out":[1],"flags":0,"by_rows":true,"arguments":{"exponent":)" +
        exponent +
        R"(}},{"module":0,"kind":1,"operator":3,"call":0,"in":[1],"out":[2],"flags":0,"by_rows":true})" +
        operations + "]}";
    std::vector<std::int64_t> rows;
    for (const std::int64_t hash : hashes)
      rows.insert(rows.end(), {hash, 0x3F8000003F800000});  // norm 1, sketch 1
    corpus::SafetensorsFile file;
    file.tensors = {
        corpus::make_tensor<std::int64_t>("rows.0", corpus::DType::i64, {rows.size() / 2, 2},
                                          std::span<const std::int64_t>(rows)),
        corpus::make_tensor<char>("trace", corpus::DType::u8, {text.size()}, std::span<const char>(text))};
    file.metadata["mmaudit"] =
        R"({"schema": "mmaudit.trace/1", "crc32": )" + std::to_string(trace_checksum(file)) + "}";
    corpus::write_safetensors(path, file);
  }
};

}  // namespace mmaudit::checks::test
