// Stands in for everything that needs CUDA when the build has none.
#include "mmaudit/device/backends.hpp"
#include "mmaudit/device/check.hpp"
#include "mmaudit/device/functions.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/device/product_check.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/device/wmma_fragment.hpp"

namespace mmaudit::device {
namespace {

constexpr char kAbsent[] = "built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)";

}  // namespace

bool built_with_cuda() { return false; }

std::vector<DeviceInfo> devices() { return {}; }

std::string why_not(const DeviceInfo&, const Instruction&, std::uint8_t, std::string_view) { return kAbsent; }

void run(const DeviceInfo&, const Instruction&, const TileView&, const RunOptions&) {
  throw EnvironmentError(kAbsent);
}

void emulate_on_device(const DeviceInfo&, const Instruction&, const Datapath&, const TileView&) {
  throw EnvironmentError(kAbsent);
}

FunctionCheck check_function(const DeviceInfo&, const functions::Function&) {
  throw EnvironmentError(kAbsent);
}
std::vector<std::uint32_t> ask_function(const DeviceInfo&, const functions::Function&,
                                        const std::vector<std::uint32_t>&,
                                        const std::vector<std::uint32_t>&) {
  throw EnvironmentError(kAbsent);
}

void move_fragment(const DeviceInfo&, const Instruction&, WmmaOperand, bool, std::span<std::uint8_t>,
                   std::span<std::uint8_t>) {
  throw EnvironmentError(kAbsent);
}

class TileProductCheck::Work {};
TileProductCheck::TileProductCheck(const DeviceInfo&, const Instruction&, const Datapath&) {
  throw EnvironmentError(kAbsent);
}
TileProductCheck::~TileProductCheck() = default;
std::string_view TileProductCheck::engine() const { return {}; }
std::uint64_t TileProductCheck::dots_of_batch() const { return 0; }
CheckItem TileProductCheck::at_least(std::uint64_t) const { return {}; }
CheckResult TileProductCheck::run(const CheckItem&) { throw EnvironmentError(kAbsent); }

class ProductCheck::Work {};
ProductCheck::ProductCheck(const DeviceInfo&, const Instruction&, int, const Datapath&, const Datapath&) {
  throw EnvironmentError(kAbsent);
}
ProductCheck::~ProductCheck() = default;
std::uint64_t ProductCheck::differing(gen::InputClass, std::uint64_t, std::uint64_t) {
  throw EnvironmentError(kAbsent);
}

double matmul_on_device(const DeviceInfo&, const Instruction&, const Datapath&, const Matmul&, DeviceModel) {
  throw EnvironmentError(kAbsent);
}

}  // namespace mmaudit::device
