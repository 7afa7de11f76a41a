// Register fragments: which lane and register hold each element, A left, B on top, D where they meet.
const OPERANDS = ["A", "B", "D"];
let maps = {}, pointed = null;

function update_layouts() {
  const answer = call("layout", state.inst, state.gpu), known_of = answer.known_of ?? [];
  maps = {};
  set_text(by_id("layout-error"), answer.error ?? "");
  set_text(by_id("layout-known"), answer.known ? `PTX leaves the fragments of wmma open. ${answer.architecture}, ` +
    `${answer.evidence}: ${answer.known}. A lies in memory by rows, B by columns, D by rows.` : "");
  by_id("layout-gpu-label").hidden = known_of.length === 0;
  const chosen = answer.architecture ?? "";
  by_id("layout-gpu").replaceChildren(...["", ...known_of].filter((name) => name || !chosen).map((name) =>
    make("option", { value: name, textContent: name || "choose one", selected: name === chosen })));
  by_id("fragments").hidden = Boolean(answer.error);
  if (by_id("layout-inst").value !== state.inst) by_id("layout-inst").value = state.inst;
  write_address();
  for (const one of answer.operands ?? []) {
    const holders = Array.from({ length: one.rows * one.cols }, () => []);
    one.row_col_by_lane_and_value.forEach((values, lane) =>
      values.forEach(([row, col], value) => holders[row * one.cols + col].push({ lane, value })));
    maps[one.operand] = { ...one, holders };
  }
  if (answer.error) return;
  const wide = by_id("view-fragments").clientWidth - 24;
  const cell = Math.max(8, Math.min(20, Math.floor(wide / (maps.A.cols + maps.D.cols))));
  for (const name of OPERANDS) {
    const map = maps[name], canvas = by_id("map-" + name), scale = devicePixelRatio || 1;
    map.cell = cell;
    canvas.style.width = map.cols * cell + "px";
    canvas.style.height = map.rows * cell + "px";
    canvas.width = map.cols * cell * scale;
    canvas.height = map.rows * cell * scale;
    canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
  }
  point_at("D", 0, 0);
}

/// Marks an element, with all that its lane holds; of D also the row of A and the column of B that make it.
function point_at(name, row, col) {
  const map = maps[name];
  pointed = { name, row: Math.max(0, Math.min(map.rows - 1, row)), col: Math.max(0, Math.min(map.cols - 1, col)) };
  const held = map.holders[pointed.row * map.cols + pointed.col];
  const each = map.values_per_register, wide = Math.round(32 / each);
  const where = held.map(({ lane, value }) => `lane ${lane}, register ${Math.floor(value / each)}` +
    (each > 1 ? `, bits ${(value % each) * wide} to ${(value % each) * wide + wide - 1}` : ""));
  const place = where.join("; ") || "in shared memory, held by no lane";
  set_text(by_id("held"), `${name}[${pointed.row}][${pointed.col}] (${map.format}): ${place}`);
  for (const each_name of OPERANDS) draw_map(each_name, new Set(held.map((x) => x.lane)));
}

function draw_map(name, lanes) {
  const map = maps[name], { cell } = map, canvas = by_id("map-" + name), pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement), colour = (key) => style.getPropertyValue(key);
  const marked = colour("--accent"), back = colour("--page"), text = colour("--text"), met = colour("--met");
  pen.clearRect(0, 0, map.cols * cell, map.rows * cell);
  pen.font = "9px ui-monospace, monospace";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let row = 0; row < map.rows; ++row)
    for (let col = 0; col < map.cols; ++col) {
      const held = map.holders[row * map.cols + col], mine = held.some((x) => lanes.has(x.lane));
      const along = (name === "A" && row === pointed.row) || (name === "B" && col === pointed.col);
      const meets = pointed.name === "D" && along;
      const lane = held[0]?.lane;
      const own = lane === undefined ? colour("--band") : `hsl(${(lane % 32) * 11} 45% 55% / 0.35)`;
      pen.fillStyle = mine ? marked : meets ? met : own;
      pen.fillRect(col * cell, row * cell, cell - 1, cell - 1);
      if (lane === undefined || cell < 15) continue;
      pen.fillStyle = mine ? back : text;
      pen.fillText(String(lane), col * cell + cell / 2, row * cell + cell / 2);
    }
  if (pointed.name !== name) return;
  pen.strokeStyle = text;
  pen.lineWidth = 2;
  pen.strokeRect(pointed.col * cell, pointed.row * cell, cell - 1, cell - 1);
}

function start_layouts() {
  by_id("layout-inst").addEventListener("change", () => {
    state.inst = by_id("layout-inst").value.trim();
    update_layouts();
  });
  by_id("layout-gpu").addEventListener("change", () => {
    state.gpu = by_id("layout-gpu").value || state.gpu;
    update_layouts();
  });
  for (const name of OPERANDS) {
    const canvas = by_id("map-" + name);
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(), { cell } = maps[name];
      point_at(name, Math.floor((event.clientY - box.top) / cell), Math.floor((event.clientX - box.left) / cell));
    });
    canvas.addEventListener("focus", () => { if (pointed?.name !== name) point_at(name, 0, 0); });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (!move) return;
      event.preventDefault();
      point_at(name, pointed.row + move[0], pointed.col + move[1]);
    });
  }
}
