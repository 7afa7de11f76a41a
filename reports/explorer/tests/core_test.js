// The exact numbers of the explorer: usage: node core_test.js. No model and no browser; what is expected was computed
// from the definitions of the formats, in binary64, which holds every number here.
"use strict";
const assert = require("node:assert").strict;
const fs = require("node:fs"), path = require("node:path");

const source = fs.readFileSync(path.join(__dirname, "..", "core.js"), "utf8");
const core = new Function(source + "; return { decoded, digits_of, exact_text, next_code, number_of, plus, shortened, value_of };")();

const float = (name, exponent_bits, fraction_bits, more = {}) => ({
  name, exponent_bits, fraction_bits, signed: true, integer: false, infinity: false, nan: true, nan_at_minus_zero: false,
  bias: 2 ** (exponent_bits - 1) - 1, value_bits: 1 + exponent_bits + fraction_bits, storage_bits: 8, ...more });
const E4M3 = float("e4m3", 4, 3), E5M2 = float("e5m2", 5, 2, { infinity: true });
const E2M1 = float("e2m1", 2, 1, { nan: false }), UE8M0 = float("ue8m0", 8, 0, { signed: false, value_bits: 8 });
const UE4M3 = float("ue4m3", 4, 3, { signed: false, value_bits: 7 });
const FNUZ = float("e4m3fnuz", 4, 3, { bias: 8, nan_at_minus_zero: true });
const S8 = { name: "s8", integer: true, signed: true, value_bits: 8, storage_bits: 8 };
const U4 = { name: "u4", integer: true, signed: false, value_bits: 4, storage_bits: 8 };
const TF32 = float("tf32", 8, 10, { infinity: true, storage_bits: 32 });

/// The number of a code by the definition of its format; NaN where it is none.
function number(code, f) {
  const fields = 2 ** f.fraction_bits, fraction = code % fields, rest = Math.floor(code / fields);
  const field = rest % 2 ** f.exponent_bits, sign = f.signed && Math.floor(rest / 2 ** f.exponent_bits) ? -1 : 1;
  if (f.nan_at_minus_zero && sign < 0 && field === 0 && fraction === 0) return NaN;
  if (f.nan && !f.nan_at_minus_zero && field === 2 ** f.exponent_bits - 1) {
    if (f.infinity) return fraction === 0 ? sign * Infinity : NaN;
    if (fraction === fields - 1) return NaN;
  }
  if (field === 0 && (f.signed || f.fraction_bits)) return (sign * fraction) / fields * 2 ** (1 - f.bias);
  return sign * (1 + fraction / fields) * 2 ** (field - f.bias);
}
const hex = (code) => code.toString(16);
const FLOATS = [E4M3, E5M2, E2M1, UE8M0, UE4M3, FNUZ];

const tests = {
  every_code_is_its_number() {
    for (const f of FLOATS)
      for (let code = 0; code < 2 ** f.value_bits; ++code) {
        const x = core.decoded(hex(code), f), expected = number(code, f), where = `${f.name} ${hex(code)}`;
        assert.equal(x.kind, Number.isNaN(expected) ? "nan" : Number.isFinite(expected) ? "finite" : "infinite", where);
        if (x.kind === "finite") assert.equal(core.number_of(x.value), expected === 0 ? 0 : expected, where);
        if (x.kind !== "nan") assert.equal(Boolean(x.negative), expected < 0 || Object.is(expected, -0), where);
      }
    assert.equal(core.number_of(core.decoded("8", E4M3).value), 2 ** -6);  // the least normal one
    assert.equal(core.number_of(core.decoded("7", E4M3).value), 7 * 2 ** -9);
    assert.equal(core.number_of(core.decoded("7e", E4M3).value), 448);
  },
  the_next_code_is_the_nearest_number_above_or_below() {
    for (const f of FLOATS) {
      const codes = Array.from({ length: 2 ** f.value_bits }, (_, code) => code);
      const known = codes.filter((code) => !Number.isNaN(number(code, f)));
      for (const code of known)
        for (const step of [1, -1]) {
          const here = number(code, f), beyond = known.filter((other) => step * (number(other, f) - here) > 0);
          const least = Math.min(...beyond.map((other) => step * number(other, f)));
          const found = core.next_code(hex(code), f, step), where = `${f.name} ${hex(code)} ${step}`;
          if (beyond.length === 0) assert.equal(found, hex(code), where);
          else assert.ok(number(Number.parseInt(found, 16), f) === step * least, where);  // 0 is -0
        }
    }
  },
  integers_end_where_they_end() {
    for (const [code, step, next] of [["7f", 1, "7f"], ["80", -1, "80"], ["ff", 1, "0"], ["0", -1, "ff"], ["7e", 1, "7f"]])
      assert.equal(core.next_code(code, S8, step), next, `${code} ${step}`);
    for (const [code, step, next] of [["f", 1, "f"], ["0", -1, "0"], ["8", 1, "9"]])
      assert.equal(core.next_code(code, U4, step), next, `${code} ${step}`);
    assert.equal(core.decoded("80", S8).value.s, -128n);
  },
  bits_that_a_format_ignores_are_no_code() {
    assert.equal(core.next_code("3f800000", TF32, 1), "3f802000");
    assert.equal(core.next_code("bf800000", TF32, 1), "bf7fe000");
    assert.equal(core.number_of(core.decoded("3f801fff", TF32).value), 1);
  },
  digits_go_from_the_highest_set_bit_to_the_lowest() {
    const of = (s, e) => core.digits_of({ s, e });
    assert.deepEqual(of(12n, 3), { negative: false, text: "11", high: 6, low: 5 });  // 96 = 2^6 + 2^5
    assert.deepEqual(of(-5n, -2), { negative: true, text: "101", high: 0, low: -2 });  // -1.25
    assert.equal(of(0n, 7), null);
    assert.equal(core.exact_text({ s: 12n, e: 97 }, 12), "3*2^99");
    assert.equal(core.exact_text({ s: 5n, e: -2 }, 12), "1.25");
  },
  few_digits_keep_the_zeros_of_whole_numbers() {
    for (const [x, text] of [[1500, "1500"], [256, "256"], [0.5, "0.5"], [20000, "2e+4"], [0.1, "0.1"], [-1.25, "-1.25"], [100, "100"]])
      assert.equal(core.shortened(x, 4), text);
  },
  sums_are_exact_whichever_exponent_is_smaller() {
    for (const [x, y] of [[{ s: 3n, e: 4 }, { s: 5n, e: -2 }], [{ s: 5n, e: -2 }, { s: 3n, e: 4 }]])
      assert.equal(core.number_of(core.plus(x, y)), 49.25);
    assert.equal(core.number_of(core.plus({ s: 1n, e: 60 }, { s: -1n, e: 0 })), 2 ** 60);  // nearest to 2^60 - 1
    assert.equal(core.plus({ s: 1n, e: 60 }, { s: -1n, e: 0 }).s, (1n << 60n) - 1n);
  },
};

for (const [name, run] of Object.entries(tests)) {
  run();
  console.log(`passed ${name}`);
}
