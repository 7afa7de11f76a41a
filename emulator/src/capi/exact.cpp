// The C interface: is a product a product?
#include <algorithm>
#include <cmath>
#include <vector>

#include "guard.hpp"
#include "mmaudit/exact_product.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::capi {
namespace {

using Floats = std::vector<float>;

exact::Scale scale_of(const mmaudit_exact_scale& given, double whole) {
  return {given.given != 0, given.per_lane, given.block, whole};
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

exact::Product product_of(const mmaudit_exact& work) {
  exact::Product out;
  out.batch = work.batch == 0 ? 1 : work.batch;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;  // sizes, and elements of a matrix
  for (const auto& [name, size] :
       {std::pair{"batch", out.batch}, {"m", work.m}, {"n", work.n}, {"k", work.k}})
    if (size == 0 || size >= kMost) refuse("{}: found {}, allowed: 1 to {}", name, size, kMost - 1);
  for (const auto& [name, one, other] :
       {std::tuple{"m * n", work.m, work.n}, {"m * k", work.m, work.k}, {"k * n", work.k, work.n}})
    if (one * other >= kMost / out.batch)
      refuse("{}: found {} * {}, allowed: below {} in the batch", name, one, other, kMost);
  out.m = work.m, out.n = work.n, out.k = work.k;
  out.one_a = work.one_a != 0, out.one_b = work.one_b != 0;
  out.alpha = work.alpha == 0 ? 1 : work.alpha;
  out.beta = work.beta;
  for (const auto& [name, value] : {std::pair{"alpha", out.alpha}, {"beta", work.beta}})
    if (value != 0 && (!is_power_of_two(value) || std::abs(value) > 8 || std::abs(value) < 0.125))
      refuse("{}: found {}, allowed: a power of two from 1/8 to 8", name, value);
  out.bias = work.bias != 0, out.relu = work.relu != 0;
  out.scale_a = scale_of(work.scale_a, 2);  // another one than B's, so that an exchange shows
  out.scale_b = scale_of(work.scale_b, 4);
  const FormatSpec of_a = format_of("type", work.type);
  if (!of_a.integer()) out.digit_bits = std::min<std::uint32_t>(3, of_a.fraction_bits + 1U);
  out.limit = exact::limit_of(of_a, format_of("d_format", work.d_format));
  return out;
}

exact::Run run_once(const exact::Product& x, const exact::Words& words, mmaudit_exact_run run, void* user) {
  const std::uint64_t of_a = x.one_a ? 1 : x.batch, of_b = x.one_b ? 1 : x.batch;
  Floats a(of_a * x.m * x.k), b(of_b * x.k * x.n), c(x.beta != 0 ? x.elements() : 0), bias(x.bias ? x.n : 0);
  for (std::uint64_t e = 0; e < a.size(); ++e) a[e] = static_cast<float>(word_of_a(words, e / x.k, e % x.k));
  for (std::uint64_t e = 0; e < b.size(); ++e)
    b[e] = static_cast<float>(word_of_b(words, e / x.n % x.k, e / x.n / x.k * x.n + e % x.n));
  for (std::uint64_t e = 0; e < c.size(); ++e) c[e] = static_cast<float>(word_of_c(words, e));
  for (std::uint64_t e = 0; e < bias.size(); ++e) bias[e] = static_cast<float>(word_of_bias(words, e));
  const auto factors = [&](const exact::Scale& scale, std::uint64_t lanes, bool of_rows) {
    const std::uint64_t block = scale.block == 0 ? x.k : scale.block, blocks = (x.k + block - 1) / block;
    const std::uint64_t each = scale.lanes == 0 ? lanes : scale.lanes, count = (lanes + each - 1) / each;
    Floats out(scale.given ? count * blocks : 0);
    for (std::uint64_t e = 0; e < out.size(); ++e)
      out[e] = static_cast<float>(of_rows ? scale.at(e / blocks * each, e % blocks * block)
                                          : scale.at(e % count * each, e / count * block));
    return out;
  };
  const Floats scale_a = factors(x.scale_a, x.m, true), scale_b = factors(x.scale_b, x.n, false);
  const auto pointer = [](const Floats& of) { return of.empty() ? nullptr : of.data(); };
  const mmaudit_exact_operands operands{sizeof operands, a.data(),         b.data(),         pointer(c),
                                        pointer(bias),   pointer(scale_a), pointer(scale_b), words.padding};
  exact::Run out;
  out.d.resize(x.elements());
  const int status = run(user, &operands, out.d.data());
  if (status < 0) throw InputError("run: found a call that stopped, allowed: 0, 1");
  out.outside = status == 1;
  return out;
}

std::string json_of(const exact::Finding& found) {
  json::Writer out;
  out.begin_object().key("faults").begin_array();
  for (const std::string& each : found.faults) out.value(each);
  out.end_array();
  out.field("runs", found.runs).field("failing", found.failing).field("elements", found.elements);
  out.field("wrong", found.wrong).field("tail", found.tail).key("wrong_k").begin_array();
  for (const exact::KRange& each : found.wrong_k)
    out.begin_array().value(each.first).value(each.last).value(each.times).end_array();
  out.end_array().key("first").begin_object();
  out.field("matrix", found.matrix).field("row", found.row).field("column", found.column);
  out.field("expected", found.expected).field("found", found.found).end_object();
  return out.end_object().text();
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;

extern "C" {

int mmaudit_check_exact(const mmaudit_exact* given, mmaudit_exact_run run, void* user, char** result) {
  return guarded([&] {
    const mmaudit_exact work = taken(given);
    if (run == nullptr) mmaudit::refuse("run: found null, allowed: a function");
    const mmaudit::exact::Product x = product_of(work);
    const auto multiply = [&](const mmaudit::exact::Words& words) { return run_once(x, words, run, user); };
    const auto found =
        mmaudit::exact::check(x, multiply, nullptr, work.repeat == 0 ? 2 : work.repeat, work.seed, true);
    give_text(result, [&] { return json_of(found); });
  });
}

int mmaudit_exact_condition(const uint64_t* trials, size_t count, char** rule) {
  return guarded([&] {
    if (trials == nullptr && count != 0) mmaudit::refuse("trials: found null, allowed: an array");
    std::vector<mmaudit::exact::Trial> all;
    for (size_t i = 0; i < count; ++i, trials += 6)
      all.push_back({trials[0], trials[1], trials[2], trials[3], trials[4], trials[5] != 0});
    give_text(rule, [&] { return mmaudit::exact::condition_of(all); });
  });
}
}
