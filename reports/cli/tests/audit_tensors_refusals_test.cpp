// mmaudit audit --a --b: which files it read, and what it refuses.
#include <filesystem>

#include "audit_tensors.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;

TEST_F(AuditTensors, NamesTheBytesThatWereAudited) {
  report::TensorAuditRequest request;
  request.a = path("A.npy"), request.b = path("B.npy");
  request.architectures = {find_architecture("hopper")};
  request.dtypes = {"bf16"};
  const std::string before = corpus::facts_of_file(request.a).checksum;
  const auto rewritten_at = [&](std::string_view stage) {
    return report::audit_tensors(request, {[&, stage](std::string_view what, std::uint64_t) {
                                             if (what == stage) save("A.npy", {10, 96}, 2);
                                           },
                                           [](std::uint64_t) {}});
  };
  EXPECT_EQ(rewritten_at("audit").provenance.inputs.at(0).checksum, before);
  EXPECT_THROW(rewritten_at("checksums"), InputError);
}

TEST_F(AuditTensors, OutputsAreTriedFirstAndAreNoInputs) {
  const std::string before = corpus::facts_of_file(path("A.npy")).checksum;
  refused(audit({"--html", path("A.npy")}), {"--html: found the file of --a"});
  EXPECT_EQ(corpus::facts_of_file(path("A.npy")).checksum, before);
  refused(audit({"--html", path("x"), "--md", path("./x")}), {"--md: found the file of --html"});
  std::filesystem::create_symlink("nowhere", path("link"));
  refused(audit({"--csv", path("link")}), {"it is a symbolic link to nothing"});
  const std::size_t files_before = files();
  refused(audit({"--json", path("a.json"), "--html", path("none/a.html")}), {"none' does not exist"});
  EXPECT_EQ(files(), files_before);
}

TEST_F(AuditTensors, ShapesWithoutDataTakeNoMemory) {
  const std::uint64_t many = std::uint64_t{1} << 40;
  save_values("tall.npy", {many, 0}, {});
  save_values("flat.npy", {0, 6}, {});
  EXPECT_EQ(audit({"--dtype", "bf16", "--max-rel-fro", "0.99"}, "tall.npy", "flat.npy").code, kMismatch);
  save_values("none.npy", {0, 96}, {});
  EXPECT_EQ(audit({"--dtype", "bf16", "--max-rel-fro", "0.99"}, "none.npy").code, kMismatch);
}

TEST_F(AuditTensors, RefusesInOneLine) {
  refused(run({"audit", "--a", path("A.npy")}), {"--a alone"});
  refused(run({"audit", "--dtype", "bf16"}), {"without tensors"});
  refused(audit({}, "A.npy", "A.npy"), {"K = 96", "10"});
  refused(audit({"--dtype", "e9m9"}), {"--dtype: found e9m9", "e4m3"});
  refused(audit({"--scale", "big"}), {"--scale: found big", "allowed: row"});
  refused(audit({"--policy", "promote:x"}), {"--policy: found promote:x", "split-k:S"});
  refused(audit({"--sample", "0"}), {"--sample: found 0"});
  refused(audit({"--d-format", "e4m3"}), {"--d-format"});
  refused(audit({"--unit", "dp4a"}), {"--unit"});
  refused(audit({"--threads", "4097"}), {"--threads", "4097", "4096"});
  refused(audit({"--dtype", "mxf8"}),
          {"hopper has no instruction for mxf8", "; mxf8 with --arch b200, gb10"});
  refused(audit({"--dtype", "nvfp4"}), {"; nvf4 with --arch b200, gb10"});
  refused(audit({"--c", path("A.npy")}), {"--c: found 10 x 96, allowed: 10 x 6"});
  corpus::save_tensor(path("raw.npy"), corpus::make_tensor<std::uint8_t>("x", DType::u8, {2, 3},
                                                                         std::vector<std::uint8_t>(6)));
  refused(audit({}, "raw.npy"), {"raw.npy", "--a dtype: found U8", "BF16"});
  save("cube.npy", {2, 3, 4});
  refused(audit({}, "A.npy", "cube.npy"), {"--b shape: found [2, 3, 4], allowed: two dimensions"});
  refused(run({"audit", "--arch", "hopper,ada"}), {"--arch: found 2"});
}

TEST_F(AuditTensors, TwoOutputsOnStandardOutputAreRefused) {
  refused(audit({"--html", "-", "--md", "-"}),
          {"found -", "--html", "--md", "one of them on standard output"});
  refused(audit({"--json", "-", "--csv", "-"}), {"found -", "--json", "--csv"});
  refused(run({"-q", "verify", "--json", "-", "--junit", "-"}), {"--junit: found - with --json -"});
}

}  // namespace
}  // namespace mmaudit::cli::test
