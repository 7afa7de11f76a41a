#pragma once
// An architecture that a user wrote, beside the built-in ones.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/// What: an architecture from a JSON file, as `list --json` prints one: name, compute_capability, rows. Its
/// datapaths have evidence `user`, whatever the file claims. Errors: InputError in one line that names file,
/// field, found and allowed.
std::shared_ptr<const UserModel> load_model(const std::string& file);

}  // namespace mmaudit::corpus
