#include "layout_wmma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common.hpp"
#include "mmaudit/device/wmma_fragment.hpp"
#include "mmaudit/volta.hpp"
#include "mmaudit/wmma_fragments.hpp"

namespace mmaudit::cli {
namespace {

/// Known maps of one architecture.
struct Published {
  std::string_view architecture, types;  ///< names; a space after each
  Evidence evidence;
  std::string_view source;
  bool any_layout;  ///< else the maps are of A by rows, B by columns and accumulators by rows
  FragmentMap (*a)(volta::Layout);
  FragmentMap (*b)(volta::Layout);
  FragmentMap (*accumulator)(Format);
};

constexpr std::string_view kSixteen = "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f16.f16.f16.f16 ";

constexpr Published kPublished[] = {
    {"volta",
     "wmma.m16n16k16.f32.f16.f16.f32 wmma.m16n16k16.f32.f16.f16.f16 wmma.m16n16k16.f16.f16.f16.f32 "
     "wmma.m16n16k16.f16.f16.f16.f16 ",
     Evidence::literature, "Raihan, Goli, Aamodt (ISPASS 2019), accumulators: PTX ISA 9.0, mma.m8n8k4", true,
     volta::fragment_a, volta::fragment_b, volta::fragment_accumulator},
    {"turing", kSixteen, Evidence::literature,
     "Raihan, Goli, Aamodt (ISPASS 2019): each element once, consecutive groups of four lanes hold "
     "consecutive rows; "
     "registers as of mma.m16n8k8, PTX ISA 9.0, which is the HMMA behind it",
     true, [](volta::Layout) { return hmma16::fragment_a(1); },
     [](volta::Layout) { return hmma16::fragment_b(1); },
     [](Format) { return hmma16::fragment_accumulator(); }},
    {"hopper", "wmma.m16n16k16.f32.f16.f16.f32 ", Evidence::recorded,
     "read off an NVIDIA H200 (driver 580.159.04) by `layout --discover`", false,
     [](volta::Layout) { return hmma16::fragment_a(2); }, [](volta::Layout) { return hmma16::fragment_b(2); },
     [](Format) { return hmma16::fragment_accumulator(); }},
};

std::string architectures_with_maps() {
  std::string names;
  for (const Published& one : kPublished)
    names += (names.empty() ? "" : ", ") + std::string(one.architecture);
  return names;
}

bool lists(std::string_view types, const std::string& name) {
  return types.find(name + " ") != std::string_view::npos;
}

struct Chosen {
  std::string name;
  device::WmmaOperand operand;
  Format format;
  bool columns;
};

std::vector<Chosen> chosen_of(const Instruction& inst, const WmmaChoice& choice) {
  const Chosen all[] = {{"a", device::WmmaOperand::a, inst.a, choice.a_columns},
                        {"b", device::WmmaOperand::b, inst.b, choice.b_columns},
                        {"c", device::WmmaOperand::c, inst.c, choice.c_columns},
                        {"d", device::WmmaOperand::d, inst.d, choice.c_columns}};
  std::vector<Chosen> chosen;
  for (const std::string& operand : choice.operands)
    for (const Chosen& one : all)
      if (one.name == operand)
        chosen.push_back({fmt::format("{} by {}", static_cast<char>(one.name[0] - 'a' + 'A'),
                                      one.columns ? "columns" : "rows"),
                          one.operand, one.format, one.columns});
  return chosen;
}

}  // namespace

WmmaLayout published_wmma_layout(const Instruction& instruction, const Architecture* architecture,
                                 const WmmaChoice& choice) {
  const std::string name = name_of(instruction);
  constexpr const char* kUnspecified = "{}: found {}, whose fragments the PTX ISA leaves open, allowed: {}";
  constexpr const char* kSeen = "--discover on a GPU";
  if (architecture == nullptr)
    throw InputError(fmt::format(
        fmt::runtime(kUnspecified), "--inst", name,
        fmt::format("with --arch {} (m16n16k16 of f16), or {}", architectures_with_maps(), kSeen)));
  require_datapath(*architecture, instruction);
  const auto published = std::find_if(
      std::begin(kPublished), std::end(kPublished),
      [&](const Published& one) { return one.architecture == architecture->name && lists(one.types, name); });
  if (published == std::end(kPublished))
    throw InputError(
        fmt::format(fmt::runtime(kUnspecified), "--arch", fmt::format("{} with {}", architecture->name, name),
                    fmt::format("{} (m16n16k16 of f16), or {}", architectures_with_maps(), kSeen)));
  WmmaLayout layout{{}, {}, std::string(mmaudit::name_of(published->evidence)), {}};
  layout.known = fmt::format("{}: {}{}", layout.evidence, published->source,
                             published->evidence == Evidence::literature ? "; not seen on a GPU here" : "");
  if (!published->any_layout && (choice.a_columns || !choice.b_columns || choice.c_columns))
    throw InputError(
        fmt::format("--arch: found {} with another layout, allowed: A by rows, B by columns, C and D by "
                    "rows (what is known of it), or {}",
                    architecture->name, kSeen));
  for (const Chosen& one : chosen_of(instruction, choice)) {
    const volta::Layout order = one.columns ? volta::Layout::column : volta::Layout::row;
    const FragmentMap map = one.operand == device::WmmaOperand::a   ? published->a(order)
                            : one.operand == device::WmmaOperand::b ? published->b(order)
                                                                    : published->accumulator(one.format);
    layout.operands.push_back(layout_operand(one.name, one.format, map));
  }
  return layout;
}

WmmaLayout discovered_wmma_layout(const Instruction& instruction, const WmmaChoice& choice) {
  const device::DeviceInfo gpu = require_device();
  if (const std::string reason = device::why_not(gpu, instruction); !reason.empty())
    throw EnvironmentError(reason);
  WmmaLayout layout{{}, fmt::format("seen on {} (driver {})", gpu.name, gpu.driver), "seen", gpu.name};
  for (const Chosen& one : chosen_of(instruction, choice)) {
    device::WmmaFragment seen =
        device::read_wmma_fragment(instruction, one.operand, one.columns, [&](auto image, auto registers) {
          device::move_fragment(gpu, instruction, one.operand, one.columns, image, registers);
        });
    const int times = device::multiplicity(seen);
    layout.known +=
        fmt::format("; {}: {}", one.name,
                    times == 0 ? "elements not held equally often" : fmt::format("held {} x", times));
    layout.operands.push_back(
        {one.name, one.format, seen.rows, seen.cols, seen.lanes, seen.values, std::move(seen.element)});
  }
  return layout;
}

}  // namespace mmaudit::cli
