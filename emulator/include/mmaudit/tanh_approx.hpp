#pragma once
// tanh.approx.f32, the instruction MUFU.TANH.

namespace mmaudit {

/// What: the bits that tanh.approx.f32 gives on an H100. Below 2^-8 it is x, from 8 on 1; between, a
/// quadratic per segment of x, whose square is a sum of partial products without the low ones. Range: any; a
/// NaN gives a quiet NaN. Source: recorded on an H100 (2026-11-24), 204,800 values of which fix all
/// coefficients.
float tanh_approx(float x);

}  // namespace mmaudit
