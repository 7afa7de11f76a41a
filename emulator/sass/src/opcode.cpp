#include "mmaudit/sass/opcode.hpp"

namespace mmaudit::sass {
namespace {

using enum Kind;

// A name that ends in a dot is of no longer word: LD., not LDT.
// clang-format off
constexpr Opcode kOpcodes[] = {
    // tensor unit
    {"HMMA", matrix}, {"IMMA", matrix}, {"BMMA", matrix}, {"DMMA", matrix}, {"QMMA", matrix}, {"OMMA", matrix},
    {"HGMMA", matrix}, {"QGMMA", matrix}, {"IGMMA", matrix}, {"BGMMA", matrix}, {"WARPGROUP", none},
    {"WARPGROUP.DEPBAR", drain},
    // memory
    {"LDS", load_shared, Step::shared}, {"LDSM", load_matrices, Step::shared},
    {"STS", store_shared, Step::shared}, {"STSM", store_matrices, Step::shared},
    {"SHFL", shared_pipe}, {"S2R", shared_pipe, {}, Work::move},
    {"LDC", shared_pipe, {}, Work::constant},
    {"LD.", global, Step::load, {}, Trait::any_memory}, {"ST.", global, Step::store, {}, Trait::any_memory},
    {"LDG.", global, Step::load}, {"STG", global, Step::store},
    {"LDL", global, Step::load, Work::from_local}, {"STL", global, Step::store, Work::to_local},
    {"LDGSTS", global, Step::copy}, {"LDGDEPBAR", none, Step::commit}, {"DEPBAR", none, Step::wait_copies},
    {"RED", unknown, Step::store}, {"ATOMS", unknown, Step::shared},
    // flow
    {"BRA", branch}, {"JMP", jump, {}, {}, Trait::not_followed}, {"CALL", call, {}, {}, Trait::not_followed},
    {"RET", back, {}, {}, Trait::not_followed}, {"BRX", unknown, {}, {}, Trait::not_followed},
    {"EXIT", none, Step::exit}, {"BAR", none, Step::barrier}, {"NOP", none}, {"WARPSYNC", none}, {"BSSY", none}, {"BSYNC", none},
    {"NANOSLEEP", alu},
    // floating point
    {"FADD", addition}, {"FMUL", addition}, {"FFMA", addition}, {"HMUL2", addition},
    {"HADD2", addition, {}, {}, Trait::converts}, {"HFMA2", half_multiply, {}, Work::half},
    {"HFMA2.MMA", half_matrix, {}, Work::half},
    {"F2FP", conversion, {}, {}, Trait::converts}, {"F2F", special, {}, {}, Trait::converts},
    {"F2I", special, {}, {}, Trait::converts}, {"I2F", special, {}, {}, Trait::converts},
    {"MUFU", special}, {"POPC", special}, {"FLO", special}, {"BREV", special},
    {"DADD", binary64}, {"DMUL", binary64}, {"DFMA", binary64}, {"DSETP", alu},
    {"FMNMX", alu}, {"FSEL", alu}, {"FSET", alu}, {"FCHK", alu}, {"HMNMX", alu}, {"HSET", alu},
    // integers, logic, comparisons; VIADD beside comparisons takes the other unit (docs/results/h200-memory: vibmin_s32
    // is ISETP, VIMNMX, VIADD and IMAD.MOV in 4.4 cycles)
    {"IMAD", multiply, {}, Work::multiply}, {"IDP", multiply},
    {"IADD", alu, {}, Work::add}, {"IADD3", alu, {}, Work::add},
    {"VIADD", multiply, {}, Work::add}, {"SHF", alu, {}, Work::shift},
    {"LEA", alu, {}, Work::scale}, {"ISETP", alu, {}, Work::compare},
    {"PLOP3", alu, {}, Work::combine}, {"LOP3", alu, {}, Work::logic},
    {"SEL", alu, {}, Work::select}, {"IMNMX", alu, {}, Work::least},
    {"VIMNMX", alu, {}, Work::least, Trait::dpx}, {"VIMNMX3", alu, {}, {}, Trait::dpx},
    {"VIADDMNMX", alu, {}, {}, Trait::dpx},
    {"MOV", alu, {}, Work::move}, {"CS2R", none, {}, Work::zero},
    {"BMSK", alu}, {"I2I", alu}, {"IABS", alu}, {"ICMP", alu}, {"ISCADD", alu}, {"ISET", alu}, {"LEPC", alu},
    {"LOP", alu}, {"P2R", alu}, {"PLOP", alu}, {"PRMT", alu}, {"R2P", alu}, {"SGXT", alu}, {"SHL", alu},
    {"SHR", alu}, {"VABS", alu}, {"VIMN", alu}, {"VOTE", alu},
    // one for all lanes
    {"U", uniform}, {"R2UR", uniform, {}, Work::first}, {"S2UR", uniform, {}, Work::move},
};
// clang-format on

}  // namespace

Opcode opcode_of(std::string_view opcode) {
  Opcode found;
  for (const Opcode& row : kOpcodes)
    if (row.name.size() > found.name.size() &&
        (opcode.starts_with(row.name) || (row.name.ends_with('.') && opcode == base_of(row.name))))
      found = row;
  const std::string_view base = base_of(opcode);
  if (base_of(found.name) != base) {
    found.step = Step::plain;
    found.work = Work::none;
    found.trait = Trait::none;
  }
  if (found.name == "U" && base.size() > 2) found.work = opcode_of(opcode.substr(1)).work;
  return found;
}

int lane_bytes(std::string_view opcode) {
  if (holds(opcode, ".128")) return 16;
  if (holds(opcode, ".64")) return 8;
  if (holds(opcode, ".U16") || holds(opcode, ".S16")) return 2;
  return holds(opcode, ".U8") || holds(opcode, ".S8") ? 1 : 4;
}

int matrices_of(std::string_view opcode) { return holds(opcode, ".4") ? 4 : holds(opcode, ".2") ? 2 : 1; }

}  // namespace mmaudit::sass
