// Checkpoints that lie: each is refused in one line, or what is wrong is named and the rest is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "mmaudit/corpus/checkpoint.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::put;
using test::safetensors_bytes;
using test::ScratchFolder;

constexpr std::string_view kOne = R"({"a.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})";

std::vector<std::string> layers_of(const Checkpoint& checkpoint) {
  std::vector<std::string> out;
  for (const CheckpointLayer& layer : checkpoint.layers()) out.push_back(layer.name);
  return out;
}

class HostileCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override { put(folder_ / "model.safetensors", safetensors_bytes(kOne, std::string(8, '\1'))); }
  void refused(std::string_view line) const {
    expect_refused([&] { Checkpoint checkpoint(folder_.path()); }, line);
  }
  ScratchFolder folder_;
};

TEST_F(HostileCheckpoint, IndexesNameFilesOfTheirFolder) {
  for (const char* file :
       {"../model.safetensors", "/etc/passwd", "model.safetensors\\u0000x", "a/model.safetensors"}) {
    put(folder_ / "model.safetensors.index.json",
        R"({"weight_map":{"a.weight":")" + std::string(file) + R"("}})");
    refused("weight_map: found \"a.weight\" in \"");
  }
  for (const char* file : {".", "..", ""}) {
    put(folder_ / "model.safetensors.index.json",
        R"({"weight_map":{"a.weight":")" + std::string(file) + R"("}})");
    refused("file: found a folder, allowed: a regular file");
  }
}

TEST_F(HostileCheckpoint, ConfigsThatAreNoFiles) {
  std::filesystem::create_symlink("config.json", folder_ / "config.json");
  refused("config.json: cannot read: ");
  std::filesystem::remove(folder_ / "config.json");
  std::filesystem::create_symlink("nowhere", folder_ / "config.json");
  refused("config.json: cannot read: ");
  std::filesystem::remove(folder_ / "config.json");
  std::filesystem::create_symlink("/dev/zero", folder_ / "config.json");
  refused("config.json: file: found a device, pipe or socket");
  std::filesystem::remove(folder_ / "config.json");
  put(folder_ / "config.json", R"({"a":")" + std::string(std::size_t{17} << 20, 'x') + "\"}");
  refused("config.json: size: found ");
  put(folder_ / "config.json", R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}");
  refused("config.json: nesting: found more, allowed: 32 levels");
}

TEST_F(HostileCheckpoint, OverlapsAreNamed) {
  put(folder_ / "model.safetensors",
      safetensors_bytes(R"({"a.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},)"
                        R"("b.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]}})",
                        std::string(12, '\1')));
  const Checkpoint checkpoint(folder_.path());
  EXPECT_EQ(layers_of(checkpoint), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(checkpoint.others().size(), 1U);
  EXPECT_NE(checkpoint.others()[0].name.find("model.safetensors"), std::string::npos);
  EXPECT_EQ(checkpoint.others()[0].why,
            "tensor 'b.weight' data_offsets: found [4, 12], allowed: a begin at 8: no holes or overlaps");
}

TEST_F(HostileCheckpoint, NumbersInNamesHaveOneOrder) {
  std::string header = "{";
  for (const char* name : {"m.10", "m.10a", "m.9", "m.09", "m.x", "m.99999999999999999999"})
    header += '"' + std::string(name) + R"(.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},)";
  header.back() = '}';
  put(folder_ / "model.safetensors", safetensors_bytes(header, std::string(8, '\1')));
  EXPECT_EQ(layers_of(Checkpoint(folder_.path())),
            (std::vector<std::string>{"m.09", "m.9", "m.10", "m.10a", "m.99999999999999999999", "m.x"}));
}

TEST_F(HostileCheckpoint, GroupsBesideTheScalesAreNamed) {
  for (const std::uint32_t group : {4294967291U, 1U}) {
    std::string groups(32, '\0');
    std::memcpy(groups.data() + 4, &group, 4);
    put(folder_ / "config.json", R"({"quantization_config":{"quant_method":"gptq"}})");
    put(folder_ / "model.safetensors",
        safetensors_bytes(R"({"a.qweight":{"dtype":"I32","shape":[1,8],"data_offsets":[0,32]},)"
                          R"("a.qzeros":{"dtype":"I32","shape":[1,1],"data_offsets":[32,36]},)"
                          R"("a.scales":{"dtype":"F16","shape":[1,8],"data_offsets":[36,52]},)"
                          R"("a.g_idx":{"dtype":"I32","shape":[8],"data_offsets":[52,84]},)"
                          R"("b.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[84,92]}})",
                          std::string(52, '\1') + groups + std::string(8, '\1')));
    const Checkpoint checkpoint(folder_.path());
    EXPECT_EQ(layers_of(checkpoint), std::vector<std::string>{"b"});
    EXPECT_TRUE(
        std::any_of(checkpoint.others().begin(), checkpoint.others().end(), [&](const OtherTensor& other) {
          return other.why == "a.g_idx: found group " + std::to_string(group) + ", allowed: below 1";
        }));
  }
}

TEST_F(HostileCheckpoint, CodesWithoutScalesAreNamed) {
  put(folder_ / "config.json", R"({"quantization_config":{"quant_method":"fp8"}})");
  put(folder_ / "model.safetensors",
      safetensors_bytes(R"({"a.weight":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]},)"
                        R"("b.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[8,16]}})",
                        std::string(16, '\1')));
  const Checkpoint checkpoint(folder_.path());
  EXPECT_EQ(layers_of(checkpoint), std::vector<std::string>{"b"});
  ASSERT_EQ(checkpoint.others().size(), 1U);
  EXPECT_EQ(checkpoint.others()[0].why,
            "weight_scale_inv or weight_scale of a is missing: found none, allowed: one beside its codes");
  ASSERT_EQ(checkpoint.contradictions().size(), 1U);
  EXPECT_EQ(checkpoint.contradictions()[0],
            "weight_scale_inv or weight_scale is missing: found none, allowed: one beside the codes (a)");
}

TEST_F(HostileCheckpoint, AConfigThatContradictsTheTensorsIsNamed) {
  put(folder_ / "model.safetensors",
      safetensors_bytes(R"({"a.weight":{"dtype":"U8","shape":[2,8],"data_offsets":[0,16]},)"
                        R"("a.weight_scale":{"dtype":"F8_E4M3","shape":[2,1],"data_offsets":[16,18]},)"
                        R"("a.weight_scale_2":{"dtype":"F32","shape":[],"data_offsets":[18,22]}})",
                        std::string(22, '\1')));
  for (const char* method : {"fp8", "modelopt"}) {
    put(folder_ / "config.json",
        R"({"quantization_config":{"quant_method":")" + std::string(method) + R"("}})");
    const Checkpoint checkpoint(folder_.path());
    ASSERT_EQ(checkpoint.layers().size(), 1U);
    EXPECT_EQ(checkpoint.layers()[0].convention_name(), "nvfp4-modelopt");
    const std::string why = checkpoint.contradictions().empty() ? "" : checkpoint.contradictions()[0];
    EXPECT_EQ(why,
              method == std::string("fp8") ? "quant_method: found \"fp8\", allowed: for nvfp4-modelopt" : "");
  }
}

TEST_F(HostileCheckpoint, AShapeThatIsNotTheCodesIsNamed) {
  for (const std::int64_t n : {2, 3, -1}) {
    std::string shape(16, '\0');
    shape[8] = 8;
    std::memcpy(shape.data(), &n, 8);
    put(folder_ / "config.json", R"({"quantization_config":{"quant_method":"compressed-tensors"}})");
    put(folder_ / "model.safetensors",
        safetensors_bytes(R"({"a.weight_packed":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]},)"
                          R"("a.weight_scale":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
                          R"("a.weight_shape":{"dtype":"I64","shape":[2],"data_offsets":[16,32]}})",
                          std::string(16, '\1') + shape));
    EXPECT_EQ(Checkpoint(folder_.path()).layers().size(), n == 2 ? 1U : 0U);
  }
}

TEST(HostileGguf, ListsAreNoLongerThanTheFile) {
  const ScratchFolder folder;
  for (const unsigned of : {4U, 8U, 9U}) {  // u32, texts, lists
    std::string bytes("GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\11\0\0\0", 37);
    bytes.append(1, static_cast<char>(of)).append("\0\0\0\100\0\0\0\0\0\0\0", 11).append(200, '\0');
    put(folder / "x.gguf", bytes);  // 64 elements of at least 4 or 8 bytes in 249
    expect_refused([&] { Checkpoint checkpoint(folder / "x.gguf"); }, "list: found 64 elements");
  }
}

}  // namespace
}  // namespace mmaudit::corpus
