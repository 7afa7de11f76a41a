#pragma once
// What every renderer says, in words and as tables of text; a renderer only lays it out.
#include <string>
#include <vector>

#include "mmaudit/report/result.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::report {

/// "The model gives the same bits as ... for all 1,234 compared dot products (56 instructions)."
std::string verdict_sentence(const Verification& verification);
Tone tone_of(Verdict verdict);
Tone tone_of(Agreement agreement);

/// "29 of 30 published values, digit for digit; 1 differs for a known cause." Empty without published cells.
std::string published_sentence(const AuditResult& result);

/// "Hopper" from "hopper".
std::string capitalised(std::string text);

/// What the columns of dtype_table() are.
std::string dtype_remark(const AuditResult& result);
/// What its last columns are, which the console leaves out.
std::string adds_remark();
Table dtype_table(const AuditResult& result);
/// The cells that have a printed value.
Table published_table(const AuditResult& result);
/// Every cell, one table an instruction.
std::vector<Table> profile_tables(const AuditResult& result);
Table chain_table(const AuditResult& result);
Table format_table(const AuditResult& result);
Table verification_table(const Verification& verification, bool only_failing);
Table provenance_table(const Origin& provenance);

/// At K = 4096, or the deepest below.
std::uint64_t shown_k(const GemmStudy& study);
/// The curves that stand for their dtype: plain accumulation of normal numbers.
std::vector<const GemmCurve*> dtypes_of(const GemmStudy& study);
Table study_table(const GemmStudy& study);
Table study_distribution_table(const GemmStudy& study);
Table study_depth_table(const GemmStudy& study);

/// The distinct notes of the cells.
std::vector<std::string> notes(const AuditResult& result);

/// "TF32, inputs TF32".
std::string curve_name(const ChainCurve& curve);

/// "32 at a time, 13 bits, cut off to 13".
std::string accumulator_text(const Datapath& datapath);
/// The row that computes `instruction`, as provenance names it.
ModelRow model_row(const Architecture& architecture, const Instruction& instruction,
                   const DatapathEntry& entry);

}  // namespace mmaudit::report
