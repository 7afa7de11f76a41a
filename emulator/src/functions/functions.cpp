#include "mmaudit/functions.hpp"

#include <cmath>
#include <limits>

#include "mmaudit/name_in.hpp"

namespace mmaudit::functions {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr double kLeast = 0x1p-126, kMost = 0x1.fffffep127;
constexpr std::string_view kPtx = "PTX ISA 9.0, floating point instructions";
constexpr std::string_view kGuide = "CUDA C++ Programming Guide 13.0, mathematical functions";

constexpr Bound relative(double most, double low, double high) {
  return {BoundKind::relative, most, low, high, kPtx};
}
constexpr Bound absolute(double most, double low, double high, std::string_view source = kPtx) {
  return {BoundKind::absolute, most, low, high, source};
}
constexpr Bound ulps(double most, double low, double high, std::string_view source = kGuide) {
  return {BoundKind::ulps, most, low, high, source};
}
constexpr Bound kNone{};

// The bounds are the vendor's words; what is measured: docs/functions.md.
// clang-format off
constexpr Function kFunctions[] = {
    {"ex2.approx.f32", Id::ex2, 1, 32, "exp2", "x < -126: MUFU.EX2(x / 2)^2; else MUFU.EX2",
     relative(0x1p-22, -126, 128)},
    {"ex2.approx.ftz.f32",   Id::ex2_ftz,   1, 32, "exp2",  "MUFU.EX2", relative(0x1p-22, -126, 128)},
    {"lg2.approx.f32", Id::lg2, 1, 32, "log2", "subnormal x: MUFU.LG2(2^24 x) - 24; else MUFU.LG2",
     absolute(0x1p-22, 0.5, 2)},
    {"lg2.approx.ftz.f32",   Id::lg2_ftz,   1, 32, "log2",  "MUFU.LG2", absolute(0x1p-22, 0.5, 2)},
    {"rcp.approx.f32", Id::rcp, 1, 32, "1/x", "s MUFU.RCP(s x), s = 2^24 for subnormal, 1/4 for large x",
     ulps(1, kLeast, kMost, kPtx)},
    {"rcp.approx.ftz.f32",   Id::rcp_ftz,   1, 32, "1/x",   "MUFU.RCP", ulps(1, kLeast, 0x1p125, kPtx)},
    {"rsqrt.approx.f32", Id::rsqrt, 1, 32, "1/sqrt","subnormal x: 2^12 MUFU.RSQ(2^24 x); else MUFU.RSQ",
     relative(0x1p-22, kLeast, kMost)},
    {"rsqrt.approx.ftz.f32", Id::rsqrt_ftz, 1, 32, "1/sqrt","MUFU.RSQ", relative(0x1p-22, kLeast, kMost)},
    {"sqrt.approx.f32", Id::sqrt, 1, 32, "sqrt", "subnormal x: 2^-12 MUFU.SQRT(2^24 x); else MUFU.SQRT",
     relative(0x1p-22, kLeast, kMost)},
    {"sqrt.approx.ftz.f32",  Id::sqrt_ftz,  1, 32, "sqrt",  "MUFU.SQRT", relative(0x1p-22, kLeast, kMost)},
    {"sin.approx.f32", Id::sin, 1, 32, "sin", "MUFU.SIN(x * 0.15915494 towards zero)", absolute(0x1p-20, -6.28, 6.28)},
    {"sin.approx.ftz.f32", Id::sin_ftz, 1, 32, "sin", "MUFU.SIN(x * 0.15915494 towards zero)",
     absolute(0x1p-20, -6.28, 6.28)},
    {"cos.approx.f32", Id::cos, 1, 32, "cos", "MUFU.COS(x * 0.15915494 towards zero)", absolute(0x1p-20, -6.28, 6.28)},
    {"cos.approx.ftz.f32", Id::cos_ftz, 1, 32, "cos", "MUFU.COS(x * 0.15915494 towards zero)",
     absolute(0x1p-20, -6.28, 6.28)},
    {"tanh.approx.f32",      Id::tanh,      1, 32, "tanh",  "MUFU.TANH", relative(0x1p-11, -kAny, kAny)},
    {"ex2.approx.f16",       Id::ex2_f16,   1, 16, "exp2",  "MUFU.EX2.F16", kNone},
    {"ex2.approx.ftz.bf16",  Id::ex2_bf16,  1, 16, "exp2",  "MUFU.EX2.BF16", kNone},
    {"tanh.approx.f16",      Id::tanh_f16,  1, 16, "tanh",  "MUFU.TANH.F16", kNone},
    {"tanh.approx.bf16",     Id::tanh_bf16, 1, 16, "tanh",  "MUFU.TANH.BF16", kNone},
    {"expf", Id::expf, 1, 32, "exp", "FFMA.SAT, FFMA.RM, FADD, FFMA, FFMA, MUFU.EX2, FMUL", ulps(2, -87, 88)},
    {"exp2f",        Id::exp2f,      1, 32, "exp2",  "ex2.approx.f32", ulps(2, -126, 128)},
    {"exp10f", Id::exp10f, 1, 32, "exp10", "FFMA.SAT, FFMA.RM, FADD, FFMA, FFMA, MUFU.EX2, FMUL", ulps(2, -37, 38)},
    {"logf",         Id::logf,       1, 32, "log",   "a polynomial of FFMA, no MUFU", ulps(1, kLeast, kMost)},
    {"sqrtf",        Id::sqrtf,      1, 32, "sqrt",  "sqrt.rn.f32: to the nearest number", ulps(0, 0, kMost)},
    {"rsqrtf",       Id::rsqrtf,     1, 32, "1/sqrt","rsqrt.approx.f32", ulps(2, kLeast, kMost)},
    {"erff", Id::erff, 1, 32, "erf", "two polynomials of FFMA; 1 - MUFU.EX2 from |x| = 1.00296 on",
     ulps(2, -kAny, kAny)},
    {"tanhf", Id::tanhf, 1, 32, "tanh", "a polynomial below 0.6; 1 - 2 MUFU.RCP(MUFU.EX2(2 log2(e) |x|) + 1)",
     ulps(2, -kAny, kAny)},
    {"divide",       Id::divide,     2, 32, "x/y",   "div.rn.f32: to the nearest number", ulps(0, -kAny, kAny)},
    {"__expf",       Id::c_expf,     1, 32, "exp",   "FMUL, ex2.approx.f32", kNone},
    {"__exp10f",     Id::c_exp10f,   1, 32, "exp10", "FMUL, ex2.approx.f32", kNone},
    {"__logf",       Id::c_logf,     1, 32, "log",   "lg2.approx.f32, FMUL", absolute(0x1p-21, 0.5, 2, kGuide)},
    {"__log2f",      Id::c_log2f,    1, 32, "log2",  "lg2.approx.f32", absolute(0x1p-22, 0.5, 2, kGuide)},
    {"__log10f",     Id::c_log10f,   1, 32, "log10", "lg2.approx.f32, FMUL", absolute(0x1p-22, 0.5, 2, kGuide)},
    {"__sinf",       Id::c_sinf,     1, 32, "sin",   "sin.approx.f32", absolute(0x1p-20, -3.14, 3.14, kGuide)},
    {"__cosf",       Id::c_cosf,     1, 32, "cos",   "cos.approx.f32", absolute(0x1p-20, -3.14, 3.14, kGuide)},
    {"__fdividef", Id::c_fdividef, 2, 32, "x/y", "div.approx.f32: MUFU.RCP, FMUL; both times 2^24 for subnormal y",
     kNone},
    {"expf/fast",    Id::fast_expf,  1, 32, "exp",   "FMUL.FTZ, MUFU.EX2", kNone},
    {"exp2f/fast",   Id::fast_exp2f, 1, 32, "exp2",  "MUFU.EX2", kNone},
    {"exp10f/fast",  Id::fast_exp10f,1, 32, "exp10", "FMUL.FTZ, MUFU.EX2", kNone},
    {"logf/fast",    Id::fast_logf,  1, 32, "log",   "MUFU.LG2, FMUL.FTZ", absolute(0x1p-21, 0.5, 2, kGuide)},
    {"sqrtf/fast",   Id::fast_sqrtf, 1, 32, "sqrt",  "MUFU.SQRT", kNone},
    {"rsqrtf/fast",  Id::fast_rsqrtf,1, 32, "1/sqrt","MUFU.RSQ", ulps(2, kLeast, kMost)},
    {"erff/fast",    Id::fast_erff,  1, 32, "erf",   "erff's steps with .FTZ", kNone},
    {"tanhf/fast",   Id::fast_tanhf, 1, 32, "tanh",  "MUFU.TANH", kNone},
    {"divide/fast",  Id::fast_divide,2, 32, "x/y",   "MUFU.RCP, FMUL.FTZ", kNone},
};
// clang-format on

struct Value {
  std::string_view name;
  double (*of)(double, double);
};
constexpr Value kValues[] = {
    {"exp2", [](double x, double) { return std::exp2(x); }},
    {"exp", [](double x, double) { return std::exp(x); }},
    {"exp10", [](double x, double) { return std::pow(10.0, x); }},
    {"log2", [](double x, double) { return std::log2(x); }},
    {"log", [](double x, double) { return std::log(x); }},
    {"log10", [](double x, double) { return std::log10(x); }},
    {"1/x", [](double x, double) { return 1 / x; }},
    {"1/sqrt", [](double x, double) { return 1 / std::sqrt(x); }},
    {"sqrt", [](double x, double) { return std::sqrt(x); }},
    {"sin", [](double x, double) { return std::sin(x); }},
    {"cos", [](double x, double) { return std::cos(x); }},
    {"tanh", [](double x, double) { return std::tanh(x); }},
    {"erf", [](double x, double) { return std::erf(x); }},
    {"x/y", [](double x, double y) { return x / y; }},
};

}  // namespace

std::span<const Function> all() { return kFunctions; }

const Function* find(std::string_view name) { return find_named(kFunctions, name); }

double exact(const Function& function, double x, double y) {
  return find_named(kValues, function.value)->of(x, y);
}

}  // namespace mmaudit::functions
