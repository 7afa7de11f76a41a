// Stands in for everything that needs CUDA when the build has none.
#include "mmaudit/device/campaign.hpp"
#include "mmaudit/device/crossed.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/device/wmma_fragment.hpp"

namespace mmaudit::device {
namespace {

constexpr char kAbsent[] = "built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)";

}  // namespace

bool built_with_cuda() { return false; }

std::vector<DeviceInfo> devices() { return {}; }

std::string why_not(const DeviceInfo&, const Instruction&, std::uint8_t) { return kAbsent; }

void run(const DeviceInfo&, const Instruction&, const TileView&, const RunOptions&) {
  throw EnvironmentError(kAbsent);
}

CheckResult check(const DeviceInfo&, const Instruction&, const Datapath&, const CheckOptions&) {
  throw EnvironmentError(kAbsent);
}

void emulate_on_device(const DeviceInfo&, const Instruction&, const Datapath&, const TileView&) {
  throw EnvironmentError(kAbsent);
}

void move_fragment(const DeviceInfo&, const Instruction&, WmmaOperand, bool, std::span<std::uint8_t>,
                   std::span<std::uint8_t>) {
  throw EnvironmentError(kAbsent);
}

class CrossedCheck::Work {};
CrossedCheck::CrossedCheck(const DeviceInfo&, const Instruction&, const Datapath&) {
  throw EnvironmentError(kAbsent);
}
CrossedCheck::~CrossedCheck() = default;
std::string_view CrossedCheck::engine() const { return {}; }
std::uint64_t CrossedCheck::dots_of_chunk() const { return 0; }
StretchResult CrossedCheck::run(const Stretch&) { throw EnvironmentError(kAbsent); }

double matmul_on_device(const DeviceInfo&, const Instruction&, const Datapath&, const Matmul&) {
  throw EnvironmentError(kAbsent);
}

}  // namespace mmaudit::device
