// How often check_gemm_close() turns down a correct product, whose k are in a random order inside every
// instruction, and how often a wrong one. MMAUDIT_CLOSENESS_PRODUCTS: products of normally distributed
// numbers per datapath (default 200), and a tenth of it of each other kind; MMAUDIT_CLOSENESS_TRIALS: of each
// fault (default 1). MMAUDIT_CLOSENESS_PARTS and MMAUDIT_CLOSENESS_PART share the datapaths among processes.
// Tables of a long run: docs/results/closeness.md.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "closeness_product.hpp"

namespace mmaudit {
namespace {

struct Kind {
  const char *architecture, *name;
  std::uint64_t k, promote, chain;  ///< chain: k that may be in any order
};

constexpr Kind kKinds[] = {
    {"ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", 128, 64, 32},
    {"ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", 128, 0, 32},
    {"ada", "mma.m16n8k32.f16.e4m3.e4m3.f16", 128, 0, 32},
    {"ada", "mma.sp.m16n8k64.f32.e4m3.e4m3.f32", 256, 0, 64},
    {"ampere", "mma.m16n8k16.f32.f16.f16.f32", 64, 0, 16},
    {"ampere", "mma.m16n8k16.f16.f16.f16.f16", 64, 0, 16},
    {"ampere", "mma.m16n8k16.f32.bf16.bf16.f32", 128, 64, 16},
    {"ampere", "mma.m16n8k8.f32.tf32.tf32.f32", 32, 0, 8},
    {"ampere", "mma.m16n8k8.f32.tf32.tf32.f32", 128, 0, 8},
    {"ampere", "mma.m16n8k16.f16.f16.f16.f16", 512, 0, 16},
    {"hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32", 128, 0, 32},
    {"hopper", "mma.m16n8k32.f16.e5m2.e5m2.f16", 128, 0, 32},
    {"hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 128, 64, 32},
    {"blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0", 128, 0, 32},
};
constexpr std::pair<Numbers, const char*> kNumbers[] = {{Numbers::normal, "normal"},
                                                        {Numbers::channels, "channels"},
                                                        {Numbers::heavy, "heavy"},
                                                        {Numbers::whole, "whole"}};

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// D of another order of the products; the check then gets the operands of before.
void compute_in_another_order(TrialProduct& one, const Kind& kind) {
  const auto a = one.a, b = one.b;
  const auto metadata = one.metadata;
  one.shuffle(kind.chain);
  one.compute();
  std::copy(a.begin(), a.end(), one.a.begin());
  std::copy(b.begin(), b.end(), one.b.begin());
  std::copy(metadata.begin(), metadata.end(), one.metadata.begin());
}

/// The kinds whose number is `part` of `parts`, so that several processes share the work.
bool ours(std::size_t number) {
  return number % number_of("MMAUDIT_CLOSENESS_PARTS", 1) == number_of("MMAUDIT_CLOSENESS_PART", 0);
}

TEST(Closeness, AlarmsAtCorrectProductsAreAsRareAsPromised) {
  for (std::size_t number = 0; number < std::size(kKinds); ++number) {
    if (!ours(number)) continue;
    const Kind& kind = kKinds[number];
    for (const auto& [numbers, name] : kNumbers) {
      const std::uint64_t products =
          number_of("MMAUDIT_CLOSENESS_PRODUCTS", 200) / (numbers == Numbers::normal ? 1 : 10);
      std::array<std::uint64_t, 3> alarms{};  // at 10^-2, 10^-3, 10^-6
      std::uint64_t exact = 0;
      for (std::uint64_t seed = 1; seed <= products; ++seed) {
        TrialProduct one(kind.architecture, kind.name, kind.k, kind.promote, 16, numbers, seed);
        compute_in_another_order(one, kind);
        // A limit is wider where alarms are rarer: what passes at 10^-2 passes at 10^-6.
        const GemmCloseness found = one.check(1e-2);
        exact += found.bit_exact == found.elements ? 1 : 0;
        if (found.close()) continue;
        ++alarms[0];
        alarms[1] += one.check(1e-3).close() ? 0 : 1;
        if (const GemmCloseness most = one.check(1e-6); !most.close() && alarms[2]++ == 0)
          std::cout << "  " << most.explanation() << "\n";
      }
      std::cout << "| " << kind.architecture << " " << kind.name << (kind.promote != 0 ? " promoted" : "")
                << " | " << name << " | " << products << " | " << exact << " | " << alarms[0] << " | "
                << alarms[1] << " | " << alarms[2] << " |" << std::endl;
      // Three standard deviations above the promise.
      const auto most = [&](double chance) {
        const double mean = chance * static_cast<double>(products);
        return static_cast<std::uint64_t>(mean + 3 * std::sqrt(mean));
      };
      EXPECT_LE(alarms[0], most(1e-2)) << kind.name << " " << name;
      EXPECT_LE(alarms[1], most(1e-3)) << kind.name << " " << name;
      EXPECT_EQ(alarms[2], 0U) << kind.name << " " << name;
    }
  }
}

/// What a fault does to operands, D or both of a product whose D is then computed; what the check gets is as
/// before.
struct Fault {
  const char* name;
  void (*of)(TrialProduct&);
  void (*of_d)(TrialProduct&);
};

void swap_bytes(std::vector<std::byte>& x, std::uint64_t first, std::uint64_t second, std::uint64_t count) {
  std::swap_ranges(x.begin() + static_cast<std::ptrdiff_t>(first),
                   x.begin() + static_cast<std::ptrdiff_t>(first + count),
                   x.begin() + static_cast<std::ptrdiff_t>(second));
}
std::uint64_t row_bytes(const TrialProduct& one) { return one.a.size() / one.problem.m; }

constexpr Fault kFaults[] = {
    {"none", nullptr, nullptr},
    {"one k lost",
     [](TrialProduct& one) {
       const std::uint64_t bytes = spec_of(one.instruction.a).storage_bytes();
       for (std::uint64_t i = 0; i < one.problem.m; ++i)
         std::fill_n(one.a.begin() + static_cast<std::ptrdiff_t>(i * row_bytes(one) + row_bytes(one) / 2),
                     bytes, std::byte{});
     },
     nullptr},
    {"one instruction lost",
     [](TrialProduct& one) {
       const std::uint64_t bytes =
           row_bytes(one) / (one.problem.k / static_cast<std::uint64_t>(one.instruction.k));
       for (std::uint64_t i = 0; i < one.problem.m; ++i)
         std::fill_n(one.a.begin() + static_cast<std::ptrdiff_t>(i * row_bytes(one)), bytes, std::byte{});
     },
     nullptr},
    {"one row of A for another",
     [](TrialProduct& one) {
       std::copy_n(one.a.begin() + static_cast<std::ptrdiff_t>(row_bytes(one)), row_bytes(one),
                   one.a.begin());
     },
     nullptr},
    {"halves of an instruction of A exchanged",
     [](TrialProduct& one) {
       const std::uint64_t half =
           row_bytes(one) / (one.problem.k / static_cast<std::uint64_t>(one.instruction.k)) / 2;
       for (std::uint64_t i = 0; i < one.problem.m; ++i)
         swap_bytes(one.a, i * row_bytes(one), i * row_bytes(one) + half, half);
     },
     nullptr},
    {"one scale doubled",
     [](TrialProduct& one) {
       if (!one.scale_a.empty()) ++one.scale_a[3];
     },
     nullptr},
    {"promotion half as often", [](TrialProduct& one) { one.problem.promote *= 2; }, nullptr},
    {"promotion twice as often", [](TrialProduct& one) { one.problem.promote /= 2; }, nullptr},
    {"no promotion", [](TrialProduct& one) { one.problem.promote = 0; }, nullptr},
    {"four slices of K", [](TrialProduct& one) { one.problem.split_k = 4; }, nullptr},
    {"one element off by 2^-8", nullptr,
     [](TrialProduct& one) {
       const FormatSpec d = spec_of(one.instruction.d);
       const double value = decode_value(load_word(one.d.data(), d.storage_bytes(), 77), d);
       store_word(one.d.data(), d.storage_bytes(), 77, encode_nearest_even(value * (1 + 0x1p-8), d));
     }},
};

// Not a matter of right or wrong: the table says which faults are seen, and how much of them.
TEST(Closeness, FaultsThatAreSeen) {
  const std::uint64_t trials = number_of("MMAUDIT_CLOSENESS_TRIALS", 1), size = 48;
  std::set<std::string> tried;
  for (std::size_t number = 0; number < std::size(kKinds); ++number) {
    Kind kind = kKinds[number];
    if (!ours(number) || !tried.insert(kind.name + std::to_string(kind.promote)).second) continue;
    for (const std::uint64_t depth : {std::uint64_t{512}, std::uint64_t{2048}})
      for (const Fault& fault : kFaults) {
        kind.k = depth;
        std::array<std::uint64_t, 2> seen{};  // D in the model's order, in another one
        std::uint64_t counted = 0;
        for (std::uint64_t seed = 1; seed <= trials; ++seed)
          for (const bool other : {false, true}) {
            TrialProduct one(kind.architecture, kind.name, kind.k, kind.promote, size, Numbers::normal, seed);
            const auto right = one.d;
            const TrialProduct before = one;
            const Matmul problem = one.problem;
            if (fault.of != nullptr) fault.of(one);
            if (other)
              compute_in_another_order(one, kind);
            else
              one.compute();
            if (fault.of_d != nullptr) fault.of_d(one);
            std::copy(before.a.begin(), before.a.end(), one.a.begin());
            std::copy(before.scale_a.begin(), before.scale_a.end(), one.scale_a.begin());
            one.problem = problem;
            if (!other && one.d == right && fault.of != nullptr) break;  // nothing to promote, or to scale
            counted += other ? 1 : 0;
            seen[other ? 1 : 0] += one.check().close() ? 0 : 1;
          }
        if (counted == 0) continue;
        std::cout << "| " << kind.architecture << " " << kind.name << (kind.promote != 0 ? " promoted" : "")
                  << " | " << depth << " | " << fault.name << " | " << seen[0] << " | " << seen[1] << " | "
                  << counted << " |" << std::endl;
      }
  }
}

}  // namespace
}  // namespace mmaudit
