#pragma once
// Datapaths as JSON, both ways: `list --json` prints what `--model` reads.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::corpus {

/// Every field. Reading it back gives the same Datapath.
nlohmann::json to_json(const DatapathEntry& entry);
/// The datapath and what it means for one instruction: its name, and L where k is less than
/// products_per_step.
nlohmann::json to_json(const Instruction& instruction, const DatapathEntry& entry);
nlohmann::json to_json(const Architecture& architecture);

/// `source` has to outlive the result. Missing rules keep the defaults of Datapath.
/// InputError "<where>.<field>: found ..., allowed ..." for anything that could not be computed: after this,
/// no model a person writes can make the arithmetic undefined.
DatapathEntry row_from_json(const nlohmann::json& json, const std::string& where, std::string_view source);

}  // namespace mmaudit::corpus
