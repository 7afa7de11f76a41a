#include "campaign/workers.hpp"

#include <fmt/format.h>

#include "law_check.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit::campaign {

std::string explain_difference(const Setup& setup, const std::string& instruction, const Mismatch& example,
                               const std::string& model_file) {
  const Instruction inst = *find_instruction(instruction);
  std::string text = fmt::format("{}\n{}", instruction, describe(example, inst));
  const auto book = laws::lawbook();
  const laws::Law* const law = find_named(book, "follows_the_documented_model");
  if (law == nullptr) return text;
  try {
    const laws::Subject subject(*setup.model, inst, find_datapath(*setup.model, inst)->datapath);
    laws::Dot dot;
    static_cast<DotCase&>(dot) = example.dot;
    const Backend reference = setup.reference_backend();
    const auto alone = laws::judge_alone(*law, subject, reference, dot);
    if (!alone || alone->kind != laws::LawVerdict::Kind::broken)
      return text + "by itself it has the model's bits: nothing to shrink\n";
    const laws::Failure small = laws::shrink(*law, subject, reference, dot);
    const bool hardware = setup.reference == nullptr;
    std::string where = fmt::format(" --arch {}", setup.model->name);
    if (!model_file.empty()) where += fmt::format(" --model {}", model_file);
    const std::string replay =
        hardware ? checks::replay_command(small, "hardware", *setup.model, {})
                 : explain_command(inst, small.dot, fmt::format(" --arch {}", setup.reference->name));
    return text + "shrunk:\n" + checks::describe(small, *law, where, replay);
  } catch (const EnvironmentError& error) {  // the GPU that differs may be broken: the result is not lost
    return text + fmt::format("not shrunk: {}\n", error.what());
  }
}

}  // namespace mmaudit::campaign
