// Bytes as a file for --model. A model that is accepted comes back from its own JSON, and its arithmetic is
// the reference's on a tile that the same bytes spell.

#include "against_reference.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::fuzz {
namespace {

/// The first `most` instructions that the row serves, wherever in the list; more would only take time.
void compute_some(const Architecture& architecture, const DatapathEntry& row,
                  std::span<const std::uint8_t> tile) {
  int left = 2;
  for (Instruction one : kInstructions) {
    one = with_shape(one, kWgmmaMinN);
    if (find_datapath(architecture, one) != &row || left-- == 0) continue;
    Bytes bytes(tile.data(), tile.size());
    hold_to_reference(one, row.datapath, bytes);
    if (left == 0) return;
  }
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile file("x.json");
  const std::string& path = file.holding(bytes.rest()).native();
  accepted([&] {
    const auto model = corpus::load_model(path);
    const Architecture& architecture = model->architecture;
    for (const DatapathEntry& row : architecture.datapaths) {
      const DatapathEntry again = corpus::row_from_json(corpus::to_json(row), "row", row.source);
      if (again.datapath != row.datapath || again.unit != row.unit || again.output != row.output ||
          again.addend != row.addend)
        fail("a row that does not come back");
      compute_some(architecture, row, bytes.rest());
    }
  });
}
