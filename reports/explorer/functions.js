// Special functions: one input step by step, and the errors over its binade.
const SLICE = 32; // columns per turn, so that the page answers meanwhile
let special = {}, scan = { key: "", errors: [], worst: [], judged: 0, columns: 1, first: 0n };

const signed = (error) => (error < 0 ? "−" : error > 0 ? "+" : "") + shortened(Math.abs(error), 4);
const size_text = (size) => {
  const e = Math.log2(size);
  return Number.isInteger(e) ? power(e) : `2^${shortened(e, 5)}`;
};

function bound_text(bound, operand) {
  const more = bound.per_x ? ` + floor(${bound.per_x} |x|)` : "", { low, high } = bound;
  const of = bound.kind === "relative" ? " of the value" : "";
  const size = bound.kind === "ulps" ? `${bound.most} ulp${more}` : size_text(bound.most) + of;
  return size + (high === null ? "" : `, ${operand} from ${shortened(low, 4)} to ${shortened(high, 4)}`) + ` (${bound.source})`;
}

function draw_function() {
  const row = special[state.fn] ?? special[DEFAULTS.fn], f = formats[row.format];
  const answer = call("function", row.name, state.x, state.y);
  by_id("fy-label").hidden = row.operands === 1;
  set_text(by_id("function-error"), answer.error ?? "");
  set_text(by_id("function-notes"), (answer.notes ?? []).join(" "));
  write_address();
  if (answer.error) return;
  const soft = (textContent) => make("span.soft", { textContent });
  by_id("function-about").replaceChildren(soft("result"), make("strong", { textContent: value_of(answer.result, f) }),
    make("code", { textContent: "0x" + answer.result.toUpperCase() }),
    bit_strip(answer.result, f, answer.correctly_rounded),
    soft(answer.ulps_from_exact === null ? "no error: a value that is not finite, or is flushed"
      : `${signed(answer.ulps_from_exact)} ulp from the exact value`),
    soft(`correctly rounded: 0x${answer.correctly_rounded.toUpperCase()}`));
  const line = (step, value) =>
    make("tr", {}, make("th", { scope: "row", textContent: step }), make("td", { textContent: value }));
  const operand = (name, hex) => line(name, `${value_of(hex, f)} = 0x${hex.toUpperCase()}`);
  by_id("function-steps").replaceChildren(
    operand("x", answer.x), ...(row.operands === 2 ? [operand("y", answer.y)] : []), line("instructions", row.steps), ...answer.unit.map((x) => line(x.step, x.value)),
    line("exact value", answer.exact === null ? "not finite" : String(answer.exact)),
    ...row.bounds.map((bound, i) => line(i ? "elsewhere" : "vendor's bound", bound_text(bound, row.operands === 2 ? "|y|" : "x"))),
    line("known", row.evidence));
  const first = BigInt("0x" + answer.x) >> BigInt(f.fraction_bits) << BigInt(f.fraction_bits);
  const key = [row.name, first, row.operands === 2 ? answer.y : ""].join(" ");
  Object.assign(scan, { x: BigInt("0x" + answer.x), f });
  if (key !== scan.key) start_scan(key, row.name, answer, first);
  else draw_binade();
}

/// The binade's errors, a slice at a time, until another binade is asked for.
function start_scan(key, name, answer, first) {
  Object.assign(scan, { key, errors: [], worst: [], judged: 0, columns: 1, first });
  const step = () => {
    if (scan.key !== key) return;
    const part = call("binade", name, answer.x, answer.y, scan.errors.length, SLICE);
    scan.columns = part.columns;
    scan.judged += part.judged;
    scan.errors.push(...part.errors);
    scan.worst = [...scan.worst, ...part.worst].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 5);
    draw_binade();
    if (scan.errors.length < scan.columns) setTimeout(step);
  };
  step();
}

function draw_binade() {
  const { errors, columns, first, f } = scan, svg = by_id("binade"), high = 170;
  const wide = Math.max(240, svg.getBoundingClientRect().width), count = 2 ** f.fraction_bits;
  const all = errors.flat().filter((x) => x !== null), most = Math.max(1, ...all.map(Math.abs));
  const y = (error) => high / 2 - (error / most) * (high / 2 - 8), x = (part) => 52 + (wide - 68) * part;
  const value = (offset) => value_of(hex_of(first + BigInt(offset)), f);
  const column = ([low, top], i) => (low === null ? ""
    : `M${x((i + 0.5) / columns).toFixed(1)} ${(y(top) - 0.5).toFixed(1)}V${(y(low) + 0.5).toFixed(1)}`);
  svg.setAttribute("viewBox", `0 0 ${wide} ${high + 20}`);
  svg.replaceChildren(
    ...[-most, -0.5, 0, 0.5, most].map((at) => make_svg("path", { class: "grid", d: `M${x(0)} ${y(at)}H${x(1)}` })),
    ...[-most, 0, most].map((at) =>
      make_svg("text", { x: 46, y: y(at) + 4, "text-anchor": "end" }, signed(at))),
    make_svg("path", { class: "errors", "stroke-width": x(1 / columns) - x(0) + 0.6,
      d: errors.map(column).join("") }),
    make_svg("path", { class: "chosen", d: `M${x(Number(scan.x - first) / count).toFixed(1)} 2V${high}` }),
    make_svg("text", { x: x(0), y: high + 15 }, value(0)),
    make_svg("text", { x: x(1), y: high + 15, "text-anchor": "end" }, value(count - 1)));
  const from = Math.min(...all), to = Math.max(...all), done = errors.length === columns;
  set_text(by_id("binade-text"), !done ? "Going through the binade…" : scan.judged === 0
    ? "No operand of this binade has a finite exact value that the row is judged by."
    : `From ${value(0)} to ${value(count - 1)}: errors between ${signed(from)} and ${signed(to)} ulp, of ${scan.judged} ` +
      `of ${count} operands.`);
  by_id("worst").replaceChildren(...(done ? scan.worst : []).map((one) => {
    const button = make("button", { type: "button", textContent: `${one.value}: ${signed(one.error)} ulp` });
    button.addEventListener("click", () => choose_x(one.x));
    return button;
  }));
}

const hex_of = (bits) => bits.toString(16).padStart(scan.f.storage_bits / 4, "0");

function choose_x(hex) {
  const { x_value } = call("function", state.fn, "0x" + hex, "1");
  state.x = by_id("fx").value = x_value === "nan" ? "0x" + hex : x_value;
  draw_function();
}

/// x with its exponent one larger or smaller.
function move_binade(step) {
  const { f, x } = scan, sign = 2n ** BigInt(f.storage_bits - 1);
  const moved = x + BigInt(step) * 2n ** BigInt(f.fraction_bits);
  if (moved >= 0n && moved < 2n * sign && (moved & sign) === (x & sign)) choose_x(hex_of(moved));
}

function start_functions() {
  Object.assign(scan, { f: formats.f32, x: 0n });
  for (const row of call("functions").functions) {
    special[row.name] = row;
    by_id("fn").append(make("option", { textContent: row.name }));
  }
  by_id("fn").addEventListener("change", () => { state.fn = by_id("fn").value; draw_function(); });
  for (const key of ["x", "y"])
    by_id("f" + key).addEventListener("input", () => { state[key] = by_id("f" + key).value; draw_function(); });
  by_id("fx").addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    if (event.shiftKey) move_binade(step);
    else choose_x(hex_of(BigInt("0x" + next_code(hex_of(scan.x), scan.f, step))));
  });
  by_id("binade-down").addEventListener("click", () => move_binade(-1));
  by_id("binade-up").addEventListener("click", () => move_binade(1));
  by_id("binade").addEventListener("click", (event) => {
    const box = by_id("binade").getBoundingClientRect(), count = 2 ** scan.f.fraction_bits;
    const part = Math.min(Math.max((event.clientX - box.left - 52) / (box.width - 68), 0), 1);
    choose_x(hex_of(scan.first + BigInt(Math.min(Math.floor(part * count), count - 1))));
  });
}

function update_functions() {
  if (!Object.hasOwn(special, state.fn)) state.fn = DEFAULTS.fn;
  by_id("fn").value = state.fn;
  by_id("fx").value = state.x;
  by_id("fy").value = state.y;
  draw_function();
}
