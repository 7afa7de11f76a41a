// Views, and the start of it all.
const VIEWS = {
  dot: { start: start_dot, update: () => show_state({}) },
  fragments: { start: start_layouts, update: update_layouts },
  formats: { start: start_formats, update: update_formats },
  functions: { start: start_functions, update: update_functions },
  attention: { start: start_attention, update: update_attention },
};

function open_view(view) {
  state.view = Object.hasOwn(VIEWS, view) ? view : "dot";
  for (const name of Object.keys(VIEWS)) {
    by_id("view-" + name).hidden = name !== state.view;
    if (name === state.view) by_id("tab-" + name).setAttribute("aria-current", "page");
    else by_id("tab-" + name).removeAttribute("aria-current");
  }
}

function show_view(view) {
  open_view(view);
  VIEWS[state.view].update();
  write_address();
}

/// For scripts and tests: the model, and how long the last change took.
window.explorer = { call, state, milliseconds: 0 };
window.explorer.show = (change) => {
  Object.assign(state, change);
  show_view(state.view);
};

// The model stands behind this script. Until it answers the fields show the question, and take another one.
const FIELDS = { inst: "inst", vinst: "vinst", a: "a", b: "b", c: "c", sa: "sa", sb: "sb", meta: "meta",
  number: "number", x: "fx", y: "fy", keys: "row-keys", depth: "row-depth", s: "row-s", v: "row-v" };
const CHOICES = ["gpu", "fn", "format", "from", "like"];
read_address();
open_view(state.view);
for (const [key, id] of Object.entries(FIELDS)) by_id(id).value = state[key];
for (const key of CHOICES) by_id(key).append(make("option", { textContent: state[key] }));
const parsed = new Promise((done) => { addEventListener("DOMContentLoaded", done); });
parsed.then(load_model).then(() => {
  for (const [key, id] of Object.entries(FIELDS)) state[key] = by_id(id).value;
  for (const key of CHOICES) by_id(key).replaceChildren();
  for (const [name, view] of Object.entries(VIEWS)) {
    view.start();
    by_id("tab-" + name).addEventListener("click", () => show_view(name));
  }
  show_view(state.view);
  addEventListener("hashchange", () => { read_address(); show_view(state.view); });
  addEventListener("resize", () => VIEWS[state.view].update());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => VIEWS[state.view].update());
  document.documentElement.dataset.ready = "yes";
  window.explorer.ready = performance.now();
}).catch((error) => {
  by_id("error").textContent = `The model does not start: ${error.message} (it needs DecompressionStream).`;
});
