// Table 9 of P. Luo's note on Blackwell, entry by entry: every form with every kind, CTA group, operation of
// the collector, with and without disable-output-lane, as a PTX program.
#include "forms.hpp"

#include "programs.hpp"

namespace mmaudit::conv {
namespace {

struct Entry {
  bool a_in_tensor_memory, ashift;
  std::string_view collector;  ///< empty: left out
  std::string_view kind;
  int cta_group;
  bool disables;

  [[nodiscard]] std::string text() const {
    return std::string(a_in_tensor_memory ? "[a] " : "a-desc ") + (ashift ? "ashift " : "") +
           std::string(collector) + " " + std::string(kind) + " group " + std::to_string(cta_group) +
           (disables ? " masked" : "");
  }
};

std::string mma_of(const Entry& entry, std::string_view collector, bool ashift) {
  std::string text = "@%p6 tcgen05.mma.cta_group::" + std::to_string(entry.cta_group) +
                     ".kind::" + std::string(entry.kind) + (ashift ? ".ashift" : "");
  if (!collector.empty()) text += ".collector::a::" + std::string(collector);
  text += std::string(" [%r3], ") + (entry.a_in_tensor_memory ? "[%r3+100]" : "%rd1") + ", %rd2, %r4, ";
  if (entry.disables)
    text += entry.cta_group == 2 ? "{%r40, %r41, %r41, %r41, %r41, %r41, %r41, %r40}, "
                                 : "{%r40, %r41, %r41, %r41}, ";
  return text + "%p3;\n";
}

/// Runs the entry over a D that holds 1 + the thread's number in column 0. Returns the refusal; else whether
/// masked lanes kept their D, and all others have the product, as text.
std::string outcome(const Entry& entry) {
  const std::string group = std::to_string(entry.cta_group);
  std::string text = tmem::test::kZeros +
                     (entry.cta_group == 2 ? "//! shared words 0x1000 u8 1x32768 cta 1 = zero\n" : "") +
                     tmem::test::prologue("128", group) +
                     "mov.b64 %rd1, 0x0000400800800100;\nmov.b64 %rd2, 0x0000400800400300;\nmov.b32 %r4, " +
                     (entry.kind == "tf32" ? "0x08100910" : "0x08100010") +
                     ";\nmov.u32 %r40, 0x80000001;\nmov.u32 %r41, 0;\nadd.u32 %r42, %r1, 1;\n"
                     "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r42};\n"
                     "tcgen05.wait::st.sync.aligned;\n"
                     "@%p6 tcgen05.cp.cta_group::" +
                     group + ".128x256b [%r3+100], %rd1;\n";
  if (entry.collector == "use" || entry.collector == "lastuse") text += mma_of(entry, "fill", false);
  text += mma_of(entry, entry.collector, entry.ashift) + tmem::test::commit_and_wait(group) +
          tmem::test::epilogue("128", group);
  tmem::PtxProgram program;
  if (std::string reason = parse_ptx(text, program); !reason.empty()) return reason;
  tmem::Interpreter interpreter(program, tmem::test::blackwell());
  if (std::string reason = interpreter.run(); !reason.empty()) return reason;
  for (int cta = 0; cta < interpreter.ctas(); ++cta) {
    for (int lane = 0; lane < tmem::kLanes; ++lane) {
      const bool first = cta == 0 && lane < 32, last = cta == 1 && lane >= 96;
      const bool masked = entry.disables && (first || last) && (lane % 32 == 0 || lane % 32 == 31);
      // A and B are zeros: so is their product.
      const std::uint32_t wanted = masked ? static_cast<std::uint32_t>(lane) + 1 : 0;
      if (interpreter.cta(cta).memory.at(lane, 0) != wanted)
        return "lane " + std::to_string(lane) + " of CTA " + std::to_string(cta);
    }
  }
  return {};
}

TEST(Forms, EveryEntryOfTable9) {
  int entries = 0, refused = 0;
  for (const MmaFormRow& row : kMmaForms) {
    for (const bool ashift : {false, true}) {
      for (const std::string_view op :
           {kCollectorOps[0], kCollectorOps[1], kCollectorOps[2], kCollectorOps[3], std::string_view()}) {
        if (!allows(row.ashift, ashift) || !allows(row.collector, !op.empty())) continue;
        for (const std::string_view kind : kFormKinds) {
          for (const int group : kFormCtaGroups) {
            for (const bool disables : {false, true}) {
              if (!allows(row.disable_output_lane, disables)) continue;
              const Entry entry{row.a_in_tensor_memory, ashift, op, kind, group, disables};
              const std::string found = outcome(entry);
              ++entries;
              // The note's table leaves out that .ashift excludes fill and use (PTX ISA 9.0, 9.7.16.10.9.1).
              if (ashift && (op == "fill" || op == "use")) {
                EXPECT_NE(found.find(".ashift: found " + std::string(op)), std::string::npos)
                    << entry.text() << ": " << found;
                ++refused;
              } else {
                EXPECT_EQ(found, "") << row.number << " " << entry.text();
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(entries, 48 + 96 + 60);
  EXPECT_EQ(refused, 24 + 24);
}

TEST(Forms, WhatTable9DoesNotHave) {
  // .ashift with A in shared memory, and another operation of the collector.
  EXPECT_NE(outcome({false, true, "discard", "f16", 1, false}).find("A in shared memory"), std::string::npos);
  EXPECT_NE(outcome({false, false, "none", "f16", 1, false}).find("found a::none"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::conv
