// Elements, scales and factors as a GPU makes them, against quantize() on the host: every kind of scaling,
// both layouts in memory, largest magnitudes given and found.
#include "mmaudit/quantize.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gpu_fixture.hpp"
#include "mmaudit/raw_words.hpp"
#include "model/epilogue.hpp"
#include "model/quantize.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

class QuantizeOnDevice : public Gpu {};

template <typename T>
Buffer on_device(const std::vector<T>& x) {
  Buffer out(x.size() * sizeof(T));
  if (!x.empty()) copy_in(out.data(), x.data(), x.size() * sizeof(T));
  return out;
}
template <typename T>
std::vector<T> on_host(const Buffer& from, std::size_t count) {
  std::vector<T> out(count);
  if (count != 0)
    cuda_check(cudaMemcpy(out.data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToHost),
               "copying back");
  return out;
}

/// Numbers of a few binades, with zeros, NaN and infinities among them.
std::vector<std::uint8_t> numbers(const FormatSpec& format, std::uint64_t count, std::mt19937_64& random) {
  std::vector<std::uint8_t> out(count * format.storage_bytes());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t draw = random();
    double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(draw)) * 0x1p-63,
                          static_cast<int>(draw % 12) - 6);
    if (draw % 50 == 1) x = 0;
    if (draw % 5000 == 2) x = draw % 2 == 0 ? INFINITY : -INFINITY;
    if (draw % 5000 == 3) x = NAN;
    store_word(out.data(), format.storage_bytes(), i, encode_value(x, format));
  }
  return out;
}

struct Case {
  Quantization work;
  bool given;  ///< the largest magnitude of the tensor
};

void compare(const Case& one, std::mt19937_64& random, const std::string& name) {
  Quantization host = one.work;
  const std::uint64_t count = host.batch * host.lanes * host.k;
  const std::vector<std::uint8_t> x = numbers(host.from, count, random);
  const float largest = 3.5F;
  std::vector<std::uint8_t> elements(count * host.rule.element.storage_bytes()),
      scales(host.batch * host.lanes * host.scale_blocks());
  std::vector<float> factors(host.factor_count());
  Quantization device = one.work;
  const Buffer of_x = on_device(x), of_elements = on_device(elements), of_scales = on_device(scales),
               of_factors = on_device(std::vector<float>(factors.size(), -1.0F)),
               of_largest = on_device(std::vector<float>{largest});
  host.x = x.data(), device.x = of_x.data();
  host.elements = elements.data(), device.elements = of_elements.data();
  host.scales = scales.data(), device.scales = of_scales.data<std::uint8_t>();
  host.factors = factors.data(), device.factors = of_factors.data<float>();
  if (one.given) host.tensor_largest = &largest, device.tensor_largest = of_largest.data<float>();
  quantize(host, 2);
  launch_quantize(device, nullptr);
  cuda_check(cudaDeviceSynchronize(), "quantizing");
  std::vector<std::uint32_t> bits(factors.size());  // a NaN equals itself
  if (!bits.empty()) std::memcpy(bits.data(), factors.data(), bits.size() * sizeof(float));
  EXPECT_EQ(on_host<std::uint32_t>(of_factors, bits.size()), bits) << name;
  EXPECT_EQ(on_host<std::uint8_t>(of_scales, scales.size()), scales) << name;
  EXPECT_EQ(on_host<std::uint8_t>(of_elements, elements.size()), elements) << name;
}

TEST_F(QuantizeOnDevice, EveryScalingGivesTheBitsOfTheHost) {
  std::mt19937_64 random(1);
  std::vector<std::pair<const GemmDtype*, Scaling>> all;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    for (const Scaling& scaling : usual_scalings(dtype)) all.emplace_back(&dtype, scaling);
    if (dtype.usual->second_level) all.emplace_back(&dtype, scalings::mx_reciprocal);
    if (dtype.scalable)
      for (const Scaling& scaling : software_scalings()) all.emplace_back(&dtype, scaling);
  }
  for (const auto& [dtype, scaling] : all)
    for (const Format from : {Format::f32, Format::bf16, Format::f16, Format::f64})
      for (const bool of_b : {false, true})
        for (const bool k_inside : {false, true})
          for (const bool given : {false, true})
            for (const auto& [batch, lanes, k] :
                 {std::array<std::uint64_t, 3>{1, 150, 700}, {3, 37, 129}, {2, 1, 1}, {2, 5, 0}}) {
              Quantization work;
              work.rule = quantize_rule(*dtype, scaling, of_b);
              if (given && !work.rule.one_factor()) continue;
              work.batch = batch, work.lanes = lanes, work.k = k;
              work.from = spec_of(from);
              work.batch_stride = lanes * k;
              work.lane_stride = k_inside ? k : 1, work.k_stride = k_inside ? 1 : lanes;
              work.k_outside = of_b;
              compare({work, given}, random, std::string(dtype->name) + " " + std::string(scaling.name));
            }
}

TEST_F(QuantizeOnDevice, FactorsOfIntegerSumsInBothOrders) {
  constexpr std::uint64_t kRows = 33, kColumns = 65;
  std::mt19937_64 random(2);
  std::vector<std::int32_t> sums(kRows * kColumns);
  for (std::int32_t& each : sums) each = static_cast<std::int32_t>(random());
  std::vector<float> a(kRows), b(kColumns), d(sums.size());
  for (float& each : a) each = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53);
  for (float& each : b) each = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-60);
  const Buffer of_sums = on_device(sums), of_a = on_device(a), of_b = on_device(b), of_d = on_device(d);
  for (const FactorOrder order : {FactorOrder::product, FactorOrder::a_first, FactorOrder::b_first}) {
    launch_epilogue(
        {.epilogue = {1, 0, Format::f32},
         .sum_format = Format::s32,
         .sums = of_sums.data(),
         .d = of_d.data(),
         .batch = 1,
         .m = kRows,
         .n = kColumns,
         .factors = {{of_a.data<float>(), kRows, 1, 0}, {of_b.data<float>(), kColumns, 1, 0}, 0, order}});
    cuda_check(cudaDeviceSynchronize(), "the epilogue");
    const std::vector<float> found = on_host<float>(of_d, d.size());
    for (std::uint64_t e = 0; e < d.size(); ++e) {
      const auto sum = static_cast<float>(sums[e]);
      const float of_row = a[e / kColumns], of_column = b[e % kColumns];
      const float expected = order == FactorOrder::a_first   ? (sum * of_row) * of_column
                             : order == FactorOrder::b_first ? (sum * of_column) * of_row
                                                             : sum * (of_row * of_column);
      ASSERT_EQ(found[e], expected) << e;
    }
  }
}

}  // namespace
}  // namespace mmaudit::device
