// libmmaudit_cuda.so: mmaudit_cuda.h.
#include "mmaudit/mmaudit_cuda.h"

#include "capi/product.hpp"
#include "capi/quantize.hpp"
#include "mmaudit/error.hpp"
#include "model/product.hpp"
#include "model/quantize.hpp"
#include "run/hardware_product.hpp"

namespace mmaudit::capi {
namespace {

Product on_device(const mmaudit_product& work) {
  Product x = product_of(work);
  if (x.blocked) refuse("scale_layout: found blocked with device pointers, allowed: rows");
  if (given(work.metadata)) refuse("metadata: found with device pointers, allowed: dense instructions");
  return x;
}

device::DeviceProduct product_on_device(const Product& x) {
  return {x.inst, x.datapath->datapath, x.problem, x.factors,
          x.options.fast ? device::DeviceModel::fast : device::DeviceModel::plain};
}

device::HardwareProduct product_on_hardware(const Product& x) {
  if (const std::string why = device::why_no_hardware(x.inst, x.datapath->datapath, x.problem); !why.empty())
    throw InputError(why);
  return {x.inst, x.problem, x.factors};
}

/// A product of either kind, in work space.
void launch_in(const auto& product, mmaudit_out workspace, void* stream) {
  if (workspace.bytes < product.workspace() || (workspace.data == nullptr && product.workspace() != 0))
    refuse("workspace: found {} bytes, allowed: {} or more", workspace.bytes, product.workspace());
  product.launch(workspace.data, static_cast<device::Stream>(stream));
}

void give_workspace(const auto& product, std::uint64_t* bytes) {
  if (bytes == nullptr) refuse("bytes: found null, allowed: where to put the number");
  *bytes = product.workspace();
}

/// With its operands.
Product whole_on_device(const mmaudit_product& work) {
  Product x = on_device(work);
  take_operands(work, x, true);
  return x;
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;
using mmaudit::refuse;

extern "C" {

const char* mmaudit_cuda_last_error(void) { return mmaudit_last_error(); }

int mmaudit_cuda_workspace(const mmaudit_product* work, uint64_t* bytes) {
  return guarded([&] { give_workspace(product_on_device(on_device(taken(work))), bytes); });
}

int mmaudit_cuda_matmul(const mmaudit_product* work, void* stream, mmaudit_out workspace) {
  return guarded([&] { launch_in(product_on_device(whole_on_device(taken(work))), workspace, stream); });
}

int mmaudit_cuda_hardware_workspace(const mmaudit_product* work, uint64_t* bytes) {
  return guarded([&] { give_workspace(product_on_hardware(on_device(taken(work))), bytes); });
}

int mmaudit_cuda_hardware_matmul(const mmaudit_product* work, void* stream, mmaudit_out workspace) {
  return guarded([&] { launch_in(product_on_hardware(whole_on_device(taken(work))), workspace, stream); });
}

int mmaudit_cuda_quantize(const mmaudit_quantization* work, void* stream) {
  return guarded([&] {
    mmaudit::device::launch_quantize(quantization_of(taken(work)),
                                     static_cast<mmaudit::device::Stream>(stream));
  });
}
}
