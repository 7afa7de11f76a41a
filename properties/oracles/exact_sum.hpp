#pragma once
// The exact sum of ExactDot, a number of MPFR.
#include <mpfr.h>

#include <memory>

#include "mmaudit/oracles/exact.hpp"

namespace mmaudit::oracle {

/// An mpfr_t that frees itself.
class Big {
 public:
  explicit Big(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  Big(const Big&) = delete;
  Big& operator=(const Big&) = delete;
  ~Big() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  [[nodiscard]] mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

struct ExactSum {
  std::unique_ptr<Big> value;
};

}  // namespace mmaudit::oracle
