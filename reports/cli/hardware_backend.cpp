#include "hardware_backend.hpp"

namespace mmaudit::cli {

Mismatch mismatch_of(const mmaudit::Mismatch& one) {
  return {one.dot.input_class, one.dot.tile, one.dot.row,  one.dot.column, one.dot.modifiers, one.dot.a,
          one.dot.b,           one.dot.c,    one.expected, one.found,      one.dot.metadata};
}

Mismatch mismatch_of(const device::Mismatch& one) {
  return {std::string(gen::name_of(one.family)),
          one.tile,
          one.row,
          one.col,
          one.modifiers,
          one.a,
          one.b,
          one.c,
          one.d_hardware,
          one.d_model,
          one.metadata};
}

}  // namespace mmaudit::cli
