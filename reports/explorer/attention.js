// One row of fused attention: scores, the running maximum and P over the blocks of keys, in the kernel's order.
const ROWS = [
  { name: "FA4's E4M3 saturates", like: "fa4-e4m3", keys: "512", s: "0,0,0,0,0,0,20,0,0,0,31,0,0,0,0,0", v: "1,0.5,-1,0.25",
    says: "The maximum stays while it would rise by at most 4 units of log2, and P has an offset of 2^8: it reaches 2^12, " +
      "but E4M3 ends at 448." },
  { name: "… mended", like: "fa4-e4m3-mended", keys: "512", s: "0,0,0,0,0,0,20,0,0,0,31,0,0,0,0,0", v: "1,0.5,-1,0.25",
    says: "Offset 4 and threshold 4: P reaches 2^8, and nothing is cut off." },
  { name: "What rounding P loses", like: "bf16", keys: "128", s: "3,-1,4,1,-5,9,2,-6,5,3,-5,8", v: "1,-1,1,-1,1,-1,1,-1",
    says: "P has 8 bits for PV, and all of them in the row's sum: the weights no longer add up to 1." },
  { name: "A late maximum", like: "torch-flash", keys: "512", s: "40,0,0,0,8,0,16,0,12,0,20,0,9,0,7,0", v: "1,2",
    says: "The kernel takes the blocks from the last one on. The first block of keys raises the maximum at the end, and all " +
      "that was summed before is rescaled." },
];
let attended = {};

const few = (x) => (x === null ? "not finite" : x === 0 ? "0" : shortened(x, 4));
const HIGH = 130, LEFT = 52;

/// Where a number is drawn: x by key, y in a band that begins at `top`.
function places(answer, wide) {
  const keys = answer.scores.length, x = (key) => LEFT + (wide - LEFT - 12) * key / keys;
  const band = (values, top, least = -Infinity) => {
    const finite = values.filter((value) => value !== null && value > least);
    const low = Math.min(...finite, 0), high = Math.max(...finite, low + 1);
    return { low, high, top, y: (value) => top + HIGH - (Math.max(value, low) - low) / (high - low) * HIGH };
  };
  return { keys, x, band };
}

/// Bars of [from, to) over the keys; runs of equal bars are one.
function bars(kind, pairs, x, y) {
  let d = "";
  for (let i = 0, end; i < pairs.length; i = end) {
    const [from, to] = pairs[i];
    for (end = i + 1; end < pairs.length && pairs[end][0] === from && pairs[end][1] === to;) ++end;
    if (from !== to) d += `M${x(i).toFixed(2)} ${y(from).toFixed(1)}V${y(to).toFixed(1)}H${x(end).toFixed(2)}V${y(from).toFixed(1)}Z`;
  }
  return make_svg("path", { class: kind, d });
}

function draw_row() {
  const answer = call("attention", state.like, state.keys, state.depth, state.s, state.v), svg = by_id("row");
  set_text(by_id("row-error"), answer.error ?? "");
  set_text(by_id("row-notes"), (answer.notes ?? []).join(" "));
  write_address();
  if (answer.error) return;
  attended = answer;
  const wide = Math.max(240, svg.getBoundingClientRect().width), { keys, x, band } = places(answer, wide);
  const unit = answer.scale * Math.LOG2E, maxima = answer.blocks.map((one) => one.maximum / unit);
  const s = band([...answer.scores, ...maxima], 16), log = (p) => (p > 0 ? Math.log2(p) : -Infinity);
  const p = band([...answer.weights, ...answer.rounded].map(log), HIGH + 52, -40), floor = p.low;
  Object.assign(attended, { s, wide });
  const axis = ({ low, high, y }, text) => [low, high].flatMap((value) => [
    make_svg("path", { class: "grid", d: `M${LEFT} ${y(value)}H${x(keys)}` }),
    make_svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, text(value))]);
  const kept = answer.weights.map((each, i) => [floor, log(Math.min(each, answer.rounded[i]))]);
  const apart = answer.weights.map((each, i) => [log(each), log(answer.rounded[i])].sort((a, b) => a - b));
  svg.setAttribute("viewBox", `0 0 ${wide} ${2 * HIGH + 74}`);
  svg.replaceChildren(...axis(s, few), ...axis(p, (value) => `2^${shortened(value, 2)}`),
    make_svg("text", { x: LEFT, y: 11 }, "scores S, by key, and the running maximum"),
    make_svg("text", { x: LEFT, y: HIGH + 47 }, `P before PV; orange: what ${answer.p} loses or adds`),
    bars("kept1", answer.scores.map((each) => [s.low, each]), x, s.y),
    bars("kept1", kept, x, p.y), bars("lost1", apart, x, p.y),
    ...answer.blocks.flatMap((one, i) => [
      make_svg("path", { class: "cut", d: `M${x(one.first)} 16V${2 * HIGH + 52}` }),
      make_svg("path", { class: "maximum", d: `M${x(one.first)} ${s.y(maxima[i])}H${x(one.last + 1)}` }),
      ...(x(one.last + 1) - x(one.first) < 24 ? []
        : [make_svg("text", { x: (x(one.first) + x(one.last + 1)) / 2, y: 2 * HIGH + 68, "text-anchor": "middle" }, `${i + 1}`)])]));
  const off = answer.o_value === null ? null : answer.o_value - answer.exact;
  by_id("row-about").replaceChildren(make("span.soft", { textContent: "O" }), make("strong", { textContent: few(answer.o_value) }),
    make("code", { textContent: "0x" + answer.o.toUpperCase() }), ...[`exact ${few(answer.exact)}`, `error ${few(off)}`,
      `row sum ${few(answer.sum)}`, `lse ${few(answer.lse)}`].map((textContent) => make("span.soft", { textContent })));
  set_text(by_id("row-plan"), `${answer.plan}. Known: ${answer.evidence}; ${answer.source}.`);
  by_id("row-blocks").replaceChildren(...answer.blocks.map((one, i) => make("tr", {},
    make("th", { scope: "row", textContent: `${i + 1}` }),
    ...[`${one.first}–${one.last}`, few(one.largest), few(one.maximum), i === 0 ? "–" : few(one.rescale), few(one.sum), few(one.most),
      one.saturated, one.flushed].map((textContent) => make("td", { textContent })))));
}

/// The pointer draws: the number at its key becomes its height.
function draw_score(event) {
  const { s, wide } = attended, words = words_of(state.s), box = by_id("row").getBoundingClientRect();
  const part = (event.clientX - box.left - LEFT) / (wide - LEFT - 12), at = event.clientY - box.top;
  if (part < 0 || part >= 1 || at > s.top + HIGH + 20) return;
  const value = s.low + (s.top + HIGH - at) / HIGH * (s.high - s.low), step = 2 ** Math.round(Math.log2((s.high - s.low) / 64));
  words[Math.floor(part * words.length)] = String(Math.round(value / step) * step);
  state.s = by_id("row-s").value = words.join();
  draw_row();
}

function start_attention() {
  const { attentions } = call("attentions");
  by_id("like").replaceChildren(...attentions.map(({ name, type, evidence }) =>
    make("option", { value: name, textContent: `${name} (${type}; ${evidence})` })));
  for (const [key, id] of Object.entries(ROW_FIELDS))
    by_id(id).addEventListener("input", () => { state[key] = by_id(id).value; draw_row(); });
  by_id("row-examples").append(...ROWS.map(({ name, says, ...numbers }) => {
    const button = make("button", { type: "button", textContent: name });
    button.addEventListener("click", () => {
      Object.assign(state, { depth: DEFAULTS.depth, ...numbers });
      set_text(by_id("row-says"), says);
      update_attention();
    });
    return button;
  }));
  const svg = by_id("row");
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); draw_score(event); });
  svg.addEventListener("pointermove", (event) => { if (event.buttons) draw_score(event); });
}

const ROW_FIELDS = { like: "like", keys: "row-keys", depth: "row-depth", s: "row-s", v: "row-v" };

function update_attention() {
  for (const [key, id] of Object.entries(ROW_FIELDS)) by_id(id).value = state[key];
  draw_row();
}
