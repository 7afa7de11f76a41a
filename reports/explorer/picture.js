// The picture: every addend's bits on one axis of powers of two, what alignment keeps and cuts, the sum, its rounding.
const MOST_COLUMNS = 72, LINE = 20, BAR = 13;

/// What is drawn, line by line, from the answer of the model: {kind, label, k, digits, unit, ...}. `unit` is the
/// last kept place of the line.
function lines_of(answer, show_zeros) {
  const { trace, row } = answer, lines = [], f = formats[row.shape.d];
  const step_format = formats[row.sum_format] ?? f;
  const addend = (x, more) => {
    const value = decoded(x, more.format);
    lines.push({ kind: "addend", k: -1, a: x, exact: value.value, special: value.kind !== "finite", ...more });
  };
  const product = ({ k, a, b }, exact, special, unit, more = {}) =>
    lines.push({ kind: "addend", label: String(k), k, a, b, exact, special, unit, lost: ZERO, ...more });
  let hidden = 0;
  const result = (hex, format, sum, label) => {
    const value = decoded(hex, format);
    const digits = digits_of(value.value), least = 1 - format.bias - format.fraction_bits;
    const places = format === step_format && row.output_fraction_bits ? row.output_fraction_bits : format.fraction_bits;
    const high = sum ? digits_of(sum)?.high : digits?.high;
    const unit = format.integer || high === undefined ? undefined : Math.max(high - places, least);
    if (sum) lines.push({ kind: "sum", label: "sum", exact: sum, unit });
    lines.push({ kind: "result", label, exact: value.value, hex, special: value.kind !== "finite" });
  };
  (trace.steps ?? []).forEach((step, number) => {
    const unit = step.special ? undefined : step.maximum - row.F, start = lines.length;
    lines.push({ kind: "step", number, of: trace.steps.length, step, unit, row });
    for (const x of step.addends) {
      const exact = step.special ? ZERO : dyadic(x.exact), lost = step.special ? ZERO : dyadic(x.lost);
      const common = { unit, exact, lost, special: step.special };
      if (x.k < 0) {
        const first = number === 0 && !trace.final_add;
        if (!first && exact.s === 0n && !step.special) continue;
        lines.push({ kind: "addend", label: first ? "c" : "sum", k: -1, is_c: first, a: x.addend, ...common });
      } else if (x.count !== undefined) {
        if (exact.s === 0n && !show_zeros) continue;
        lines.push({ kind: "group", label: `${x.k}–${x.k + x.count - 1}`, k: x.k, ...common });
      } else if (!show_zeros && is_zero(x.a) && is_zero(x.b)) {
        hidden += 1;
      } else {
        const product = step.special ? special_product(x, row.shape) : undefined;
        lines.push({ kind: "addend", label: String(x.k), k: x.k, a: x.a, b: x.b, product, ...common });
      }
    }
    const last = number + 1 === trace.steps.length && !trace.final_add;
    result(step.result, step_format, step.special ? null : dyadic(step.sum), last ? "D" : "round");
    if (show_zeros || number === 0 || step.result !== trace.steps[number - 1].result) return;
    if (lines.slice(start).some((line) => line.k >= 0)) return;
    lines.length = start; // a step that adds nothing
    if (last) lines.findLast((line) => line.kind === "result").label = "D";
    if (lines.at(-1).kind !== "note") lines.push({ kind: "note", from: number + 1 });
    Object.assign(lines.at(-1), { to: number + 1 });
  });
  if (trace.final_add) addend(trace.c, { label: "c", is_c: true, format: formats[row.shape.c], lost: ZERO });
  if (trace.products || trace.fmas || trace.stages)
    addend(trace.c, { label: "c", is_c: true, format: formats[row.shape.c], lost: ZERO });
  for (const x of trace.products ?? []) {
    if (!show_zeros && is_zero(x.a) && is_zero(x.b)) hidden += 1;
    else product(x, { s: BigInt(x.product), e: 0 }, false);
  }
  for (const x of trace.fmas ?? []) {
    const [a, b] = [decoded(x.a, f), decoded(x.b, f)];
    const high = digits_of(decoded(x.after, f).value)?.high;
    const unit = high === undefined ? undefined : Math.max(high, 1 - f.bias) - f.fraction_bits;
    product(x, times(a.value, b.value), a.kind !== "finite" || b.kind !== "finite", unit);
    result(x.after, f, null, "fma");
  }
  for (const stage of trace.stages ?? []) {
    const shown = stage.products.filter((x) => show_zeros || !is_zero(x.a) || !is_zero(x.b));
    hidden += stage.products.length - shown.length;
    for (const x of shown) {
      const [a, b] = [decoded(x.a, formats[row.shape.a]), decoded(x.b, formats[row.shape.b])];
      const exact = times(a.value, b.value), special = a.kind !== "finite" || b.kind !== "finite";
      const flushed = !special && x.taken === 0 && exact.s !== 0n;
      const text = special ? special_product(x, row.shape) : "";
      product(x, exact, special, flushed ? digits_of(exact).high + 1 : undefined, { product: text, lost: flushed ? exact : ZERO, why: "flushed" });
    }
    if (shown.length > 0) result(stage.after, step_format, null, "step");
  }
  if (trace.final_add || trace.products || trace.fmas || trace.stages || row.sum_format !== "none") {
    if (lines.at(-1).kind === "result") lines.pop();
    result(trace.d, f, null, "D");
  }
  lines.hidden = hidden;
  return lines;
}

/// a * b where one of them may be NaN or infinite; the trace gives no products then.
function special_product(x, shape) {
  const number = ({ kind, negative, value }) =>
    kind === "finite" ? number_of(value) : kind === "nan" ? NaN : negative ? -Infinity : Infinity;
  const a = number(decoded(x.a, formats[shape.a])), b = number(decoded(x.b, formats[shape.b]));
  return String(a * b).replace("NaN", "nan").replace("Infinity", "inf");
}

const is_zero = (hex) => /^0*$/.test(hex);

/// One axis for all panels: the columns that hold every line, cut off far below the highest bit.
function axis_of(all_lines, width) {
  let top = -Infinity, bottom = Infinity, cut = Infinity;
  for (const line of all_lines.flat()) {
    if (line.unit !== undefined) cut = Math.min(cut, line.unit);
    const digits = line.exact && digits_of(line.exact);
    if (!digits) continue;
    top = Math.max(top, digits.high);
    bottom = Math.min(bottom, digits.low);
  }
  if (top === -Infinity) [top, bottom] = [4, -4];
  if (Number.isFinite(cut)) bottom = Math.min(bottom, Math.max(cut - 3, top - MOST_COLUMNS));
  top += 2;
  bottom = Math.max(Math.min(bottom - 1, top - 15), top - MOST_COLUMNS);
  return { top, bottom, width, cell: Math.min(26, width / (top - bottom + 1)) };
}

const place = (axis, exponent) => (axis.top - exponent) * axis.cell;

/// Paths of the four sorts of digits: kept and lost, ones and zeros.
function digit_paths(digits, unit, axis) {
  const paths = { kept1: "", kept0: "", lost1: "", lost0: "", sign: "", beyond: "" };
  if (!digits) return paths;
  const gap = axis.cell > 6 ? 1.5 : 0.5, wide = (axis.cell - gap).toFixed(2), y = (LINE - BAR) / 2;
  for (let i = 0; i < digits.text.length; ++i) {
    const exponent = digits.high - i;
    if (exponent < axis.bottom) break;
    const sort = (unit === undefined || exponent >= unit ? "kept" : "lost") + digits.text[i];
    paths[sort] += `M${(place(axis, exponent) + gap / 2).toFixed(2)} ${y}h${wide}v${BAR}h-${wide}z`;
  }
  const bar = (axis.cell * 0.6).toFixed(2), left = place(axis, digits.high + 1) + axis.cell * 0.15;
  if (digits.negative && digits.high >= axis.bottom)
    paths.sign = `M${left.toFixed(2)} ${LINE / 2 - 1}h${bar}v2h-${bar}z`;
  if (digits.low < axis.bottom) paths.beyond = `M${axis.width - 7} ${LINE / 2 - 4}l6 4l-6 4z`;
  return paths;
}

const PATHS = ["band", "grid", "kept0", "lost0", "kept1", "lost1", "sign", "cut", "beyond"];

class Line {
  constructor(kind, panel, number) {
    this.kind = kind;
    this.node = make("div", { className: "line " + kind, role: "listitem" });
    this.label = make("span.label");
    this.out = make("span.out");
    this.values = make("span.values");
    this.svg = make_svg("svg", { class: "bits", role: "img", height: LINE });
    this.paths = {};
    for (const name of PATHS) this.svg.append((this.paths[name] = make_svg("path", { class: name })));
    this.marks = make_svg("g", { class: "marks" });
    this.svg.append(this.marks);
    if (kind === "addend" && panel.editable) this.values.append(...panel.inputs(this, number));
    this.node.append(this.label, this.values, this.svg, this.out);
    if (kind === "addend" && panel.editable) panel.make_draggable(this);
  }

  draw(line, axis, panel) {
    const at = `${axis.top} ${axis.bottom} ${axis.width}`;
    if (this.at !== at) {
      this.at = at;
      this.svg.setAttribute("viewBox", `0 0 ${axis.width} ${LINE}`);
      let grid = "";
      for (let e = axis.top; e >= axis.bottom; --e)
        if (((e % 4) + 4) % 4 === 3) grid += `M${place(axis, e).toFixed(1)} 0v${LINE}`;
      this.paths.grid.setAttribute("d", grid);
    }
    this.line = line;
    const steps = line.from === line.to ? `step ${line.from} adds` : `steps ${line.from} to ${line.to} add`;
    set_text(this.label, line.kind === "note" ? `${steps} only zeros` : (line.label ?? ""));
    if (line.kind === "note") return;
    this.svg.setAttribute("aria-label", this.text_of(line));
    const digits = line.exact && !line.special ? digits_of(line.exact) : null;
    const paths = digit_paths(digits, line.unit, axis);
    const shown = line.unit !== undefined && line.unit > axis.bottom;
    const edge = shown ? place(axis, line.unit - 1) : axis.width;
    paths.band = line.unit === undefined ? "" : `M0 0h${edge.toFixed(1)}v${LINE}H0z`;
    paths.cut = shown ? `M${edge.toFixed(1)} 0v${LINE}` : "";
    for (const name of PATHS)
      if (name !== "grid" && this.paths[name].getAttribute("d") !== paths[name])
        this.paths[name].setAttribute("d", paths[name]);
    this.node.classList.toggle("negative", Boolean(digits?.negative));
    this.node.classList.toggle("special", Boolean(line.special));
    if (this.fill) this.fill(line, panel);
    this.write_out(line);
    if (line.kind === "step") this.draw_marks(line, axis);
  }

  write_out(line) {
    const lost = line.lost && line.lost.s !== 0n;
    const number = line.kind === "step" ? "" : line.special ? (line.product ?? "") : decimal(line.exact);
    const text = line.kind === "result" ? line.hex.toUpperCase() : number;
    const key = text + (lost ? number_of(line.lost) : "");
    if (this.key === key) return;
    this.key = key;
    this.out.replaceChildren(text);
    if (!lost) return;
    const size = decimal(line.lost.s < 0n ? negated(line.lost) : line.lost, 8);
    this.out.append(make("span.lost", { textContent: ` −${size}`, title: line.why ?? "lost by alignment" }));
  }

  draw_marks({ step, unit, number, of, row }, axis) {
    this.marks.replaceChildren();
    const k = step.addends.filter((x) => x.k >= 0).map((x) => x.k);
    const together = k.at(-1) - k[0] === k.length - 1;
    const which = together ? `${k[0]}–${k.at(-1)}` : `${k.slice(0, 5).join(", ")} …`;
    set_text(this.label, of === 1 ? "" : `step ${number + 1} of ${of}: k ${which}`);
    const mark = (exponent, words, side) => {
      if (exponent < axis.bottom) return;
      const x = exponent > axis.top ? 4 : side === "end" ? place(axis, exponent - 1) - 5 : place(axis, exponent) + 2;
      this.marks.append(make_svg("text", { x: x.toFixed(1), y: LINE - 6, "text-anchor": side, class: "mark" }, words));
    };
    if (step.special) {
      const words = "a NaN or an infinity: no sum is formed";
      return this.marks.append(make_svg("text", { x: 4, y: LINE - 6, class: "mark" }, words));
    }
    const near = place(axis, unit - 1) - place(axis, step.maximum) < 190;
    const far = step.maximum > axis.top ? "← " : "";
    const e = `${far}E = ${step.maximum}${step.floor_decided ? " (floor)" : ""}`;
    mark(step.maximum, near && !far ? "E" : e, "start");
    const short = near || (far && place(axis, unit) < 330);
    mark(unit, short ? power(unit) : `F = ${row.F}: last kept bit ${power(unit)}`, "end");
  }

  text_of(line) {
    if (line.kind === "step")
      return line.step.special ? "a NaN or an infinity: no sum is formed"
        : `step ${line.number + 1} of ${line.of}: largest exponent ${line.step.maximum}, last kept bit 2^${line.unit}`;
    if (line.special) return `${line.label}: not a finite number`;
    const lost = line.lost && line.lost.s !== 0n ? `, of which ${decimal(line.lost)} is lost` : "";
    return `${line.label}: ${decimal(line.exact)}${lost}`;
  }
}

/// A sum drawn line by line. Lines are kept and redrawn, so an input keeps its focus.
class Panel {
  constructor(node, editable) {
    Object.assign(this, { node, editable, pool: [] });
    this.head = make("div.head");
    this.axis_svg = make_svg("svg", { class: "axis", "aria-hidden": "true", height: 26 });
    this.axis_line = make("div.line.axis-line");
    this.axis_line.append(make("span.label"), make("span.values"), this.axis_svg, make("span.out"));
    this.list = make("div.lines", { role: "list", "aria-label": "addends, sums and results" });
    this.scroll = make("div.scroll", {}, this.axis_line, this.list);
    node.append(this.head, this.scroll);
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === 0 || contentRect.width === this.wide) return;
      this.wide = contentRect.width;
      if (this.drawn_axis) update_dot();
    }).observe(this.axis_svg);
  }

  /// Pixels that the bits have. Asking the page costs a layout of all of it, so the observer above tells.
  width() {
    this.wide ||= this.axis_svg.getBoundingClientRect().width;
    return Math.max(120, Math.floor(this.wide));
  }

  draw(answer, lines, axis) {
    this.answer = answer;
    const label = `${axis.top} ${axis.bottom} ${axis.width}`;
    if (this.drawn_axis !== label) this.draw_axis(axis, (this.drawn_axis = label));
    lines.forEach((line, i) => {
      if (this.pool[i]?.kind !== line.kind) {
        const made = new Line(line.kind, this, i);
        if (this.pool[i]) this.pool[i].node.replaceWith(made.node);
        else this.list.append(made.node);
        this.pool[i] = made;
      }
      this.pool[i].draw(line, axis, this);
    });
    for (const extra of this.pool.splice(lines.length)) extra.node.remove();
  }

  draw_axis(axis) {
    this.axis = axis;
    this.axis_svg.setAttribute("viewBox", `0 0 ${axis.width} 26`);
    this.axis_svg.replaceChildren();
    const every = axis.cell > 11 ? 4 : axis.cell > 5.5 ? 8 : 16;
    for (let e = axis.top; e >= axis.bottom; --e) {
      const x = place(axis, e);
      if (e === -1) this.axis_svg.append(make_svg("circle", { cx: x.toFixed(1), cy: 21, r: 3, class: "point" }));
      if (((e % every) + every) % every !== 0) continue;
      this.axis_svg.append(make_svg("path", { d: `M${(x + axis.cell / 2).toFixed(1)} 18v6`, class: "tick" }),
        make_svg("text", { x: (x + axis.cell / 2).toFixed(1), y: 13, "text-anchor": "middle" }, power(e)));
    }
  }
}
