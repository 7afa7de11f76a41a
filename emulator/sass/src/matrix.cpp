// Matrix instructions by their opcodes: shape and types.
#include <array>
#include <cstdio>
#include <string>

#include "mmaudit/sass/opcode.hpp"

namespace mmaudit::sass {
namespace {

bool is_shape(int m, int n, int k) {
  if (k < 4 || (k & (k - 1)) != 0) return false;
  if (m == 64) return n >= 8 && n <= 256 && n % 8 == 0 && k >= 8 && k <= 512;
  return (m == 8 || m == 16) && n == 8 && k <= 256;
}

/// m, n, k in the digits of ".16816": 16, 8 and what is left; ".64x128x16" too; nothing if no GPU has it.
std::optional<std::array<int, 3>> shape_of(std::string_view opcode) {
  while (!opcode.empty()) {
    const std::size_t dot = opcode.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    opcode.remove_prefix(dot + 1);
    const std::string_view field = base_of(opcode);
    if (field.size() < 3 || field[0] < '0' || field[0] > '9') continue;
    const std::string text(field);
    const char* const form = holds(field, "x")          ? "%3dx%3dx%3d%n"
                             : field.starts_with("168") ? "%2d%1d%3d%n"
                                                        : "%1d%1d%3d%n";
    int m = 0, n = 0, k = 0, end = 0;
    std::sscanf(text.c_str(), form, &m, &n, &k, &end);
    if (end != static_cast<int>(text.size()) || !is_shape(m, n, k)) return std::nullopt;
    return std::array<int, 3>{m, n, k};
  }
  return std::nullopt;
}

}  // namespace

std::string_view matrix_shapes() {
  return "m 8 or 16, n 8, k a power of two from 4 to 256; wgmma: m 64, n a multiple of 8 to 256, k of 8 to "
         "512";
}

std::optional<Instruction> matrix_instruction(std::string_view opcode) {
  if (opcode_of(opcode).kind != Kind::matrix) return std::nullopt;
  const auto shape = shape_of(opcode);
  if (!shape) return std::nullopt;
  Instruction inst;
  const bool group = holds(opcode.substr(0, 6), "GMMA"), sparse = holds(opcode, ".SP.");
  if (group)
    inst.op = sparse ? Op::wgmma_sp : Op::wgmma;
  else
    inst.op = sparse ? Op::mma_sp : Op::mma;
  inst.m = static_cast<std::int16_t>((*shape)[0]);
  inst.n = static_cast<std::int16_t>((*shape)[1]);
  inst.k = static_cast<std::int16_t>((*shape)[2]);
  inst.d = holds(opcode, ".F16") && !holds(opcode, ".F32") ? Format::f16 : Format::f32;
  switch (opcode[0]) {
    case 'D':
      inst.a = inst.d = Format::f64;
      break;
    case 'I':
      inst.a = holds(opcode, "4.") || opcode.ends_with("4") ? Format::s4 : Format::s8;
      if (holds(opcode, "8.") && (holds(opcode, "S8") || holds(opcode, "U8"))) inst.a = Format::s8;
      inst.d = Format::s32;
      break;
    case 'B':
      inst.a = Format::b1;
      inst.d = Format::s32;
      if (holds(opcode, ".XOR")) inst.multiply = Multiply::xor_popc;
      break;
    case 'Q':
      inst.a = Format::e4m3;
      break;
    case 'O':
      inst.a = Format::e2m1;
      break;
    default:
      inst.a = holds(opcode, ".TF32") ? Format::tf32 : Format::f16;
  }
  inst.b = inst.a;
  inst.c = inst.d;
  return inst;
}

double multiply_adds_of(std::string_view opcode) {
  const auto inst = matrix_instruction(opcode);
  return inst ? static_cast<double>(inst->m) * inst->n * inst->k : 0;
}

}  // namespace mmaudit::sass
