// Attention on a GPU against attention() on the host, bit by bit: families and plans with fields changed,
// masks, grouped heads, splits, descales, operands that are not finite.
#include "mmaudit/attention.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "gpu_fixture.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "model/attention.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

class AttentionOnDevice : public Gpu {};
using Random = std::mt19937_64;

template <typename T>
Buffer on_device(const std::vector<T>& x) {
  Buffer out(x.size() * sizeof(T));
  if (!x.empty()) copy_in(out.data(), x.data(), x.size() * sizeof(T));
  return out;
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

/// About normal; `hostile`: of many binades, or with infinities, NaN and zeros.
std::vector<std::byte> numbers(const FormatSpec& format, std::uint64_t count, int hostile, Random& random) {
  std::vector<std::byte> out(count * format.storage_bytes());
  std::normal_distribution<double> normal;
  for (std::uint64_t i = 0; i < count; ++i) {
    double x = normal(random);
    const std::uint64_t draw = random();
    if (hostile == 1) x = std::ldexp(x, static_cast<int>(draw % 18) - 12);
    if (hostile == 2 && draw % 400 < 4)
      x = draw % 4 == 0 ? INFINITY : draw % 4 == 1 ? NAN : draw % 4 == 2 ? 0 : -0.0;
    store_word(out.data(), format.storage_bytes(), i, encode_nearest_even(x, format));
  }
  return out;
}

/// Fields drawn anew, each with a chance of 1/2.
struct Vary {
  Random& random;
  template <typename Enum, std::size_t Count>
  void choice(std::string_view, const std::string_view (&)[Count], Enum& value) const {
    if (random() % 2 == 0) value = static_cast<Enum>(random() % Count);
  }
  void count(std::string_view name, std::uint64_t& value, std::uint64_t) const {
    if (random() % 2 == 0) return;
    if (name == "splits") value = between(random, 1, 7);
    if (name == "combine_lanes") value = std::uint64_t{1} << random() % 4;
    if (name == "offset") value = random() % 9;
    if (name == "threshold") value = random() % 9;
  }
  void format(std::string_view name, Format& value) const {
    if (name == "output" && random() % 2 == 0) value = Format::f32;
  }
  void instruction(std::string_view, Instruction&) const {}
};

/// Words that differ; all NaN are one.
std::uint64_t wrong(const FormatSpec& format, const std::vector<std::byte>& found,
                    const std::vector<std::byte>& expected) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < found.size() / format.storage_bytes(); ++i) {
    const std::uint64_t x = load_word(found.data(), format.storage_bytes(), i),
                        y = load_word(expected.data(), format.storage_bytes(), i);
    const bool nan = std::isnan(decode_value(x, format)) && std::isnan(decode_value(y, format));
    if (x != y && !nan) ++count;
  }
  return count;
}

TEST_F(AttentionOnDevice, GivesTheBitsOfTheHost) {
  Random random(45);
  std::uint64_t elements = 0, problems = 0;
  while (problems < 150) {
    const AttentionFamily& family = attention_families()[random() % attention_families().size()];
    const Architecture& architecture = *find_architecture(family.architecture);
    constexpr Format kTypes[] = {Format::f16, Format::bf16, Format::e4m3, Format::e5m2};
    AttentionProblem x;
    x.type = kTypes[random() % 4];
    x.batch = between(random, 1, 2), x.kv_heads = between(random, 1, 2);
    x.heads = x.kv_heads * between(random, 1, 2);
    x.queries = random() % 4 == 0 ? 1 : between(random, 1, 300);
    x.keys = between(random, 1, 500), x.depth = between(random, 1, 256);
    x.causal = static_cast<Causal>(random() % 3);
    x.bias = random() % 4 == 0;
    if (random() % 6 == 0) x.left = random() % 200;
    if (random() % 6 == 0) x.right = random() % 60;
    if (random() % 2 == 0) x.softcap = family.takes.find("softcap") == std::string_view::npos ? 0 : 20;
    x.sinks = random() % 2 == 0 && family.takes.find("sinks") != std::string_view::npos;
    std::optional<AttentionPlan> plan = attention_plan_of(family.name, x, nullptr);
    if (!plan) continue;
    if (random() % 2 == 0) for_each_field(*plan, Vary{random});
    if (!why_no_attention(x, *plan, architecture).empty()) continue;
    const FormatSpec type = spec_of(x.type), output = spec_of(plan->output), f32 = spec_of(Format::f32);
    const int hostile = static_cast<int>(random() % 3);
    const std::uint64_t rows = x.batch * x.heads * x.queries, of_k = x.batch * x.kv_heads * x.keys * x.depth;
    const std::vector<std::byte> q = numbers(type, rows * x.depth, hostile, random),
                                 k = numbers(type, of_k, hostile, random),
                                 v = numbers(type, of_k, hostile, random),
                                 bias = numbers(type, x.bias ? x.queries * x.keys : 0, 0, random);
    std::vector<float> scales(x.batch * x.kv_heads);
    for (float& scale : scales) scale = std::exp2(static_cast<float>(random() % 5) / 2 - 1);
    const bool descaled = random() % 3 == 0;
    std::vector<float> sinks(x.sinks ? x.heads : 0);
    for (float& sink : sinks) sink = static_cast<float>(random() % 64) / 8 - 4;
    std::vector<std::byte> o(rows * x.depth * output.storage_bytes()), lse(rows * sizeof(float)),
        found_o(o.size()), found_lse(lse.size());
    const auto given = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
    const float* const factors = descaled ? scales.data() : nullptr;
    attention(x, *plan,
              {q.data(), k.data(), v.data(), given(bias), 1, 1, factors, factors, factors, given(sinks)},
              {o.data(), reinterpret_cast<float*>(lse.data())}, 0, architecture);

    const Buffer dq = on_device(q), dk = on_device(k), dv = on_device(v), dbias = on_device(bias),
                 dscales = on_device(scales), dsinks = on_device(sinks), d_o(o.size()), dlse(lse.size());
    poison(d_o.data(), o.size()), poison(dlse.data(), lse.size());
    const DeviceAttention model(x, *plan, architecture);
    const Buffer space(model.workspace());
    const auto* const dfactors = descaled ? dscales.data<float>() : nullptr;
    model.launch({dq.data(), dk.data(), dv.data(), x.bias ? dbias.data() : nullptr, 1, 1, dfactors, dfactors,
                  dfactors, x.sinks ? dsinks.data<float>() : nullptr},
                 {d_o.data(), dlse.data<float>()}, space.data(), nullptr);
    copy_out(found_o.data(), d_o.data(), o.size());
    copy_out(found_lse.data(), dlse.data(), lse.size());
    EXPECT_EQ(wrong(output, found_o, o), 0U)
        << family.name << ' ' << text_of(*plan) << ", " << x.queries << " x " << x.keys << " x " << x.depth
        << ", hostile " << hostile;
    EXPECT_EQ(wrong(f32, found_lse, lse), 0U) << family.name << ' ' << text_of(*plan);
    elements += rows * x.depth, ++problems;
  }
  std::printf("%llu elements of %llu problems\n", static_cast<unsigned long long>(elements),
              static_cast<unsigned long long>(problems));
}

TEST_F(AttentionOnDevice, AcceptsWhatNeedsManyParts) {
  AttentionProblem x;
  x.type = Format::f16, x.queries = 300, x.keys = 400'000,
  x.depth = 8;  // more scores than a part has room for
  const AttentionPlan plan = *attention_plan_of("torch-flash", x, nullptr);
  Random random(46);
  const FormatSpec f16 = spec_of(Format::f16);
  const std::vector<std::byte> q = numbers(f16, x.queries * x.depth, 0, random),
                               k = numbers(f16, x.keys * x.depth, 0, random),
                               v = numbers(f16, x.keys * x.depth, 0, random);
  std::vector<std::byte> o(q.size()), found(o.size());
  attention(x, plan, {q.data(), k.data(), v.data()}, {o.data()}, 0);
  const Buffer dq = on_device(q), dk = on_device(k), dv = on_device(v), d_o(o.size());
  const DeviceAttention model(x, plan, *find_architecture(kDefaultArchitecture));
  const Buffer space(model.workspace());
  model.launch({dq.data(), dk.data(), dv.data()}, {d_o.data()}, space.data(), nullptr);
  copy_out(found.data(), d_o.data(), o.size());
  EXPECT_EQ(wrong(f16, found, o), 0U);
}

}  // namespace
}  // namespace mmaudit::device
