#pragma once
// The products of a network's layers, from the config.json of a hub.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/json.hpp"

namespace mmaudit::corpus {

/// D (m, n) = A (m, k) W, with as many rows as there are tokens.
struct NetworkLayer {
  std::string name;  ///< "o_proj"
  std::uint64_t n = 0, k = 0;
  bool transposed = true;  ///< W is stored as (n, k), as torch.nn.Linear has it
  bool bias = false;
  bool fused = false;  ///< as serving libraries fuse it; the layers of the checkpoint are listed too
};

/// What: the layers of a network's config.json, of a model_type that is known. A "text_config" in it counts
/// instead of it. Errors: InputError for another model_type, or where a size is missing.
std::vector<NetworkLayer> network_layers(const Json& config, const std::string& where);
/// The model_types that are known.
std::vector<std::string> network_types();

struct KnownNetwork {
  std::string model, source;
  std::vector<NetworkLayer> layers;
};
/// A file of one {"model", "source", "config"} per line. Errors: InputError.
std::vector<KnownNetwork> read_known_networks(std::string_view text, const std::string& file);

}  // namespace mmaudit::corpus
