// Elements, scales and factors as a GPU makes them, by tiles and one after another, against quantize() on the
// host: every kind of scaling, both layouts in memory, largest magnitudes given and found.
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

/// Every pattern of bits, subnormals, infinities and NaN among them.
std::vector<std::uint8_t> any_bits(const FormatSpec& format, std::uint64_t count, std::mt19937_64& random) {
  std::vector<std::uint8_t> out(count * format.storage_bytes());
  for (std::uint8_t& each : out) each = static_cast<std::uint8_t>(random());
  return out;
}

/// `x` begins so many elements behind an address that vectors may have.
struct Case {
  Quantization work;
  bool given;  ///< the largest magnitude of the tensor
  std::uint64_t from = 0;
};

void compare(const Case& one, const std::vector<std::uint8_t>& x, const std::string& name) {
  Quantization host = one.work;
  const std::uint64_t count = host.batch * host.lanes * host.k,
                      skipped = one.from * host.from.storage_bytes();
  const float largest = 3.5F;
  std::vector<std::uint8_t> elements(count * host.rule.element.storage_bytes()),
      scales(host.batch * host.lanes * host.scale_blocks());
  std::vector<float> factors(host.factor_count());
  host.x = x.data() + skipped;
  host.elements = elements.data(), host.scales = scales.data(), host.factors = factors.data();
  if (one.given) host.tensor_largest = &largest;
  quantize(host, 2);
  std::vector<std::uint32_t> bits(factors.size());  // a NaN equals itself
  if (!bits.empty()) std::memcpy(bits.data(), factors.data(), bits.size() * sizeof(float));
  const Buffer of_x = on_device(x), of_largest = on_device(std::vector<float>{largest});
  for (const bool fast : {true, false}) {
    Quantization device = one.work;
    const Buffer of_elements = on_device(std::vector<std::uint8_t>(elements.size(), 0xEE)),
                 of_scales = on_device(scales),
                 of_factors = on_device(std::vector<float>(factors.size(), -1.0F));
    device.x = of_x.data<std::uint8_t>() + skipped;
    device.elements = of_elements.data();
    device.scales = of_scales.data<std::uint8_t>();
    device.factors = of_factors.data<float>();
    if (one.given) device.tensor_largest = of_largest.data<float>();
    launch_quantize(device, nullptr, fast);
    cuda_check(cudaDeviceSynchronize(), "quantizing");
    EXPECT_EQ(on_host<std::uint32_t>(of_factors, bits.size()), bits) << name << fast;
    EXPECT_EQ(on_host<std::uint8_t>(of_scales, scales.size()), scales) << name << fast;
    EXPECT_EQ(on_host<std::uint8_t>(of_elements, elements.size()), elements) << name << fast;
  }
}

std::vector<std::pair<const GemmDtype*, Scaling>> every_scaling() {
  std::vector<std::pair<const GemmDtype*, Scaling>> all;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    for (const Scaling& scaling : usual_scalings(dtype)) all.emplace_back(&dtype, scaling);
    if (dtype.usual->second_level) all.emplace_back(&dtype, scalings::mx_reciprocal);
    if (dtype.scalable)
      for (const Scaling& scaling : software_scalings()) all.emplace_back(&dtype, scaling);
  }
  return all;
}

TEST_F(QuantizeOnDevice, EveryScalingGivesTheBitsOfTheHost) {
  std::mt19937_64 random(1);
  for (const auto& [dtype, scaling] : every_scaling())
    for (const Format from : {Format::f32, Format::bf16, Format::f16, Format::f64})
      for (const bool of_b : {false, true})
        for (const bool k_inside : {false, true})
          for (const bool given : {false, true})
            for (const auto& [batch, lanes, k, more, first] :
                 {std::array<std::uint64_t, 5>{1, 150, 700, 0, 0},
                  {3, 37, 129, 0, 0},
                  {2, 80, 192, 16, 0},
                  {1, 64, 256, 0, 1},
                  {1, 1, 520, 3, 0},
                  {2, 1, 1, 0, 0},
                  {2, 5, 0, 0, 0}}) {
              Quantization work;
              work.rule = quantize_rule(*dtype, scaling, of_b);
              if (given && !work.rule.one_factor()) continue;
              work.batch = batch, work.lanes = lanes, work.k = k;
              work.from = spec_of(from);
              const std::uint64_t line = (k_inside ? k : lanes) + more;
              work.batch_stride = (k_inside ? lanes : k) * line;
              work.lane_stride = k_inside ? line : 1, work.k_stride = k_inside ? 1 : line;
              work.k_outside = of_b;
              const std::string name = std::string(dtype->name) + " " + std::string(scaling.name) + " ";
              const std::uint64_t count = batch * work.batch_stride + first;
              compare({work, given, first}, numbers(work.from, count, random), name);
              compare({work, given, first}, any_bits(work.from, count, random), name + "of any bits ");
            }
}

TEST_F(QuantizeOnDevice, EveryNumberOfSixteenBits) {
  constexpr std::uint64_t kSide = 256;
  for (const auto& [dtype, scaling] : every_scaling())
    for (const Format from : {Format::bf16, Format::f16})
      for (const bool of_b : {false, true}) {
        Quantization work;
        work.rule = quantize_rule(*dtype, scaling, of_b);
        work.lanes = work.k = work.lane_stride = kSide, work.k_stride = 1, work.k_outside = of_b;
        work.from = spec_of(from);
        std::vector<std::uint8_t> x(kSide * kSide * 2);
        for (std::uint64_t i = 0; i < kSide * kSide; ++i) store_word(x.data(), 2, i, i);
        compare({work, work.rule.one_factor()}, x,
                std::string(dtype->name) + " " + std::string(scaling.name) + " ");
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
