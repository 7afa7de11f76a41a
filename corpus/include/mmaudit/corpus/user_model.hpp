#pragma once
// An architecture that a user wrote, beside the built-in ones.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/json.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::corpus {

/// Owns what the views of its architecture point at.
struct UserModel {
  UserModel() = default;
  UserModel(const UserModel&) = delete;
  UserModel& operator=(const UserModel&) = delete;
  ~UserModel() = default;

  std::string name, file;
  std::vector<DatapathEntry> datapaths;
  Architecture architecture;
  std::uint64_t bytes = 0;  ///< of the file
  std::string checksum;     ///< of the file: XXH3-128, in hex
};

/// What names such an architecture may have; empty where `name` is one.
std::string why_no_model_name(std::string_view name);

/// What: an architecture from a JSON file, as `list --json` prints one: name, compute_capability, rows. Its
/// datapaths have evidence `user`, whatever the file claims. Errors: InputError in one line that names file,
/// field, found and allowed.
std::shared_ptr<const UserModel> load_model(const std::string& file);

// Datapaths as JSON, both ways: `list --json` prints what `--model` reads.

/// Every field. Reading it back gives the same Datapath.
Json to_json(const DatapathEntry& entry);
/// The datapath and what it means for one instruction: its name, and L where k is less than
/// products_per_step.
Json to_json(const Instruction& instruction, const DatapathEntry& entry);
Json to_json(const Architecture& architecture);

/// `source` has to outlive the result. Missing rules keep the defaults of Datapath.
/// InputError "<where>.<field>: found ..., allowed ..." for anything that could not be computed: after this,
/// no model a person writes can make the arithmetic undefined.
DatapathEntry row_from_json(const Json& json, const std::string& where, std::string_view source);

}  // namespace mmaudit::corpus
