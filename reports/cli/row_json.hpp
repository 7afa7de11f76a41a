#pragma once
// Rows of the model as JSON, both ways: `list --json` prints what `--model` reads.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::cli {

/// Every field of a row. Reading it back gives the same Datapath.
nlohmann::json to_json(const DatapathEntry& entry);
/// The row with what it means for one instruction: its name, and L where the depth is less than the block.
nlohmann::json to_json(const Instruction& instruction, const DatapathEntry& entry);
nlohmann::json to_json(const Architecture& architecture);

/// A row from JSON. `source` has to outlive the row. Missing rules keep the defaults of Datapath.
/// InputError "<where>.<field>: found ..., allowed ..." for anything that could not be computed: after this,
/// no model a person writes can make the arithmetic undefined.
DatapathEntry row_from_json(const nlohmann::json& json, const std::string& where, std::string_view source);

/// What: an architecture from a JSON file, as `list --json` prints one: name, compute_capability, rows. It
/// lives as long as the program, and its rows have evidence `user`, whatever the file claims. Errors:
/// InputError in one line that names file, field, found and allowed.
const Architecture& load_model(const std::string& file);

/// The architecture of --model; null without one.
const Architecture* user_model();

/// The file that user_model() came from.
struct ModelFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string checksum;  ///< XXH3-128, in hex
};
/// Null without --model.
const ModelFile* user_model_file();

}  // namespace mmaudit::cli
