// The page of one dot product: inputs, presets, answers, one or two panels.
const TOKENS = { a: [], b: [] };
let panels = [], show_zeros = false, last_answer = null;

/// The text of a code that reads back as that code.
function text_of_code(hex, f) {
  const x = decoded(hex, f);
  if (x.kind !== "finite" || (x.value.s === 0n && x.negative)) return "0x" + hex;
  return f.integer ? String(x.value.s) : exact_text(x.value, 12) || String(number_of(x.value));
}

/// The text of element k of "a" or "b", or of c, replaced.
function set_element(of, k, text) {
  if (of === "c") state.c = text;
  else {
    while (TOKENS[of].length <= k) TOKENS[of].push("0");
    TOKENS[of][k] = text;
    state[of] = joined(TOKENS[of]);
  }
  update_dot();
}

/// Where b's element of stored product k is: sparse instructions pick it by metadata.
const place_in_b = (answer, k) =>
  answer.group === 1 ? k : Math.floor(k / answer.kept) * answer.group + answer.metadata[k];

function stepped(hex, f, key, shift) {
  const up = key === "ArrowUp";
  if (!shift) return text_of_code(next_code(hex, f, up ? 1 : -1), f);
  const x = decoded(hex, f);
  return f.integer || x.kind !== "finite" ? null : String(number_of(x.value) * (up ? 2 : 0.5));
}

class InputPanel extends Panel {
  inputs(line) {
    const field = (of) => {
      const input = make("input.value", { autocomplete: "off", spellcheck: false });
      input.addEventListener("input", () => set_element(line.line.is_c ? "c" : of, line.index(of), input.value.trim()));
      input.addEventListener("blur", () => line.fill(line.line, this));
      input.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
        event.preventDefault();
        const text = stepped(line.line[of], line.format(of), event.key, event.shiftKey);
        if (text === null) return;
        input.value = text;
        set_element(line.line.is_c ? "c" : of, line.index(of), text);
      });
      return input;
    };
    const a = field("a"), b = field("b"), by = make("span.by", { textContent: "×" });
    line.index = (of) => (of === "b" ? place_in_b(this.answer, line.line.k) : line.line.k);
    line.format = (of) => formats[this.answer.row.shape[line.line.is_c ? "c" : of]];
    line.fill = (now) => {
      const fixed = now.k < 0 && !now.is_c;
      for (const [of, input] of [["a", a], ["b", b]]) {
        input.hidden = now.k < 0 && (of === "b" || fixed);
        if (input.hidden) continue;
        input.ariaLabel = now.is_c ? "c" : `${of} of product ${now.k}`;
        const [hex, value] = now.is_c ? this.answer.c[0] : this.answer[of][line.index(of)];
        input.title = `0x${hex} = ${value}`;
        const x = decoded(hex, line.format(of)), text = (x.kind === "finite" && exact_text(x.value, 12)) || value;
        if (document.activeElement !== input && input.value !== text) input.value = text;
      }
      by.hidden = now.k < 0;
    };
    return [a, by, b];
  }

  /// Dragging the bits to the left doubles the value, column by column.
  make_draggable(line) {
    let from = null;
    line.svg.addEventListener("pointerdown", (event) => {
      if (line.line.k < 0 && !line.line.is_c) return;
      const x = decoded(line.line.a, line.format("a"));
      if (x.kind !== "finite" || x.value.s === 0n) return;
      from = { at: event.clientX, value: number_of(x.value), moved: 0 };
      line.svg.setPointerCapture(event.pointerId);
    });
    line.svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const moved = Math.round((from.at - event.clientX) / this.axis.cell);
      if (moved === from.moved) return;
      from.moved = moved;
      const value = line.format("a").integer ? Math.round(from.value * 2 ** moved) : from.value * 2 ** moved;
      set_element(line.line.is_c ? "c" : "a", line.line.k, String(value));
    });
    for (const end of ["pointerup", "pointercancel"]) line.svg.addEventListener(end, () => { from = null; });
  }
}

/// The exact sum of products and c, D's distance from it, and what of that is alignment's and what rounding's.
function account(answer) {
  const { trace, row: { shape } } = answer;
  const c = decoded(trace.c, formats[shape.c]), d = decoded(trace.d, formats[shape.d]);
  let exact = answer.modifiers & 1 ? ZERO : c.value, cut = ZERO;
  if (c.kind !== "finite" || d.kind !== "finite" || (trace.steps ?? []).some((step) => step.special)) return null;
  for (const step of trace.steps ?? [])
    for (const x of step.addends) {
      if (x.k >= 0) exact = plus(exact, dyadic(x.exact));
      cut = plus(cut, dyadic(x.lost));
    }
  for (const x of trace.products ?? []) exact = plus(exact, { s: BigInt(x.product), e: 0 });
  for (const x of trace.fmas ?? []) {
    const [a, b] = [decoded(x.a, formats.f64), decoded(x.b, formats.f64)];
    if (a.kind !== "finite" || b.kind !== "finite") return null;
    exact = plus(exact, times(a.value, b.value));
  }
  for (const x of (trace.stages ?? []).flatMap((stage) => stage.products)) {
    const [a, b] = [decoded(x.a, formats[shape.a]), decoded(x.b, formats[shape.b])];
    if (a.kind !== "finite" || b.kind !== "finite") return null;
    exact = plus(exact, times(a.value, b.value));
  }
  const error = plus(exact, negated(d.value));
  return { exact, error, cut, staged: Boolean(trace.stages), rounded: plus(error, negated(cut)) };
}

function draw_head(panel, answer, other) {
  const f = formats[answer.row.shape.d], same = !other || other.row.shape.d === answer.row.shape.d;
  const of = account(answer);
  const strip = bit_strip(answer.d[0][0], f, same ? other?.d[0][0] : undefined);
  const line = (name, x) => make("span.part", {}, make("span.soft", { textContent: name + " " }), decimal(x, 16));
  const about = make("p.about");
  if (!of) about.append("An input is NaN or infinite, or D overflows: there is no exact sum to compare with.");
  else if (of.error.s === 0n) about.append("D is the exact sum.");
  else if (f.integer) about.append(line("exact sum", of.exact), line("minus D, which wraps or is clamped:", of.error));
  else if (of.staged) about.append(line("exact sum", of.exact), line("minus D: cut and rounded in the steps", of.error));
  else
    about.append(line("exact sum", of.exact), line("minus D", of.error), line("= cut by alignment", of.cut),
      line("+ rounding", of.rounded));
  panel.head.replaceChildren(
    make("h2", {}, answer.architecture, " ", make("span.soft", { textContent: answer.instruction }),
      answer.stands_in ? make("span.tag", { textContent: "stands in: the GPU lacks the other" }) : "",
      make("span.tag", { textContent: answer.row.evidence, title: answer.row.source })),
    make("p.d", { title: answer.d[0][1] }, make("span.soft", { textContent: "D = " }),
      make("strong", { textContent: value_of(answer.d[0][0], f) }),
      make("code", { textContent: " 0x" + answer.d[0][0].toUpperCase() })),
    strip, about);
}

function draw_answers(answers) {
  const mine = last_answer.d[0][0];
  by_id("answers").replaceChildren("D by GPU:", ...answers.map((x) => {
    const button = make("button", { type: "button", title: `${x.evidence}: compare with ${x.architecture}` },
      make("b", { textContent: x.architecture }), ` ${value_of(x.d, formats[last_answer.row.shape.d])}`);
    button.classList.toggle("other", x.d !== mine);
    button.ariaLabel = `${x.architecture} ${x.value}${x.d === mine ? ", same bits" : ", other bits"}: compare`;
    button.addEventListener("click", () => show_state({ vs: x.architecture, vinst: "" }));
    return button;
  }));
}

const asked = (gpu, inst, stand_in, answers) =>
  call("explain", gpu, inst, state.a, state.b, state.c, state.sa, state.sb, state.meta, state.mod, stand_in, answers);

function update_dot() {
  const start = performance.now();
  const answer = asked(state.gpu, state.inst, "", "1");
  const other = answer.error || !state.vs ? null : asked(state.vs, state.vinst || answer.instruction, "1", "");
  const error = answer.error ?? other?.error ?? "";
  set_text(by_id("error"), error);
  by_id("panels").classList.toggle("stale", Boolean(answer.error));
  for (const key of ["a", "b", "c", "sa", "sb", "meta"])
    if (document.activeElement !== by_id(key)) by_id(key).value = state[key];
  write_address();
  if (answer.error) return;
  last_answer = answer;
  for (const of of ["a", "b"]) TOKENS[of] = words_of(state[of]);
  set_text(by_id("notes"), answer.notes.slice(0, 3).join(" · "));
  by_id("scales").hidden = !answer.row.scale_format;
  by_id("metadata").hidden = answer.group === 1;
  by_id("modifiers").hidden = !answer.takes_modifiers;
  const compared = other && !other.error ? other : null;
  by_id("panels").classList.toggle("two", Boolean(compared));
  panels[1].node.hidden = !compared;
  by_id("vinst-label").hidden = !state.vs;
  const shown = compared ? [answer, compared] : [answer];
  const lines = shown.map((one) => lines_of(one, show_zeros));
  const width = Math.min(...shown.map((_, i) => panels[i].width()));
  const axis = axis_of(lines, width);
  shown.forEach((one, i) => {
    draw_head(panels[i], one, shown[1 - i]);
    panels[i].draw(one, lines[i], axis);
  });
  draw_answers(answer.answers);
  const hidden = lines[0].hidden;
  by_id("zeros").hidden = hidden === 0 && !show_zeros;
  set_text(by_id("zeros"), show_zeros ? "Hide zeros" : `Show ${hidden} product${hidden === 1 ? "" : "s"} of 0 × 0`);
  window.explorer.milliseconds = performance.now() - start;
}

function show_state(change) {
  Object.assign(state, change);
  const moved = change.gpu && !change.inst ? asked(state.gpu, state.inst, "1", "") : {};
  if (moved.stands_in) state.inst = moved.instruction; // a GPU that lacks the one that was shown
  for (const key of ["gpu", "inst", "vs", "vinst"]) by_id(key).value = state[key];
  for (const box of by_id("modifiers").querySelectorAll("input"))
    box.checked = (Number(state.mod) & Number(box.value)) !== 0;
  list_instructions("inst", state.gpu);
  list_instructions("vinst", state.vs || state.gpu);
  update_dot();
}

function list_instructions(id, gpu) {
  const list = by_id(id + "-list");
  if (list.dataset.gpu === gpu) return;
  list.dataset.gpu = gpu;
  const found = catalog.architectures.find((one) => one.name === gpu || one.aliases.includes(gpu.toLowerCase()));
  list.replaceChildren(...(found?.instructions ?? []).map((name) => make("option", { value: name })));
}

function start_dot() {
  panels = [new InputPanel(by_id("panel-1"), true), new Panel(by_id("panel-2"), false)];
  for (const id of ["gpu", "vs"])
    for (const { name, aliases } of catalog.architectures)
      by_id(id).append(make("option", { value: name, textContent: `${name} (${aliases.slice(0, 3).join(", ")})` }));
  for (const key of ["gpu", "inst", "vs", "vinst"])
    by_id(key).addEventListener("change", () => show_state({ [key]: by_id(key).value.trim() }));
  for (const key of ["a", "b", "c", "sa", "sb", "meta"])
    by_id(key).addEventListener("input", () => { state[key] = by_id(key).value; update_dot(); });
  by_id("modifiers").addEventListener("change", () => {
    const boxes = [...by_id("modifiers").querySelectorAll("input:checked")];
    show_state({ mod: String(boxes.reduce((sum, box) => sum + Number(box.value), 0)) });
  });
  by_id("zeros").addEventListener("click", () => { show_zeros = !show_zeros; update_dot(); });
  PRESETS.forEach((preset) => {
    const button = make("button", { type: "button", textContent: preset.name });
    button.addEventListener("click", () => {
      const { name, says, ...change } = preset;
      set_text(by_id("says"), says);
      show_state({ vinst: "", c: "", sa: "", sb: "", meta: "", mod: "0", ...change });
    });
    by_id("presets").append(button);
  });
}
