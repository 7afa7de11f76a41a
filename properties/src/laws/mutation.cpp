#include "mmaudit/laws/mutation.hpp"

#include <mutex>

#include "mmaudit/generators/families.hpp"
#include "parallel.hpp"

namespace mmaudit::laws {
namespace {

/// The laws of one kind that `mutant` breaks.
void ask(const Subject& subject, const MutationRun& how, std::uint64_t dots, bool slow, Mutant& mutant) {
  // An oracle judges two tiles of every family of inputs.
  const std::uint64_t families = std::uint64_t{2} * gen::kFamilies *
                                 static_cast<std::uint64_t>(subject.instruction.m) *
                                 static_cast<std::uint64_t>(subject.instruction.n);
  const Backend backend = wrong_model(subject, mutant.neighbour.datapath, mutant.neighbour.change);
  for (const Law& law : lawbook()) {
    if (law.slow != slow) continue;
    const LawOptions options{
        .seed = how.seed, .dots = slow ? families : dots, .launch = 10'000, .until_broken = true};
    if (!check_law(law, subject, backend, options).good()) mutant.broken.push_back(&law);
  }
}

}  // namespace

std::vector<Mutant> mutate(std::span<const Subject> subjects, const MutationRun& how) {
  std::vector<Mutant> all;
  std::vector<const Subject*> of;
  for (const Subject& subject : subjects)
    for (gen::Neighbour& one : gen::neighbours(subject.instruction, subject.datapath)) {
      all.push_back({subject.instruction, std::move(one), {}});
      of.push_back(&subject);
    }
  std::mutex lock;
  in_parallel(all.size(), how.threads, [&](std::size_t i) {
    Mutant& mutant = all[i];
    ask(*of[i], how, how.dots, false, mutant);
    // Some differ on rare inputs alone.
    if (mutant.unnoticed()) ask(*of[i], how, 10 * how.dots, false, mutant);
    if (mutant.broken.empty()) ask(*of[i], how, how.dots, true, mutant);
    const std::lock_guard guard(lock);
    if (how.done != nullptr) how.done(all[i]);
  });
  return all;
}

}  // namespace mmaudit::laws
