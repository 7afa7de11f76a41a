// Toys of a few bits on every input: the plain core, every level of vector code and the oracle, for every
// value of every rule. The GPU's part: device/tests/small_worlds_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mmaudit/raw_words.hpp"
#include "small_worlds.hpp"

namespace mmaudit::test {
namespace {

std::vector<std::byte> run(const gen::SmallWorld& world, const Datapath& datapath, gen::SmallProduct& product,
                           const MatmulOptions& options) {
  std::fill(product.d.begin(), product.d.end(), std::byte{0xA5});
  matmul(world.instruction, datapath, product.problem, options);
  return product.d;
}

/// How many elements of `d` the oracle contradicts.
std::uint64_t contradicted(const gen::SmallWorld& world, const Datapath& datapath,
                           const std::vector<std::byte>& d) {
  const std::size_t bytes = spec_of(world.instruction.d).storage_bytes();
  const std::uint64_t columns = gen::columns_of(world);
  std::atomic<std::uint64_t> wrong{0};
  detail::parallel_for(gen::rows_of(world), 0, [&](std::uint64_t i) {
    for (std::uint64_t j = 0; j < columns; ++j)
      wrong += oracle::reference_dot(world.instruction, datapath, gen::dot_of(world, i, j)) !=
               load_word(d.data(), bytes, i * columns + j);
  });
  return wrong;
}

TEST(SmallWorlds, PlainCoreVectorCodeAndOracleAgreeOnEveryInputOfEveryRule) {
  std::uint64_t inputs = 0, by_vectors = 0;
  std::map<std::string, bool> seen;  // rules, and whether an input shows what they change
  for (const gen::SmallWorld& world : gen::small_worlds(false)) {
    gen::SmallProduct product(world);
    const std::uint64_t elements = product.problem.m * product.problem.n;
    std::vector<Mutant> mutants = mutants_of(world.instruction, world.datapath);
    mutants.insert(mutants.begin(), {"itself", "", world.datapath, "unchanged"});
    std::vector<std::byte> of_world;
    for (const Mutant& one : mutants) {
      SCOPED_TRACE(world.name + ", " + one.rule + ": " + one.change);
      MatmulOptions options;
      options.threads = 0;
      options.fast = false;
      const std::vector<std::byte> plain = run(world, one.datapath, product, options);
      inputs += elements;
      ASSERT_EQ(contradicted(world, one.datapath, plain), 0U);
      options.fast = true;
      for (const SimdLevel level : kSimdLevels) {
        if (!fast_serves(world.instruction, one.datapath) || !has_simd_level(level)) continue;
        options.level = level;
        ASSERT_TRUE(run(world, one.datapath, product, options) == plain) << name_of(level);
        by_vectors += elements;
      }
      if (of_world.empty()) of_world = plain;
      if (!one.invisible.empty()) {
        EXPECT_TRUE(plain == of_world) << one.invisible;
        continue;
      }
      // Of a number one change is enough: the next one may fit no input of a toy.
      const bool number = one.change.find("->") != std::string::npos;
      bool& shown = seen.try_emplace(number ? one.rule : one.rule + ": " + one.change, false).first->second;
      shown = shown || plain != of_world;
    }
  }
  std::printf("%llu inputs, %llu of them times a level of vector code\n",
              static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(by_vectors));
  EXPECT_GE(inputs, 10'000'000U);
  EXPECT_GE(by_vectors, 5'000'000U);
  for (const auto& [rule, shown] : seen) EXPECT_TRUE(shown) << rule << " changes nothing in any world";
}

}  // namespace
}  // namespace mmaudit::test
