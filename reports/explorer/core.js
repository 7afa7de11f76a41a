// The model in WebAssembly, and exact numbers. Every bit that the page shows was computed by the model.
const FUNCTIONS = { catalog: 0, explain: 1, codes: 2, cast: 3, layout: 4, functions: 5, function: 6, binade: 7,
  attentions: 8, attention: 9 };
const ENOSYS = 52;
const MOST_TEXT = 1 << 16;
const decoder = new TextDecoder(), encoder = new TextEncoder();
let model, catalog, formats;

async function load_model() {
  const packed = Uint8Array.from(atob(document.getElementById("wasm").textContent.trim()), (c) => c.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const compiled = await WebAssembly.compile(await new Response(bytes).arrayBuffer());
  const imports = {};
  for (const { module, name } of WebAssembly.Module.imports(compiled)) (imports[module] ??= {})[name] = () => ENOSYS;
  model = (await WebAssembly.instantiate(compiled, imports)).exports;
  model._initialize?.();
  catalog = call("catalog");
  formats = Object.fromEntries(catalog.formats.map((f) => [f.name, f]));
}

/// The answer of the model to a request, as an object; {error} where it refuses.
function call(name, ...fields) {
  const text = fields.map((field) => String(field ?? "").replaceAll("\0", " ") + "\0").join("");
  if (text.length > MOST_TEXT) return { error: `input: found ${text.length} characters, allowed: ${MOST_TEXT}` };
  const request = encoder.encode(text);
  const at = model.explorer_request(request.length);
  new Uint8Array(model.memory.buffer, at, request.length).set(request);
  const answer = model.explorer_answer(FUNCTIONS[name]);
  return JSON.parse(decoder.decode(new Uint8Array(model.memory.buffer, answer, model.explorer_length())));
}

// ---- exact numbers: {s, e} is s * 2^e, s a BigInt ----

const ZERO = { s: 0n, e: 0 };
const dyadic = (x) => ({ s: BigInt(x.significand), e: x.exponent });
const negated = (x) => ({ s: -x.s, e: x.e });
const times = (x, y) => ({ s: x.s * y.s, e: x.e + y.e });

function plus(x, y) {
  if (x.s === 0n) return y;
  if (y.s === 0n) return x;
  const e = Math.min(x.e, y.e);
  return { s: (x.s << BigInt(x.e - e)) + (y.s << BigInt(y.e - e)), e };
}

function number_of(x) {
  const digits = (x.s < 0n ? -x.s : x.s).toString(2), cut = Math.max(0, digits.length - 60);
  return Number(x.s >> BigInt(cut)) * 2 ** Math.max(x.e + cut, -1000) * 2 ** Math.min(0, x.e + cut + 1000);
}

/// {sign, text, high, low}: the binary digits from the highest set bit to the lowest one; null for zero.
function digits_of(x) {
  if (x.s === 0n) return null;
  const all = (x.s < 0n ? -x.s : x.s).toString(2), text = all.replace(/0+$/, "");
  return { negative: x.s < 0n, text, high: x.e + all.length - 1, low: x.e + all.length - text.length };
}

const shortened = (value, digits) => value.toPrecision(digits).replace(/(\.\d*?)0+(e|$)/, "$1$2").replace(/\.(e|$)/, "$1");

/// An exact number as a decimal of at most `most` digits or as m*2^e; empty where neither is short.
function exact_text(x, most) {
  const digits = digits_of(x), shown = String(number_of(x));
  if (!digits) return shown;
  const whole = digits.text.length <= 53 && shown.length <= most;
  if (whole && !shown.includes("e")) return shown;
  const m = digits.text.length <= 20 ? String(Number.parseInt(digits.text, 2)) : "", e = `2^${digits.low}`;
  const text = (digits.negative ? "-" : "") + (m === "1" ? e : `${m}*${e}`);
  if (m && m.length < 5 && text.length < shown.length) return text;
  return whole ? shown : "";
}

/// The same for reading alone.
function decimal(x, most = 12) {
  const text = exact_text(x, most) || "≈" + shortened(number_of(x), Math.max(3, most - 6));
  return text.replace(/\*?2\^(-?\d+)/, (all, e) =>
    (all[0] === "*" ? "·" : "") + power(e));
}

/// The value of a code, for reading.
function value_of(hex, f) {
  const x = decoded(hex, f), minus = x.negative ? "-" : "";
  if (x.kind !== "finite") return x.kind === "nan" ? "nan" : minus + "inf";
  return x.value.s === 0n ? minus + "0" : decimal(x.value, 18);
}

const ignored_bits = (f) => (f.storage_bits === 32 && !f.integer ? 32 - f.value_bits : 0);

/// Raw bits (hexadecimal digits) of a format: its fields and its value.
function decoded(hex, f) {
  const raw = BigInt("0x" + hex) >> BigInt(ignored_bits(f));
  if (f.integer) {
    const low = BigInt.asUintN(f.value_bits, raw);
    return { kind: "finite", value: { s: f.signed ? BigInt.asIntN(f.value_bits, low) : low, e: 0 } };
  }
  const fraction = BigInt.asUintN(f.fraction_bits, raw);
  const field = Number(BigInt.asUintN(f.exponent_bits, raw >> BigInt(f.fraction_bits)));
  const negative = f.signed && ((raw >> BigInt(f.exponent_bits + f.fraction_bits)) & 1n) === 1n;
  const most = 2 ** f.exponent_bits - 1, no_zero = f.signed === false && f.fraction_bits === 0;
  if (f.nan_at_minus_zero && negative && field === 0 && fraction === 0n)
    return { kind: "nan", negative, value: ZERO };
  if (f.nan && !f.nan_at_minus_zero && field === most && (f.infinity || fraction === BigInt(2 ** f.fraction_bits - 1)))
    return { kind: f.infinity && fraction === 0n ? "infinite" : "nan", negative, value: ZERO };
  const normal = field !== 0 || no_zero, e = (normal ? field : 1) - f.bias - f.fraction_bits;
  const s = fraction + (normal ? 1n << BigInt(f.fraction_bits) : 0n);
  return { kind: "finite", negative, normal, field, fraction, value: { s: negative ? -s : s, e } };
}

/// The code of the next number above (step 1) or below (step -1); itself at the end.
function next_code(hex, f, step) {
  const width = BigInt(f.value_bits), unit = 1n << BigInt(ignored_bits(f));
  let code = BigInt("0x" + hex) / unit;
  if (f.integer) {
    const moved = (f.signed ? BigInt.asIntN(Number(width), code) : code) + BigInt(step);
    const fits = f.signed ? BigInt.asIntN(Number(width), moved) === moved : moved >= 0n && moved < 1n << width;
    return fits ? BigInt.asUintN(Number(width), moved).toString(16) : hex;
  }
  const sign = f.signed ? 1n << (width - 1n) : 0n, most = sign || 1n << width;
  const place = (code & sign) !== 0n ? -(code ^ sign) : code; // codes of one sign ascend with the magnitude
  const moved = place + BigInt(step);
  if ((moved < 0n && !f.signed) || moved >= most || -moved >= most) return hex;
  code = moved < 0n ? -moved | sign : moved;
  const next = (code * unit).toString(16);
  return decoded(next, f).kind === "nan" ? hex : next;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (exponent) => "2" + String(exponent).replace("-", "⁻").replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);

// ---- elements ----

const by_id = (id) => document.getElementById(id);

/// An element with properties and children; text stays text.
function make(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties))
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function make_svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/// Writes only what changed, so that nothing is laid out again for nothing.
function set_text(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/// The bits of a code in fields (sign, exponent, fraction), for a person. `other`: differing bits are marked.
function bit_strip(hex, f, other) {
  const strip = make("span.strip"), width = f.integer || f.storage_bits === 32 ? f.storage_bits : f.value_bits;
  const digits = (text) => BigInt("0x" + text).toString(2).padStart(width, "0").slice(-width);
  const mine = digits(hex), theirs = other === undefined ? mine : digits(other);
  const sign = f.integer || !f.signed ? 0 : 1;
  let group = null;
  [...mine].forEach((bit, i) => {
    const field = f.integer ? "fraction" : i < sign ? "sign" : i < sign + f.exponent_bits ? "exponent" : "fraction";
    if (group?.dataset.field !== field) strip.append((group = make("span", { className: "field " + field })));
    group.dataset.field = field;
    group.append(make("span", { className: bit === theirs[i] ? "bit" : "bit differs", textContent: bit }));
  });
  return strip;
}
