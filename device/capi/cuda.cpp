// libmmaudit_cuda.so: mmaudit_cuda.h.
#include "mmaudit/mmaudit_cuda.h"

#include "capi/attention.hpp"
#include "capi/function_of.hpp"
#include "capi/product.hpp"
#include "capi/quantize.hpp"
#include "mmaudit/error.hpp"
#include "model/attention.hpp"
#include "model/functions.hpp"
#include "model/product.hpp"
#include "model/quantize.hpp"
#include "run/hardware_gemm.hpp"

namespace mmaudit::capi {
namespace {

Product on_device(const mmaudit_product& work) {
  Product x = product_of(work);
  if (x.blocked) refuse("scale_layout: found blocked with device pointers, allowed: rows");
  if (given(work.metadata)) refuse("metadata: found with device pointers, allowed: dense instructions");
  return x;
}

device::DeviceProduct product_on_device(const Product& x, bool hardware) {
  using device::DeviceModel;
  if (hardware)
    if (const std::string why = device::why_no_hardware(x.inst, x.datapath->datapath, x.problem);
        !why.empty())
      throw InputError(why);
  return {x.inst, x.datapath->datapath, x.problem, x.factors,
          hardware         ? DeviceModel::hardware
          : x.options.fast ? DeviceModel::fast
                           : DeviceModel::plain};
}

int workspace_of(const mmaudit_product* work, bool hardware, std::uint64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) refuse("bytes: found null, allowed: where to put the number");
    *bytes = product_on_device(on_device(taken(work)), hardware).workspace();
  });
}

int start(const mmaudit_product* work, bool hardware, void* stream, mmaudit_out workspace) {
  return guarded([&] {
    const mmaudit_product given_one = taken(work);
    Product x = on_device(given_one);
    take_operands(given_one, x, true);
    const auto product = product_on_device(x, hardware);
    if (workspace.bytes < product.workspace() || (workspace.data == nullptr && product.workspace() != 0))
      refuse("workspace: found {} bytes, allowed: {} or more", workspace.bytes, product.workspace());
    product.launch(workspace.data, static_cast<device::Stream>(stream));
  });
}

struct OnDevice {
  AttentionWork work;
  device::DeviceAttention model;
};
OnDevice attention_on_device(const mmaudit_attention& work) {
  const AttentionWork x = attention_of(work);
  if (x.recipe != nullptr)
    refuse("like: found {}, allowed: kernels on a GPU; the recipe converts on the host", x.recipe->name);
  for (const auto& [name, array] : {std::pair{"scores", work.scores},
                                    {"weights", work.weights},
                                    {"bases", work.bases},
                                    {"later", work.later},
                                    {"maxima", work.maxima},
                                    {"sums", work.sums}})
    if (given(array)) refuse("{}: found it with device pointers, allowed: o, lse", name);
  if (const std::string why = device::DeviceAttention::why_not(x.plan); !why.empty()) throw InputError(why);
  return {x, device::DeviceAttention(x.problem, x.plan, *x.architecture)};
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;

extern "C" {

const char* mmaudit_cuda_last_error(void) { return mmaudit_last_error(); }

int mmaudit_cuda_workspace(const mmaudit_product* work, uint64_t* bytes) {
  return workspace_of(work, false, bytes);
}

int mmaudit_cuda_matmul(const mmaudit_product* work, void* stream, mmaudit_out workspace) {
  return start(work, false, stream, workspace);
}

int mmaudit_cuda_hardware_workspace(const mmaudit_product* work, uint64_t* bytes) {
  return workspace_of(work, true, bytes);
}

int mmaudit_cuda_hardware_matmul(const mmaudit_product* work, void* stream, mmaudit_out workspace) {
  return start(work, true, stream, workspace);
}

int mmaudit_cuda_attention_workspace(const mmaudit_attention* work, uint64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) mmaudit::refuse("bytes: found null, allowed: where to put the number");
    *bytes = attention_on_device(taken(work)).model.workspace();
  });
}

int mmaudit_cuda_attention(const mmaudit_attention* work, void* stream, mmaudit_out workspace) {
  return guarded([&] {
    const mmaudit_attention given_one = taken(work);
    const OnDevice x = attention_on_device(given_one);
    const mmaudit::AttentionOperands operands = take_attention(given_one, x.work);
    const std::uint64_t needed = x.model.workspace();
    if (workspace.bytes < needed || workspace.data == nullptr)
      mmaudit::refuse("workspace: found {} bytes, allowed: {} or more", workspace.bytes, needed);
    x.model.launch(operands, {given_one.o.data, static_cast<float*>(given_one.lse.data)}, workspace.data,
                   static_cast<mmaudit::device::Stream>(stream));
  });
}

int mmaudit_cuda_quantize(const mmaudit_quantization* work, void* stream) {
  return guarded([&] {
    mmaudit::device::launch_quantize(quantization_of(taken(work)),
                                     static_cast<mmaudit::device::Stream>(stream));
  });
}

int mmaudit_cuda_function(const char* name, const void* x, const void* y, size_t count, void* result,
                          void* stream) {
  return guarded([&] {
    mmaudit::device::launch_function(function_of(name, x, y, count, result), x, y, count, result,
                                     static_cast<mmaudit::device::Stream>(stream));
  });
}
}
