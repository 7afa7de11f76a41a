#include "mmaudit/laws/mutation.hpp"

#include <mutex>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/generators/input_classes.hpp"

namespace mmaudit::laws {
namespace {

/// The laws of one kind that `mutant` breaks.
void ask(const Subject& subject, const MutationRun& how, std::uint64_t dots, bool slow,
         JudgedMutant& mutant) {
  // An oracle judges two tiles of every input class.
  const std::uint64_t few = std::uint64_t{2} * gen::kInputClasses *
                            static_cast<std::uint64_t>(subject.instruction.m) *
                            static_cast<std::uint64_t>(subject.instruction.n);
  const Backend backend =
      mutant_backend(*subject.architecture, subject.instruction, mutant.datapath, mutant.change);
  for (const Law& law : lawbook()) {
    if (law.slow != slow) continue;
    const LawOptions options{
        .seed = how.seed, .dots = slow ? few : dots, .launch = 10'000, .until_broken = true};
    if (!check_law(law, subject, backend, options).good()) mutant.broken.push_back(&law);
  }
}

}  // namespace

std::vector<JudgedMutant> judge_mutants(std::span<const Subject> subjects, const MutationRun& how) {
  std::vector<JudgedMutant> all;
  std::vector<const Subject*> of;
  for (const Subject& subject : subjects)
    for (Mutant& one : mutants_of(subject.instruction, subject.datapath)) {
      all.push_back({std::move(one), subject.instruction, {}});
      of.push_back(&subject);
    }
  std::mutex lock;
  detail::parallel_for(all.size(), how.threads, [&](std::size_t i) {
    JudgedMutant& mutant = all[i];
    ask(*of[i], how, how.dots, false, mutant);
    // Some differ on rare inputs alone.
    if (mutant.survives()) ask(*of[i], how, 10 * how.dots, false, mutant);
    if (mutant.broken.empty()) ask(*of[i], how, how.dots, true, mutant);
    const std::lock_guard guard(lock);
    if (how.done != nullptr) how.done(all[i]);
  });
  return all;
}

}  // namespace mmaudit::laws
