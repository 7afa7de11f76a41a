// Checkpoints for the C interface: one layer at a time, into the caller's arrays.
#include "mmaudit/mmaudit_checkpoint.h"

#include <limits>
#include <stdexcept>

#include "capi/guard.hpp"
#ifdef MMAUDIT_RENDER
#include "checkpoint/conventions.hpp"
#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#endif

#ifdef MMAUDIT_RENDER
struct mmaudit_checkpoint {
  mmaudit::corpus::Checkpoint open;
};
#else
struct mmaudit_checkpoint {};
#endif

namespace mmaudit::capi {
namespace {

#ifdef MMAUDIT_RENDER

using corpus::CheckpointLayer;
using corpus::CheckpointRows;

const corpus::Checkpoint& opened(const mmaudit_checkpoint* checkpoint) {
  if (checkpoint == nullptr) refuse("checkpoint: found null, allowed: one that is open");
  return checkpoint->open;
}

const CheckpointLayer& layer_of(const mmaudit_checkpoint* checkpoint, std::size_t index) {
  const auto& layers = opened(checkpoint).layers();
  if (index >= layers.size()) refuse("layer: found {}, allowed: below {}", index, layers.size());
  return layers[index];
}

const char* text_or_null(std::string_view text) { return text.empty() ? nullptr : text.data(); }
const char* named(Format format) { return format == Format::none ? nullptr : name_of(format).data(); }

mmaudit_checkpoint_layer described(const CheckpointLayer& layer) {
  mmaudit_checkpoint_layer out{};
  out.name = layer.name.c_str(), out.convention = layer.convention->name.data();
  out.experts = layer.experts, out.n = layer.n, out.k = layer.k;
  out.format = named(layer.format), out.scale_format = named(layer.scale_format);
  out.scale_rows = layer.scale_rows, out.scale_columns = layer.scale_columns;
  out.block_n = layer.block_n, out.block_k = layer.block_k;
  out.has_zeros = layer.zeros ? 1 : 0, out.has_offsets = layer.offsets ? 1 : 0;
  out.has_factors = layer.factors ? 1 : 0, out.has_groups = layer.groups ? 1 : 0;
  out.dequantized = named(layer.dequantized);
  out.recipe = text_or_null(layer.recipe);
  out.input_scale = layer.input_scale.value_or(std::numeric_limits<double>::quiet_NaN());
  return out;
}

template <typename Element>
void copy_to(std::string_view field, mmaudit_out to, const std::vector<Element>& from) {
  if (to.data == nullptr && to.bytes == 0) return;
  if (to.data == nullptr || to.bytes != from.size() * sizeof(Element))
    refuse("{}: found {} bytes, allowed: {}", field, to.bytes, from.size() * sizeof(Element));
  if (!from.empty()) std::memcpy(to.data, from.data(), to.bytes);
}

void read(const mmaudit_checkpoint* checkpoint, const mmaudit_checkpoint_rows* given_work) {
  const mmaudit_checkpoint_rows work = taken(given_work);
  const CheckpointLayer& layer = layer_of(checkpoint, work.layer);
  const FormatSpec to = format_of("to", work.to == nullptr ? "f32" : work.to);
  if (to.id != Format::f32 && to.id != Format::bf16 && to.id != Format::f16)
    refuse("to: found {}, allowed: f32, bf16, f16", work.to);
  const corpus::Checkpoint& open = opened(checkpoint);
  CheckpointRows rows = open.rows(layer, work.first_row, work.rows);
  if (given(work.weights)) {
    require("weights", work.weights, {{"rows", work.rows}, {"k", layer.k}}, to);
    const std::vector<float> weights = corpus::dequantized(layer, rows);
    cast_elements(weights.data(), spec_of(Format::f32), work.weights.data, to, {}, weights.size(),
                  [](double, std::uint64_t) {});
  }
  copy_to("codes", work.codes, rows.codes);
  if (!given(work.scales) && !given(work.zeros) && !given(work.offsets) && !given(work.factors) &&
      !given(work.groups))
    return;
  rows = {};
  const CheckpointRows all = open.rows(layer, 0, layer.rows(), false);
  if (layer.scale_format == Format::f32)
    copy_to("scales", work.scales, all.scales);
  else
    copy_to("scales", work.scales, all.stored_scales);
  copy_to("zeros", work.zeros, all.zeros);
  copy_to("offsets", work.offsets, all.offsets);
  std::vector<float> factors = all.factors;
  if (layer.convention->divides)
    for (float& factor : factors) factor = 1 / factor;
  copy_to("factors", work.factors, factors);
  copy_to("groups", work.groups, all.groups);
}

#else

[[noreturn]] void without() {
  throw std::runtime_error(
      "checkpoint: found a library that was built without fmt and nlohmann_json, allowed: one built where "
      "their "
      "headers are (Debian: libfmt-dev, nlohmann-json3-dev)");
}

#endif

}  // namespace
}  // namespace mmaudit::capi

extern "C" {

#ifdef MMAUDIT_RENDER

int mmaudit_checkpoint_open(const char* path, const char* convention, mmaudit_checkpoint** out) {
  using namespace mmaudit::capi;
  return guarded([&] {
    if (path == nullptr || out == nullptr)
      mmaudit::refuse("path, out: found null, allowed: a path, and where to put the checkpoint");
    *out = new mmaudit_checkpoint{mmaudit::corpus::Checkpoint(path, convention == nullptr ? "" : convention)};
  });
}
void mmaudit_checkpoint_close(mmaudit_checkpoint* checkpoint) { delete checkpoint; }
size_t mmaudit_checkpoint_layers(const mmaudit_checkpoint* checkpoint) {
  return checkpoint == nullptr ? 0 : checkpoint->open.layers().size();
}
int mmaudit_checkpoint_describe(const mmaudit_checkpoint* checkpoint, char** json) {
  using namespace mmaudit::capi;
  return guarded(
      [&] { give_text(json, [&] { return mmaudit::ordered_document(opened(checkpoint).json()); }); });
}
int mmaudit_checkpoint_layer_at(const mmaudit_checkpoint* checkpoint, size_t index,
                                mmaudit_checkpoint_layer* out) {
  using namespace mmaudit::capi;
  return guarded([&] { give(described(layer_of(checkpoint, index)), out); });
}
int mmaudit_checkpoint_read(const mmaudit_checkpoint* checkpoint, const mmaudit_checkpoint_rows* work) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::read(checkpoint, work); });
}

#else

int mmaudit_checkpoint_open(const char*, const char*, mmaudit_checkpoint**) {
  return mmaudit::capi::guarded(mmaudit::capi::without);
}
void mmaudit_checkpoint_close(mmaudit_checkpoint*) {}
size_t mmaudit_checkpoint_layers(const mmaudit_checkpoint*) { return 0; }
int mmaudit_checkpoint_describe(const mmaudit_checkpoint*, char**) {
  return mmaudit::capi::guarded(mmaudit::capi::without);
}
int mmaudit_checkpoint_layer_at(const mmaudit_checkpoint*, size_t, mmaudit_checkpoint_layer*) {
  return mmaudit::capi::guarded(mmaudit::capi::without);
}
int mmaudit_checkpoint_read(const mmaudit_checkpoint*, const mmaudit_checkpoint_rows*) {
  return mmaudit::capi::guarded(mmaudit::capi::without);
}

#endif
}
