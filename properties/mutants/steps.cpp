// How k falls into steps, and where c enters.
#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.unpacks()) return;
  const Datapath& original = list.original;
  const DotSpec& spec = list.spec;
  for (const int block : {original.products_per_step / 2, original.products_per_step * 2}) {
    if (block == 0) continue;
    list.add("L", fmt::format("{} -> {}", original.products_per_step, block),
             [&](auto& x) { x.products_per_step = static_cast<std::int16_t>(block); });
  }
  constexpr std::pair<KOrder, std::string_view> kOrders[] = {{KOrder::ascending, "ascending"},
                                                             {KOrder::pairs_of_four, "pairs of four"},
                                                             {KOrder::descending, "descending"},
                                                             {KOrder::halves, "halves"},
                                                             {KOrder::even_then_odd, "even, then odd"}};
  if (spec.k >= 4) list.add_each("order of k", kOrders, &Datapath::order);
  constexpr std::pair<AddendPlace, std::string_view> kPlaces[] = {
      {AddendPlace::in_first_step, "in the first step"},
      {AddendPlace::after_last_nearest, "after the last step, to nearest"},
      {AddendPlace::after_last_truncated, "after the last step, truncated"}};
  list.add_each("place of c", kPlaces, &Datapath::addend);
}

}  // namespace

const MutantGroup kSteps = {10, add_to};

}  // namespace mmaudit::mutants
