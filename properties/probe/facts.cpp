#include "facts.hpp"

#include <algorithm>
#include <utility>

namespace mmaudit::probe {
namespace {

/// The inputs of a dot product as one string of bytes.
std::string key_of(const DotCase& dot) {
  std::string key;
  const auto put = [&](const auto& values) {
    key.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  key.reserve((dot.a.size() + dot.b.size() + 1) * sizeof(std::uint64_t));
  put(dot.a);
  put(dot.b);
  put(std::vector<std::uint64_t>{dot.c});
  put(dot.metadata);
  put(dot.scale_a);
  put(dot.scale_b);
  return key;
}

/// Elements of A and B that are not zero, and c.
std::size_t weight(const DotCase& dot) {
  const auto nonzero = [](std::uint64_t x) { return x != 0; };
  return static_cast<std::size_t>(std::count_if(dot.a.begin(), dot.a.end(), nonzero) +
                                  std::count_if(dot.b.begin(), dot.b.end(), nonzero)) +
         (dot.c != 0 ? 1 : 0);
}

}  // namespace

std::uint64_t model_d(const DotSpec& spec, const Instruction& instruction, const DotCase& dot) {
  const Strided<std::uint64_t> row{dot.a.data()}, column{dot.b.data()};
  const auto with = [&](const auto& met) {
    if (!spec.block_scaled()) return mmaudit::dot(spec, row, met, dot.c, dot.modifiers);
    const ScaleBytes scales{{dot.scale_a.data()}, {dot.scale_b.data()}, one_bits(spec.scale)};
    return mmaudit::dot(spec, row, met, dot.c, dot.modifiers, scales);
  };
  if (!is_sparse(instruction.op)) return with(column);
  return with(Gathered<Strided<std::uint64_t>>{spec.sparsity, spec.datapath.metadata, spec.b,
                                               dot.metadata.data(), column});
}

bool Facts::add(Fact fact) {
  if (!seen_.insert(key_of(fact.dot)).second) return false;
  order_.push_back(facts_.size());
  facts_.push_back(std::move(fact));
  return true;
}

std::size_t Facts::wrong(const Datapath& datapath, std::size_t limit) const {
  const DotSpec spec = make_dot_spec(instruction_, datapath);
  std::size_t count = 0;
  for (std::size_t i = 0; i < facts_.size() && count <= limit; ++i)
    count += contradicts(spec, order_[i]) ? 1 : 0;
  return count;
}

void Facts::ask_first_what_contradicts(const Datapath& datapath) const {
  const DotSpec spec = make_dot_spec(instruction_, datapath);
  std::stable_partition(order_.begin(), order_.end(), [&](std::size_t i) { return contradicts(spec, i); });
}

std::optional<std::size_t> Facts::contradiction(const Datapath& datapath) const {
  const DotSpec spec = make_dot_spec(instruction_, datapath);
  for (std::size_t i = 0; i < decisive_.size(); ++i) {
    if (!contradicts(spec, decisive_[i])) continue;
    std::rotate(decisive_.begin(), decisive_.begin() + static_cast<std::ptrdiff_t>(i),
                decisive_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return decisive_.front();
  }
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (!contradicts(spec, i)) continue;
    decisive_.insert(decisive_.begin(), i);
    return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> Facts::simplest(const Datapath& datapath) const {
  const DotSpec spec = make_dot_spec(instruction_, datapath);
  for (std::size_t i = 0; i < facts_.size(); ++i)
    if (contradicts(spec, i)) return i;
  return std::nullopt;
}

void Facts::sort() {
  std::stable_sort(facts_.begin(), facts_.end(),
                   [](const Fact& x, const Fact& y) { return weight(x.dot) < weight(y.dot); });
  decisive_.clear();
}

}  // namespace mmaudit::probe
