#include "verify.hpp"

#include <fmt/format.h>

#include "choice.hpp"
#include "every_part.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/corpus/matlab_tensor_core.hpp"
#include "mmaudit/dot.hpp"

namespace mmaudit::checks {
namespace {

VerifiedInstruction replay_case(const corpus::DatasetCase& one, const corpus::DatasetRows& rows,
                                const Instruction& instruction, const DatapathEntry& entry,
                                const std::string& label) {
  VerifiedInstruction verified{{instruction, {}, {}}, label, std::string(name_of(entry.evidence))};
  ClassCount count{one.gpu, rows.rows, 0};
  const DotSpec spec = make_dot_spec(instruction, entry.datapath);
  const std::uint8_t modifiers = one.addend_ignored ? kScaleDZero : std::uint8_t{0};
  const auto depth = static_cast<std::size_t>(instruction.k);
  std::vector<std::uint64_t> a(depth), b(depth);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t k = 0; k < rows.k; ++k) {
      a[k] = rows.a[i * rows.k + k];
      b[k] = rows.b[i * rows.k + k];
    }
    const std::uint64_t d = dot(spec, Strided<std::uint64_t>{a.data(), 1},
                                Strided<std::uint64_t>{b.data(), 1}, rows.c[i], modifiers);
    if (d == rows.d[i]) continue;
    ++count.mismatches;
    if (verified.examples.size() < kMostExamples)
      verified.examples.push_back({{.a = a,
                                    .b = b,
                                    .c = rows.c[i],
                                    .modifiers = modifiers,
                                    .metadata = {},
                                    .scale_a = {},
                                    .scale_b = {},
                                    .input_class = label,
                                    .tile = i},
                                   rows.d[i],
                                   d});
  }
  verified.classes.push_back(count);
  return verified;
}

}  // namespace

VerifyReport verify_dataset(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                            Progress& progress, const Architecture* instead) {
  const std::vector<corpus::DatasetCase> cases = corpus::find_dataset(folder);
  VerifyReport report;
  progress.begin("replaying", cases.size());
  for (const corpus::DatasetCase& one : cases) {
    const std::string label = one.d.lexically_relative(folder).generic_string();
    const Architecture* architecture = find_architecture(one.gpu);
    if (architecture == nullptr)
      refuse("{}: GPU: found \"{}\", allowed: a name or alias of `mmaudit list --json`", one.d.string(),
             one.gpu);
    if (instead != nullptr) architecture = instead;
    const corpus::DatasetRows rows = corpus::read_dataset(one);
    // The k that it has beyond the rows are +0.
    const auto instruction = shallowest(*architecture, rows.k, [&](const Instruction& inst) {
      return inst.a == one.format && inst.b == one.format && inst.c == one.output && inst.d == one.output &&
             inst.op == (one.warpgroup ? Op::wgmma : Op::mma);
    });
    if (!instruction && instead != nullptr) continue;
    if (!instruction)
      refuse(
          "{}: found {} products of {} to {}, which no {} of {} takes, allowed: what `mmaudit list --arch "
          "{}` has",
          one.d.string(), rows.k, name_of(one.format), name_of(one.output), one.warpgroup ? "wgmma" : "mma",
          architecture->name, architecture->name);
    progress.advance(1, label);
    if (!selected(*instruction, filters)) continue;
    report.instructions.push_back(
        replay_case(one, rows, *instruction, *find_datapath(*architecture, *instruction), label));
  }
  require_each("--inst", filters, report.instructions, "part of a name that the table shows",
               &Comparison::instruction);
  report.against = fmt::format("the data set in {}", folder.string());
  return report;
}

}  // namespace mmaudit::checks
