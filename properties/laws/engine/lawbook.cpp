#include <algorithm>
#include <array>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

Law named(std::string_view name, Law law) {
  law.name = name;
  return law;
}

}  // namespace

std::span<const Law> lawbook() {
  static const auto book = [] {
    std::array all{
#include "law_list.hpp"
    };
    std::sort(all.begin(), all.end(), [](const Law& x, const Law& y) { return x.order < y.order; });
    return all;
  }();
  return book;
}

}  // namespace mmaudit::laws
