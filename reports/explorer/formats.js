// Number formats: every code of a narrow one, and one number in all of them.
let code_cells = [];

function draw_codes() {
  const f = formats[state.format], { values, error } = call("codes", state.format);
  const table = by_id("codes");
  if (error) return table.replaceChildren();
  const across = Math.min(16, values.length), rows = [], hex = (x) => x.toString(16).toUpperCase();
  code_cells = [];
  rows.push(make("tr", { role: "row" }, make("td", { role: "presentation" }),
    ...Array.from({ length: across }, (_, x) =>
      make("th", { scope: "col", role: "columnheader", textContent: "_" + hex(x) }))));
  for (let y = 0; y < values.length / across; ++y) {
    const row = make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader", textContent: hex(y) + "_" }));
    for (let x = 0; x < across; ++x) {
      const code = y * across + x, number = decoded(code.toString(16), f);
      const cell = make("td", { role: "gridcell", tabIndex: -1, textContent: short(values[code]) });
      const subnormal = number.normal === false && number.value.s !== 0n;
      const sort = number.kind !== "finite" ? "special" : subnormal ? "subnormal" : "";
      cell.className = [sort, number.negative ? "negative" : "", (number.field ?? 0) % 2 ? "odd" : "even"].join(" ");
      cell.addEventListener("click", () => select_code(code, true));
      cell.addEventListener("mouseenter", () => select_code(code, false));
      code_cells.push(cell);
      row.append(cell);
    }
    rows.push(row);
  }
  table.replaceChildren(...rows);
  draw_line(values, f);
  select_code(Math.max(0, Math.min(Number.parseInt(state.code, 16) || 0, values.length - 1)), false);
}

const short = (text) => (text.length <= 6 ? text : shortened(Number(text), 3));

/// Where the positive numbers lie, on an axis of powers of two: as many per power as the fraction has codes.
function draw_line(values, f) {
  const finite = values.map(Number).filter((x) => x > 0 && Number.isFinite(x)), svg = by_id("line");
  const low = Math.floor(Math.log2(Math.min(...finite))), high = Math.ceil(Math.log2(Math.max(...finite)) + 0.01);
  // Drawn for the width that is there, so that text keeps its size.
  const wide = Math.max(240, svg.getBoundingClientRect().width), every = Math.ceil((high - low) / (wide / 64));
  const x = (value) => 20 + ((wide - 40) * (Math.log2(value) - low)) / (high - low);
  svg.setAttribute("viewBox", `0 0 ${wide} 62`);
  svg.replaceChildren();
  for (let e = low; e <= high; e += every)
    svg.append(make_svg("text", { x: x(2 ** e), y: 56, "text-anchor": "middle" }, power(e)),
      make_svg("path", { class: "grid", d: `M${x(2 ** e)} 4v40` }));
  svg.append(make_svg("path", { class: "ticks", d: finite.map((value) => `M${x(value).toFixed(1)} 14v24`).join("") }),
    make_svg("path", { class: "chosen", id: "chosen" }));
  svg.x_of = x;
  const ends = `from ${Math.min(...finite)} to ${Math.max(...finite)}`;
  set_text(by_id("line-text"), `${finite.length} positive numbers of ${f.name}, ${ends}`);
}

function select_code(code, focus) {
  state.code = code.toString(16);
  const f = formats[state.format], hex = code.toString(16).padStart(2, "0"), number = decoded(hex, f);
  code_cells.forEach((cell, i) => {
    if (cell.tabIndex === 0 && i !== code) cell.tabIndex = -1;
    if (cell.ariaSelected === "true" && i !== code) cell.ariaSelected = "false";
  });
  code_cells[code].tabIndex = 0;
  code_cells[code].ariaSelected = "true";
  if (focus) code_cells[code].focus();
  const { value } = number, above = decoded(next_code(hex, f, 1), f).value, gap = plus(above, negated(value));
  const parts = [];
  if (number.kind === "finite" && !f.integer) {
    const e = number.normal ? number.field - f.bias : 1 - f.bias, lead = number.normal ? 1 : 0;
    const fraction = `${number.negative ? "−" : ""}${lead} ${number.fraction}/${2 ** f.fraction_bits}`;
    parts.push(`= ${fraction} × ${power(e)}${number.normal ? "" : value.s === 0n ? " (zero)" : " (subnormal)"}`);
  }
  if (number.kind === "finite" && gap.s > 0n) parts.push(`gap to the next number: ${decimal(gap)}`);
  by_id("code-about").replaceChildren(make("code", { textContent: "0x" + hex.toUpperCase() }), bit_strip(hex, f),
    make("strong", { textContent: value_of(hex, f) }),
    make("span.soft", { textContent: parts.join(", ") }));
  const size = Math.abs(number_of(value)), svg = by_id("line");
  by_id("chosen").setAttribute("d", size > 0 && number.kind === "finite" ? `M${svg.x_of(size).toFixed(1)} 8v36` : "");
  write_address();
}

const FATES = {
  nan: "NaN", overflow: "overflow", exact: "exact", underflow: "underflow to zero", subnormal: "rounded, subnormal",
};
const fate_of = (x) => Object.keys(FATES).find((key) => x[key]) ?? "rounded";

function draw_casts() {
  const answer = call("cast", state.number, state.from, state.round, state.sat);
  set_text(by_id("cast-error"), answer.error ?? answer.notes.join(" "));
  write_address();
  if (answer.error) return;
  by_id("casts").replaceChildren(...answer.results.map((x) => {
    const fate = fate_of(x), tone = { exact: "good", rounded: "note", subnormal: "note" }[fate] ?? "bad";
    return make("tr", {}, make("th", { scope: "row", textContent: x.format }),
      make("td", {}, make("code", { textContent: "0x" + x.bits.toUpperCase() })), make("td", { textContent: x.value }),
      make("td", { textContent: x.error === null || x.exact ? "" : shortened(x.error, 3) }),
      make("td", { className: tone, textContent: FATES[fate] ?? fate }));
  }));
}

function start_formats() {
  for (const f of catalog.formats) {
    if (f.value_bits <= 8) by_id("format").append(make("option", { textContent: f.name }));
    by_id("from").append(make("option", { textContent: f.name }));
  }
  by_id("format").addEventListener("change", () => { state.format = by_id("format").value; draw_codes(); });
  by_id("codes").addEventListener("keydown", (event) => {
    const across = Math.min(16, code_cells.length);
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    const to = Number.parseInt(state.code, 16) + (move ?? 0);
    if (!move || to < 0 || to >= code_cells.length) return;
    event.preventDefault();
    select_code(to, true);
  });
  for (const key of ["number", "from", "round"])
    by_id(key).addEventListener("input", () => { state[key] = by_id(key).value; draw_casts(); });
  by_id("sat").addEventListener("input", () => { state.sat = by_id("sat").checked ? "1" : ""; draw_casts(); });
}

function update_formats() {
  for (const key of ["format", "number", "from", "round"]) by_id(key).value = state[key];
  by_id("sat").checked = state.sat === "1";
  draw_codes();
  draw_casts();
}
