// The C interface: products of numbers that are split into smaller formats.
#include "mmaudit/slices.hpp"

#include "guard.hpp"
#include "mmaudit/refusal.hpp"
#include "product.hpp"

namespace mmaudit::capi {
namespace {

void run_slices(const mmaudit_product& work, const char* scheme) {
  const Architecture& architecture = architecture_of(work.arch);
  std::optional<Slicing> slicing = find_slicing(scheme == nullptr ? "" : scheme);
  if (!slicing)
    refuse("scheme: found {}, allowed: {}", scheme == nullptr ? "nothing" : scheme,
           with_commas(slicing_names()));
  SlicePath path = slice_path(*slicing->scheme, architecture);
  if (work.inst != nullptr) {
    path.instruction = instruction_of(work.inst);
    path.entry = &entry_of(architecture, path.instruction);
  } else if (!path.why_not.empty()) {
    refuse("arch: found {} with {}, allowed: one with an instruction of {}", architecture.name, scheme,
           slicing->scheme->dtype);
  }
  slicing->round = work.promote;
  const FormatSpec number = spec_of(slicing->scheme->input);
  if (work.epilogue != 0 || given(work.factor_a) || given(work.factor_b))
    refuse("epilogue, factor_a, factor_b: found with a scheme, allowed: without one");
  Matmul problem;
  problem.batch = work.batch, problem.m = work.m, problem.n = work.n, problem.k = work.k;
  problem.a = work.a.data, problem.b = work.b.data, problem.c = work.c.data, problem.d = work.d.data;
  problem.scale_a = bytes_at(work.scale_a), problem.scale_b = bytes_at(work.scale_b);
  problem.metadata = bytes_at(work.metadata);
  problem.split_k = work.split_k;
  const Datapath& datapath = path.entry->datapath;
  if (const std::string why = why_no_slices(*slicing, path.instruction, datapath, problem); !why.empty())
    throw InputError(why);
  require("a", work.a, {{"batch", work.batch}, {"m", work.m}, {"k", work.k}}, number);
  require("b", work.b, {{"batch", work.batch}, {"k", work.k}, {"n", work.n}}, number);
  require("d", work.d, {{"batch", work.batch}, {"m", work.m}, {"n", work.n}}, number);
  require_apart("a", work.d, work.a);
  require_apart("b", work.d, work.b);
  if (slicing->parts == 0) slicing->parts = slices_for(*slicing->scheme, problem);
  if (slicing->parts > slicing->scheme->most && slicing->scheme->most != 0)
    refuse("scheme: found {}, for which the data needs {} slices, allowed: up to {}", scheme, slicing->parts,
           slicing->scheme->most);
  MatmulOptions options;
  options.threads = work.threads;
  options.fast = work.plain == 0;
  sliced_matmul(*slicing, path.instruction, datapath, problem,
                [&](const Instruction& inst, const Datapath& by, const Matmul& part) {
                  matmul(inst, by, part, options);
                });
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;

int mmaudit_sliced_matmul(const mmaudit_product* work, const char* scheme) {
  return guarded([&] { run_slices(taken(work), scheme); });
}
