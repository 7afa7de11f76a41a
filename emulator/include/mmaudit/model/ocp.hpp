#pragma once
// Which formats the Open Compute Project specifies. Sources: OCP 8-bit Floating Point Specification
// (OFP8), 1.0; OCP Microscaling Formats (MX) Specification, 1.0: blocks of 32 elements with one ue8m0 scale.
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit {

enum class Ocp : std::uint8_t {
  none,      ///< neither specification is about such formats: f16, tf32, integers, ...
  ofp8,      ///< A and B are e4m3 or e5m2, without scales
  elements,  ///< A and B are elements of MX, at least one of 6 or 4 bits, without scales
  mx,        ///< elements of MX in blocks of 32 with ue8m0
  differs    ///< 8 bits or fewer, or other blocks or scales, that no specification has: NVFP4, AMD's fnuz
};

constexpr std::string_view name_of(Ocp ocp) {
  constexpr std::string_view kNames[] = {"-", "OFP8", "elements", "MX", "no"};
  return kNames[static_cast<std::size_t>(ocp)];
}

/// Of the operands of an instruction; C and D are not looked at.
constexpr Ocp ocp_of(const Instruction& inst) {
  const auto is_ofp8 = [](Format f) { return f == Format::e4m3 || f == Format::e5m2; };
  const auto is_element = [&](Format f) {
    return is_ofp8(f) || f == Format::e3m2 || f == Format::e2m3 || f == Format::e2m1;
  };
  const auto is_narrow = [](Format f) { return !spec_of(f).integer() && spec_of(f).value_bits() <= 8; };
  const auto is_other = [&](Format f) { return is_narrow(f) && !is_element(f); };
  if (is_other(inst.a) || is_other(inst.b)) return Ocp::differs;
  if (!is_element(inst.a) || !is_element(inst.b)) return Ocp::none;
  if (inst.scale != Format::none)
    return inst.scale == Format::ue8m0 && inst.scale_block == 32 ? Ocp::mx : Ocp::differs;
  return is_ofp8(inst.a) && is_ofp8(inst.b) ? Ocp::ofp8 : Ocp::elements;
}

}  // namespace mmaudit
