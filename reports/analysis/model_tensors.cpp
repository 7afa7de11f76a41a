// Tensors without codes, and layers that one checkpoint has and the other lacks.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "mmaudit/printable.hpp"
#include "model_weights.hpp"

namespace mmaudit::report {
namespace {

using corpus::Checkpoint;
using corpus::CheckpointLayer;
using corpus::OtherTensor;
using corpus::StoredTensor;

std::string owner_of(const std::string& name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

/// Up to the number of the layer in the network: "model.layers.3.", "" where there is none.
std::string block_of(const std::string& name) {
  for (std::size_t begin = 0, end = name.find('.'); end != std::string::npos;
       begin = end + 1, end = name.find('.', begin))
    if (end != begin && name.find_first_not_of("0123456789", begin) >= end) return name.substr(0, end + 1);
  return {};
}

/// Whether most x are y times one factor. Each is found from some tens of rounded numbers; of some all became
/// zero.
bool same_up_to_one(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr double kNear = 0.15, kMost = 0.75;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < x.size(); ++i) ratios.push_back(y[i] == 0 ? 0 : x[i] / y[i]);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  const double of = *middle;
  const auto near = std::count_if(ratios.begin(), ratios.end(),
                                  [&](double one) { return std::fabs(one / of - 1) < kNear; });
  return static_cast<double>(near) >= kMost * static_cast<double>(ratios.size());
}

constexpr std::uint64_t kMostOfPair = std::uint64_t{1} << 20;  ///< numbers; no layer has as many columns

/// Numbers of one dimension in both checkpoints.
struct Pair {
  std::string name;
  std::vector<float> now, original;
};

/// Whether this is the original's over a layer's factors: a norm over the factors of its columns, its bias
/// times the factors of its rows.
bool explains(const Pair& pair, const CheckpointLayer& layer, const Smoothing& smoothing) {
  std::vector<double> now(pair.now.begin(), pair.now.end()),
      before(pair.original.begin(), pair.original.end());
  if (pair.name == layer.name + ".bias" && !smoothing.by_row.empty() && now.size() == layer.n) {
    std::vector<double> made, wanted;
    for (std::size_t i = 0; i < smoothing.rows.size(); ++i) {
      made.push_back(now[smoothing.rows[i]]);
      wanted.push_back(before[smoothing.rows[i]] * smoothing.by_row[i]);
    }
    return same_up_to_one(made, wanted);
  }
  if (smoothing.by_column.size() != now.size() || block_of(pair.name) != block_of(layer.name)) return false;
  for (const double added : {0.0, 1.0}) {  // Gemma's norms multiply by one more than the number that is kept
    std::vector<double> made, wanted;
    for (std::size_t i = 0; i < now.size(); ++i) {
      made.push_back((now[i] + added) * smoothing.by_column[i]);
      wanted.push_back(before[i] + added);
    }
    if (same_up_to_one(made, wanted)) return true;
  }
  return false;
}

/// Whether rows of one layer have the inverse of another's columns.
bool meet(const Smoothing& rows, const Smoothing& columns) {
  if (rows.by_row.empty() || columns.by_column.empty() || rows.rows.back() >= columns.by_column.size())
    return false;
  std::vector<double> inverse;
  inverse.reserve(rows.rows.size());
  for (const std::uint64_t row : rows.rows) inverse.push_back(1 / columns.by_column[row]);
  return same_up_to_one(rows.by_row, inverse);
}

/// Norm of the difference over the norm of the original, to whose numbers `added` is added.
double difference_of(const StoredTensor& now, const StoredTensor& original, std::uint64_t count,
                     double added) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  double off = 0, of = 0;
  for (std::uint64_t at = 0; at < count; at += kPiece) {
    const std::uint64_t some = std::min(kPiece, count - at);
    const std::vector<float> x = corpus::numbers_of(now, at, some),
                             y = corpus::numbers_of(original, at, some);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double before = static_cast<double>(y[i]) + added, d = static_cast<double>(x[i]) - before;
      off += d * d, of += before * before;
    }
  }
  return off == 0 ? 0 : std::sqrt(off / of);
}

struct Tensors {
  const Checkpoint &checkpoint, &original;
  const std::string& glob;
  const std::map<std::string, Smoothing>& smoothings;
  ModelAudit& out;
  const Json* architecture = checkpoint.config().find("general.architecture");  ///< of a GGUF
  std::vector<std::pair<std::string, double>> differing{};
  std::vector<Pair> pairs{};

  [[nodiscard]] bool asked(const std::string& name) const {
    return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  }

  /// Layers that the original has, and that nothing here is in the place of.
  void add_missing() const {
    std::set<std::string> here, there, parents;
    for (const CheckpointLayer& layer : original.layers()) there.insert(layer.name);
    for (const CheckpointLayer& layer : checkpoint.layers()) {
      here.insert(layer.name);
      const std::string parent = owner_of(layer.name);
      if (!there.contains(layer.name)) parents.insert(parent), parents.insert(owner_of(parent));
    }
    for (const OtherTensor& other : checkpoint.others())
      if (!other.why.empty() && other.is_layer()) here.insert(owner_of(other.name));  // named already
    const bool tied = config_ties_head(checkpoint);
    for (const CheckpointLayer& layer : original.layers()) {
      if (here.contains(layer.name) || !asked(layer.name)) continue;
      const bool head = layer.name == "lm_head" && (architecture != nullptr || tied);
      const std::string parent = owner_of(layer.name);
      ModelTensor one{.name = layer.name};
      if (head)
        one.notes.emplace_back("missing: the embedding is in its place, as the config says");
      else if (here.contains("quant_method"))
        one.notes.emplace_back("not compared: it may be of the quant_method, which is not read here");
      else if (parents.contains(parent) || parents.contains(owner_of(parent)))
        one.notes.emplace_back("not compared: layers of other names are in its place");
      else
        one.faults.emplace_back("missing: the original has it");
      out.tensors.push_back(std::move(one));
    }
  }

  void compare() {
    std::map<std::string, const StoredTensor*> here;
    for (const auto& tensor : checkpoint.tensors())
      here.emplace(checkpoint.model_name(tensor->name), tensor.get());
    for (const OtherTensor& other : original.others()) {
      if (!other.why.empty() || other.tensor == nullptr || !corpus::has_numbers(*other.tensor)) continue;
      const StoredTensor& of = *other.tensor;
      const std::string name = original.model_name(of.name);
      const auto found = here.find(name);
      const bool computed = name.ends_with("inv_freq") || name.find("scale") != std::string::npos ||
                            architecture != nullptr;  // not every name of a GGUF is known here
      if (!asked(owner_of(name)) || (found == here.end() && computed)) continue;
      if (found == here.end()) {
        out.tensors.push_back({name, {"missing: the original has it"}, {}, {}});
      } else if (found->second->shape != of.shape || !corpus::has_numbers(*found->second)) {
        out.tensors.push_back(
            {name,
             {fmt::format("found {} {}, allowed: {}, as the original has it", found->second->type(),
                          corpus::to_string(found->second->shape), corpus::to_string(of.shape))},
             {},
             {}});
      } else if (corpus::facts_of(*found->second).not_finite == 0) {
        const std::uint64_t count = *corpus::element_count(of.shape);
        double error = difference_of(*found->second, of, count, 0);
        // ggml-org/llama.cpp conversion/gemma.py (before in convert_hf_to_gguf.py): norms get one added.
        if (architecture != nullptr && architecture->dump().starts_with("\"gemma"))
          error = std::min(error, difference_of(*found->second, of, count, 1));
        if (std::vector<std::string> any; difference(error, any, any), any.empty()) {
          ++out.same_tensors;
          continue;
        }
        differing.emplace_back(name, error);
        if (of.shape.size() == 1 && count <= kMostOfPair)
          pairs.push_back(
              {name, corpus::numbers_of(*found->second, 0, count), corpus::numbers_of(of, 0, count)});
      }
    }
  }

  /// Says of every smoothing which tensor has its inverse, and of every difference whether it is one.
  void explain() {
    std::map<std::string, std::string> because;
    for (ModelLayer& layer : out.layers) {
      const auto own = smoothings.find(layer.name);
      if (own == smoothings.end()) continue;
      const Smoothing& smoothing = own->second;
      const CheckpointLayer& as =
          *std::find_if(checkpoint.layers().begin(), checkpoint.layers().end(),
                        [&](const CheckpointLayer& one) { return one.name == layer.name; });
      std::string partner = as.smoothed ? layer.name + ".pre_quant_scale" : "";
      for (const Pair& pair : pairs)
        if (explains(pair, as, smoothing)) {
          because[pair.name] = "has the inverse of the factors of " + printable(layer.name);
          if (partner.empty() && pair.name != layer.name + ".bias") partner = pair.name;
        }
      for (const auto& [name, other] : smoothings)
        if (partner.empty() && name != layer.name && block_of(name) == block_of(layer.name) &&
            (meet(other, smoothing) || meet(smoothing, other)))
          partner = name;
      if (!partner.empty())
        layer.notes.push_back(smoothing.text + "; " + printable(partner) + " has the inverse");
      else if (smoothing.by_column.empty() && as.scale != nullptr && as.scale_columns == 1 && glob == "*")
        layer.faults.push_back("scales of other rows: " + smoothing.text);
      else
        layer.suspicions.push_back(
            smoothing.text +
            "; nothing that was read has the inverse, which AWQ and SmoothQuant leave there");
    }
    const bool turned = std::any_of(checkpoint.layers().begin(), checkpoint.layers().end(),
                                    [](const CheckpointLayer& layer) { return !layer.rotation.empty(); });
    std::set<std::string> unread;  // parts of the network: a layer there may have the inverse
    for (const OtherTensor& other : checkpoint.others())
      if (!other.why.empty() && other.is_layer()) unread.insert(block_of(checkpoint.model_name(other.name)));
    for (const auto& [name, error] : differing) {
      ModelTensor one{.name = name};
      if (const auto why = because.find(name); why != because.end())
        one.notes.push_back(why->second);
      else if (turned)
        one.notes.push_back(fmt::format("not compared: the checkpoint is rotated (error {:.3g})", error));
      else
        difference(error, unread.contains(block_of(name)) ? one.suspicions : one.faults, one.suspicions);
      out.tensors.push_back(std::move(one));
    }
  }
};

}  // namespace

bool config_ties_head(const Checkpoint& checkpoint) {
  const Json* const said = checkpoint.config().find("tie_word_embeddings");
  return said != nullptr && *said == true;
}

void compare_tensors(const Checkpoint& checkpoint, const Checkpoint* original, const std::string& glob,
                     const std::map<std::string, Smoothing>& smoothings, ModelAudit& out) {
  for (const OtherTensor& other : checkpoint.others()) {
    if (!other.why.empty() || other.tensor == nullptr) continue;
    const std::string name = checkpoint.model_name(other.name);
    const std::uint64_t bad = fnmatch(glob.c_str(), owner_of(name).c_str(), 0) == 0
                                  ? corpus::facts_of(*other.tensor).not_finite
                                  : 0;
    if (bad != 0)
      out.tensors.push_back({name, {fmt::format("impossible numbers: {} are infinite or NaN", bad)}, {}, {}});
  }
  if (original != nullptr) {
    Tensors tensors{checkpoint, *original, glob, smoothings, out};
    tensors.add_missing();
    tensors.compare();
    tensors.explain();
  }
}

}  // namespace mmaudit::report
