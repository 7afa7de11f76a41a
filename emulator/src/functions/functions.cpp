#include "mmaudit/functions.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "mmaudit/name_in.hpp"

namespace mmaudit::functions {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity(), kPi = 3.14159265358979323846;
constexpr double kLeast = 0x1p-149, kMost = 0x1.fffffep127;
// kPow9p9: 2^-9.9, in binary64.
constexpr double kPow9p9 = 0x1.125fbee250663p-10, kPow10p987 = 0x1.0251353756991p-11,
                 kPow14p7 = 0x1.3b2c47bff832cp-15;
constexpr double kPow20p5 = 0x1.6a09e667f3bcdp-21, kPow21p19 = 0x1.c0d2771113e52p-22;
constexpr double kPow21p41 = 0x1.8157d9d08a78dp-22, kPow22p9 = 0x1.125fbee250669p-23;

constexpr Bound relative(double most, std::string_view source, double low = -kAll, double high = kAll) {
  return {BoundKind::relative, most, low, high, source};
}
constexpr Bound absolute(double most, double low, double high, std::string_view source) {
  return {BoundKind::absolute, most, low, high, source};
}
constexpr std::string_view kStandard = "CUDA C++ Programming Guide 13.1, 17.1 Standard Functions, Table 17";
constexpr std::string_view kIntrinsic = "CUDA C++ Programming Guide 13.1, 17.2 Intrinsic Functions, Table 21";
constexpr Bound ulps(double most, std::string_view source = kStandard, double per_x = 0) {
  return {BoundKind::ulps, most, -kAll, kAll, source, per_x};
}

// The bounds are the vendor's words; what all operands give: kOnAll.
constexpr Bound kEx2 = ulps(2, "PTX ISA 9.1, 9.7.3.21 ex2"), kRcp = ulps(1, "PTX ISA 9.1, 9.7.3.13 rcp");
constexpr std::string_view kLg2Source = "PTX ISA 9.1, 9.7.3.20 lg2";
constexpr Bound kLg2 = absolute(0x1p-22, 0.5, 2, kLg2Source),
                kLg2Else = relative(0x1p-22, kLg2Source, kLeast, kMost);
constexpr Bound kRsqrt = relative(kPow22p9, "PTX ISA 9.1, 9.7.3.16 rsqrt", kLeast, kMost);
constexpr Bound kSqrt = relative(0x1p-23, "PTX ISA 9.1, 9.7.3.15 sqrt", kLeast, kMost);
constexpr std::string_view kSineSource = "PTX ISA 9.1, 9.7.3.18 sin, 9.7.3.19 cos";
constexpr Bound kSine = absolute(kPow20p5, -2 * kPi, 2 * kPi, kSineSource);
constexpr Bound kSineElse = absolute(kPow14p7, -100 * kPi, 100 * kPi, kSineSource);
constexpr Bound kTanh = relative(0x1p-11, "PTX ISA 9.1, 9.7.3.22 tanh");
constexpr std::string_view kNarrowEx2 = "PTX ISA 9.1, 9.7.4.10 ex2",
                           kNarrowTanh = "PTX ISA 9.1, 9.7.4.9 tanh";
constexpr Bound kTanhF16 = absolute(kPow10p987, -kAll, kAll, kNarrowTanh);
constexpr Bound kTanhBf16 = absolute(0x1p-8, -kAll, kAll, kNarrowTanh);
constexpr Bound kCLog = absolute(kPow21p41, 0.5, 2, kIntrinsic);
constexpr Bound kCLog2 = absolute(0x1p-22, 0.5, 2, kIntrinsic);
constexpr Bound kDivide = {BoundKind::ulps, 2, 0x1p-126, 0x1p126, kIntrinsic};

// clang-format off
constexpr Function kFunctions[] = {
    {"ex2.approx.f32", Id::ex2, 1, 32, "exp2", "x < -126: MUFU.EX2(x / 2)^2; else MUFU.EX2", kEx2},
    {"ex2.approx.ftz.f32",   Id::ex2_ftz,   1, 32, "exp2",  "MUFU.EX2", kEx2},
    {"lg2.approx.f32", Id::lg2, 1, 32, "log2", "subnormal x: MUFU.LG2(2^24 x) - 24; else MUFU.LG2", kLg2, kLg2Else},
    {"lg2.approx.ftz.f32",   Id::lg2_ftz,   1, 32, "log2",  "MUFU.LG2", kLg2, kLg2Else},
    {"rcp.approx.f32", Id::rcp, 1, 32, "1/x", "s MUFU.RCP(s x), s = 2^24 for subnormal, 1/4 for large x", kRcp},
    {"rcp.approx.ftz.f32",   Id::rcp_ftz,   1, 32, "1/x",   "MUFU.RCP", kRcp},
    {"rsqrt.approx.f32", Id::rsqrt, 1, 32, "1/sqrt","subnormal x: 2^12 MUFU.RSQ(2^24 x); else MUFU.RSQ", kRsqrt},
    {"rsqrt.approx.ftz.f32", Id::rsqrt_ftz, 1, 32, "1/sqrt","MUFU.RSQ", kRsqrt},
    {"sqrt.approx.f32", Id::sqrt, 1, 32, "sqrt", "subnormal x: 2^-12 MUFU.SQRT(2^24 x); else MUFU.SQRT", kSqrt},
    {"sqrt.approx.ftz.f32",  Id::sqrt_ftz,  1, 32, "sqrt",  "MUFU.SQRT", kSqrt},
    {"sin.approx.f32",     Id::sin,     1, 32, "sin", "MUFU.SIN(x * 0.15915494 towards zero)", kSine, kSineElse},
    {"sin.approx.ftz.f32", Id::sin_ftz, 1, 32, "sin", "MUFU.SIN(x * 0.15915494 towards zero)", kSine, kSineElse},
    {"cos.approx.f32",     Id::cos,     1, 32, "cos", "MUFU.COS(x * 0.15915494 towards zero)", kSine, kSineElse},
    {"cos.approx.ftz.f32", Id::cos_ftz, 1, 32, "cos", "MUFU.COS(x * 0.15915494 towards zero)", kSine, kSineElse},
    {"tanh.approx.f32",      Id::tanh,      1, 32, "tanh",  "MUFU.TANH", kTanh, {}, 75},
    {"ex2.approx.f16",       Id::ex2_f16,   1, 16, "exp2",  "MUFU.EX2.F16", relative(kPow9p9, kNarrowEx2), {}, 75},
    {"ex2.approx.ftz.bf16",  Id::ex2_bf16,  1, 16, "exp2",  "MUFU.EX2.BF16", relative(0x1p-7, kNarrowEx2), {}, 90},
    {"tanh.approx.f16",      Id::tanh_f16,  1, 16, "tanh",  "MUFU.TANH.F16", kTanhF16, {}, 75},
    {"tanh.approx.bf16",     Id::tanh_bf16, 1, 16, "tanh",  "MUFU.TANH.BF16", kTanhBf16, {}, 90},
    {"expf", Id::expf, 1, 32, "exp", "FFMA.SAT, FFMA.RM, FADD, FFMA, FFMA, MUFU.EX2, FMUL", ulps(2)},
    {"exp2f",        Id::exp2f,      1, 32, "exp2",  "ex2.approx.f32", ulps(2)},
    {"exp10f", Id::exp10f, 1, 32, "exp10", "FFMA.SAT, FFMA.RM, FADD, FFMA, FFMA, MUFU.EX2, FMUL", ulps(2)},
    {"logf",         Id::logf,       1, 32, "log",   "a polynomial of FFMA, no MUFU", ulps(1)},
    {"log1pf",       Id::log1pf,     1, 32, "log1p", "a polynomial of FFMA, no MUFU", ulps(1)},
    {"sqrtf",        Id::sqrtf,      1, 32, "sqrt",  "sqrt.rn.f32: to the nearest number", ulps(0)},
    {"rsqrtf",       Id::rsqrtf,     1, 32, "1/sqrt","rsqrt.approx.f32", ulps(2)},
    {"erff", Id::erff, 1, 32, "erf", "two polynomials of FFMA; 1 - MUFU.EX2 from |x| = 1.00296 on", ulps(2)},
    {"tanhf", Id::tanhf, 1, 32, "tanh", "a polynomial below 0.6; 1 - 2 MUFU.RCP(MUFU.EX2(2 log2(e) |x|) + 1)", ulps(2)},
    {"divide",       Id::divide,     2, 32, "x/y",   "div.rn.f32: to the nearest number", ulps(0)},
    {"__expf",       Id::c_expf,     1, 32, "exp",   "FMUL, ex2.approx.f32", ulps(2, kIntrinsic, 1.173)},
    {"__exp10f",     Id::c_exp10f,   1, 32, "exp10", "FMUL, ex2.approx.f32", ulps(2, kIntrinsic, 2.97)},
    {"__logf",       Id::c_logf,     1, 32, "log",   "lg2.approx.f32, FMUL", kCLog, ulps(3, kIntrinsic)},
    {"__log2f",      Id::c_log2f,    1, 32, "log2",  "lg2.approx.f32", kCLog2, ulps(2, kIntrinsic)},
    {"__log10f", Id::c_log10f, 1, 32, "log10", "lg2.approx.f32, FMUL", absolute(0x1p-24, 0.5, 2, kIntrinsic),
     ulps(3, kIntrinsic)},
    {"__sinf",       Id::c_sinf,     1, 32, "sin",   "sin.approx.f32", absolute(kPow21p41, -kPi, kPi, kIntrinsic)},
    {"__cosf",       Id::c_cosf,     1, 32, "cos",   "cos.approx.f32", absolute(kPow21p19, -kPi, kPi, kIntrinsic)},
    {"__fdividef", Id::c_fdividef, 2, 32, "x/y", "div.approx.f32: MUFU.RCP, FMUL; both times 2^24 for subnormal y",
     kDivide},
    {"expf/fast",    Id::fast_expf,  1, 32, "exp",   "FMUL.FTZ, MUFU.EX2", ulps(2, kIntrinsic, 1.173)},
    {"exp2f/fast",   Id::fast_exp2f, 1, 32, "exp2",  "MUFU.EX2", ulps(2)},
    {"exp10f/fast",  Id::fast_exp10f,1, 32, "exp10", "FMUL.FTZ, MUFU.EX2", ulps(2, kIntrinsic, 2.97)},
    {"logf/fast",    Id::fast_logf,  1, 32, "log",   "MUFU.LG2, FMUL.FTZ", kCLog, ulps(3, kIntrinsic)},
    {"log1pf/fast",  Id::fast_log1pf,1, 32, "log1p", "log1pf's steps with .FTZ", ulps(1)},
    {"sqrtf/fast",   Id::fast_sqrtf, 1, 32, "sqrt",  "MUFU.SQRT", ulps(1)},
    {"rsqrtf/fast",  Id::fast_rsqrtf,1, 32, "1/sqrt","MUFU.RSQ", ulps(2)},
    {"erff/fast",    Id::fast_erff,  1, 32, "erf",   "erff's steps with .FTZ", ulps(2)},
    {"tanhf/fast",   Id::fast_tanhf, 1, 32, "tanh",  "MUFU.TANH", relative(0x1p-11, kIntrinsic)},
    {"divide/fast",  Id::fast_divide,2, 32, "x/y",   "MUFU.RCP, FMUL.FTZ", kDivide},
};
// clang-format on

constexpr Value kValues[] = {
    {"exp2", [](double x, double) { return std::exp2(x); }, Symmetry::none, Trend::rises},
    {"exp", [](double x, double) { return std::exp(x); }, Symmetry::none, Trend::rises},
    {"exp10", [](double x, double) { return std::pow(10.0, x); }, Symmetry::none, Trend::rises},
    {"log2", [](double x, double) { return std::log2(x); }, Symmetry::none, Trend::rises},
    {"log", [](double x, double) { return std::log(x); }, Symmetry::none, Trend::rises},
    {"log1p", [](double x, double) { return std::log1p(x); }, Symmetry::none, Trend::rises},
    {"log10", [](double x, double) { return std::log10(x); }, Symmetry::none, Trend::rises},
    {"1/x", [](double x, double) { return 1 / x; }, Symmetry::odd, Trend::falls},
    {"1/sqrt", [](double x, double) { return 1 / std::sqrt(x); }, Symmetry::none, Trend::falls},
    {"sqrt", [](double x, double) { return std::sqrt(x); }, Symmetry::none, Trend::rises},
    {"sin", [](double x, double) { return std::sin(x); }, Symmetry::odd},
    {"cos", [](double x, double) { return std::cos(x); }, Symmetry::even},
    {"tanh", [](double x, double) { return std::tanh(x); }, Symmetry::odd, Trend::rises},
    {"erf", [](double x, double) { return std::erf(x); }, Symmetry::odd, Trend::rises},
    {"x/y", [](double x, double y) { return x / y; }},
};

// clang-format off
constexpr Found kEx2Found = {{2, 0xBBA08000}, {}, {}, {}, {}, {}};
constexpr Found kSqrtFound = {{0x1.ad8789d4b5eb2p-24, 0x0021202A}, {}, {}, {}, {508, 0x009FFFFF}, {}};
constexpr Found kRsqrtFound = {{0x1.0bb93c9c04756p-23, 0x00000041}, {}, {}, {}, {}, {}};
constexpr Found kSinFound = {{0x1.5d3812404p-21, 0x40527E14}, {0x1.328415ac90ap-15, 0x439B846E}, {}, {}, {}, {}};
constexpr Found kTanhFound = {{0x1.75548ae8e5243p-17, 0x3F17040F}, {}, {}, {}, {52474, 0x3DBFFFFF}, {6, 0x3D7FFFFF}};
constexpr Found kCosFound = {
    {0x1.7ce311f1p-21, 0x409CCDB6}, {0x1.32fcd139c6p-15, 0x439C53B9}, {4698, 0x409794F5}, {}, {}, {}};
constexpr std::pair<Id, Found> kOnAll[] = {
    {Id::ex2, kEx2Found}, {Id::ex2_ftz, kEx2Found}, {Id::exp2f, kEx2Found}, {Id::fast_exp2f, kEx2Found},
    {Id::sin, kSinFound}, {Id::sin_ftz, kSinFound}, {Id::tanh, kTanhFound}, {Id::fast_tanhf, kTanhFound},
    {Id::rcp, {{1, 0x0020016B}, {}, {}, {}, {}, {}}},
    {Id::sqrt, kSqrtFound}, {Id::rsqrt, kRsqrtFound}, {Id::cos, kCosFound}, {Id::cos_ftz, kCosFound},
    {Id::lg2, {{0x1.ce32e554p-23, 0x3F075FFF}, {0x1.ec4d095ce9271p-23, 0x3EF3FFDE}, {}, {}, {}, {}}},
    {Id::tanh_f16, {{0x1.024448a02bcp-11, 0x3E23}, {}, {}, {}, {}, {}}},
    {Id::tanh_bf16, {{0x1.000446105d58p-8, 0x3F3F}, {}, {2, 0x3F3F}, {}, {}, {}}},
    {Id::ex2_f16, {{0x1.ff4b0bac247d8p-11, 0x15C4}, {}, {}, {}, {}, {}}},
    {Id::ex2_bf16, {{0x1.f96cb8f296807p-8, 0x3C37}, {}, {}, {}, {}, {}}},
    {Id::lg2_ftz, {{0x1.ce32e554p-23, 0x3F075FFF}, {0x1.ec4d095ce9271p-23, 0x3EF3FFDE}}},
    {Id::rcp_ftz, {{1, 0x008005A9}}},
    {Id::rsqrt_ftz, {{0x1.0bb93c9c04756p-23, 0x01020000}}},
    {Id::sqrt_ftz, {{0x1.ad8789d4b5eb2p-24, 0x008480A8}, {}, {}, {}, {508, 0x009FFFFF}}},
    {Id::expf, {{2, 0x3EB91335}}},
    {Id::exp10f, {{2, 0x3E215A95}}},
    {Id::logf, {{1, 0x0000000A}}},
    {Id::log1pf, {{1, 0x34EF7753}}},
    {Id::sqrtf, {{}}},
    {Id::rsqrtf, {{2, 0x0020802E}}},
    {Id::erff, {{1, 0x000021AB}, {}, {}, {}, {10, 0x3F78CC59}}},
    {Id::tanhf, {{2, 0x3E9C747F}, {}, {}, {}, {2, 0x3F199999}}},
    {Id::c_expf, {{64, 0x42B00C13}}},
    {Id::c_exp10f, {{75, 0x4216818D}}},
    {Id::c_logf, {{0x1.762d84e4p-23, 0x3F055FF9}, {3, 0x3E0B37EB}}},
    {Id::c_log2f, {{0x1.ce32e554p-23, 0x3F075FFF}, {2, 0x3D8157EF}}},
    {Id::c_log10f, {{0x1.1689967p-24, 0x3F076EFF}, {3, 0x40055DFE}, {578, 0x3F0377EB}}},
    {Id::c_sinf, {{0x1.7511f1eep-22, 0x3F274C12}}},
    {Id::c_cosf, {{0x1.b199cd93p-22, 0x3FE11DCA}}},
    {Id::fast_expf, {{64, 0x42B00C13}}},
    {Id::fast_exp10f, {{75, 0x4216818D}}},
    {Id::fast_logf, {{0x1.762d84e4p-23, 0x3F055FF9}, {3, 0x3E0B37EB}}},
    {Id::fast_log1pf, {{1, 0x34EF7753}}},
    {Id::fast_sqrtf, {{1, 0x00801000}, {}, {}, {}, {508, 0x009FFFFF}}},
    {Id::fast_rsqrtf, {{2, 0x00820036}}},
    {Id::fast_erff, {{1, 0x00800000}, {}, {}, {}, {10, 0x3F78CC59}}},
};
// clang-format on

}  // namespace

std::span<const Function> all() { return kFunctions; }

const Function* find(std::string_view name) { return find_named(kFunctions, name); }

std::vector<const Function*> rows_of(std::string_view name) {
  if (const Function* found = find(name)) return {found};
  std::vector<const Function*> out;
  for (const Function& one : kFunctions)
    if (!name.empty() && one.name.starts_with(name) && one.name[name.size()] == '.') out.push_back(&one);
  return out;
}

const Value& value_of(const Function& function) { return *find_named(kValues, function.value); }

const Found* found_on_all(const Function& function) {
  for (const auto& [id, found] : kOnAll)
    if (id == function.id) return &found;
  return nullptr;
}

}  // namespace mmaudit::functions
