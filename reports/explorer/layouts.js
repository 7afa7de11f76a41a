// Register fragments: which lane and register hold each element, A left, B on top, D where they meet.
const OPERANDS = ["A", "B", "D"];
// Pixels of a cell: its number, of two or three digits, is 10 px high. What is wider than the page scrolls.
const LEAST_CELL = { 1: 14, 2: 14, 3: 20 }, MOST_CELL = 21, CELL_WITHOUT_LANE = 8, MOST_PIXELS = 16e6;
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
  const style = getComputedStyle(document.documentElement);
  const band = style.getPropertyValue("--band"), text = style.getPropertyValue("--text");
  const lanes = OPERANDS.flatMap((name) => maps[name].holders.map((held) => held[0]?.lane ?? -1));
  by_id("layout-shared").hidden = Math.min(...lanes) >= 0;
  const room = Math.floor((by_id("view-fragments").clientWidth - 10) / (maps.A.cols + maps.D.cols));
  const cell = Math.max(LEAST_CELL[String(Math.max(...lanes, 0)).length], Math.min(MOST_CELL, room));
  for (const name of OPERANDS) {
    const map = maps[name], canvas = by_id("map-" + name);
    map.cell = cell;
    map.high = map.holders.some((held) => held.length > 0) ? cell : CELL_WITHOUT_LANE;
    const wide = map.cols * cell, high = map.rows * map.high;
    const scale = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (wide * high)));
    canvas.style.width = wide + "px";
    canvas.style.height = high + "px";
    map.unmarked = document.createElement("canvas");
    for (const one of [canvas, map.unmarked]) {
      one.width = wide * scale;
      one.height = high * scale;
      one.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    }
    draw_cells(map, map.unmarked.getContext("2d"), (row, col, held) => [own_colour(held, band), text]);
  }
  const { scrollWidth, clientWidth } = by_id("maps");
  by_id("layout-wide").hidden = scrollWidth <= clientWidth;
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

/// Lanes are told apart by colour; `none`: of what no lane holds.
const own_colour = (held, none) => (held.length === 0 ? none : `hsl(${(held[0].lane % 32) * 11} 45% 55% / 0.35)`);

/// Draws the cells to which `paint` gives a colour, and one of their number.
function draw_cells(map, pen, paint) {
  const { cell, high } = map;
  pen.font = "10px ui-monospace, monospace";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let row = 0; row < map.rows; ++row)
    for (let col = 0; col < map.cols; ++col) {
      const held = map.holders[row * map.cols + col], [fill, number] = paint(row, col, held);
      if (!fill) continue;
      pen.clearRect(col * cell, row * high, cell, high);
      pen.fillStyle = fill;
      pen.fillRect(col * cell, row * high, cell - 1, high - 1);
      if (held.length === 0) continue;
      pen.fillStyle = number;
      pen.fillText(String(held[0].lane), col * cell + (cell - 1) / 2, row * high + (high - 1) / 2);
    }
}

/// The cells without marks as they were drawn once, and on them what belongs to the chosen element.
function draw_map(name, lanes) {
  const map = maps[name], { cell, high } = map, pen = by_id("map-" + name).getContext("2d");
  const style = getComputedStyle(document.documentElement), colour = (key) => style.getPropertyValue(key);
  const marked = colour("--accent"), back = colour("--page"), met = colour("--met"), text = colour("--text");
  pen.clearRect(0, 0, map.cols * cell, map.rows * high);
  pen.drawImage(map.unmarked, 0, 0, map.cols * cell, map.rows * high);
  const unmarked = [];
  draw_cells(map, pen, (row, col, held) => {
    if (held.some((x) => lanes.has(x.lane))) return [marked, back];
    const along = (name === "A" && row === pointed.row) || (name === "B" && col === pointed.col);
    return pointed.name === "D" && along ? [met, text] : unmarked;
  });
  if (pointed.name !== name) return;
  pen.strokeStyle = text;
  pen.lineWidth = 2;
  pen.strokeRect(pointed.col * cell, pointed.row * high, cell - 1, high - 1);
}

/// Scrolls to the chosen element, where the arrow keys took it out of sight.
function keep_in_sight(canvas) {
  const { cell } = maps[pointed.name], region = by_id("maps"), frame = region.getBoundingClientRect();
  const left = canvas.getBoundingClientRect().left + pointed.col * cell;
  if (left < frame.left) region.scrollLeft -= frame.left - left;
  else if (left + cell > frame.right) region.scrollLeft += left + cell - frame.right;
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
      const box = canvas.getBoundingClientRect(), { cell, high } = maps[name];
      const row = Math.floor((event.clientY - box.top) / high), col = Math.floor((event.clientX - box.left) / cell);
      if (pointed.name !== name || pointed.row !== row || pointed.col !== col) point_at(name, row, col);
    });
    canvas.addEventListener("focus", () => { if (pointed?.name !== name) point_at(name, 0, 0); });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (!move) return;
      event.preventDefault();
      point_at(name, pointed.row + move[0], pointed.col + move[1]);
      keep_in_sight(canvas);
    });
  }
}
