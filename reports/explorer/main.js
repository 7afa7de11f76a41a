// Views, and the start of it all.
const VIEWS = {
  dot: { start: start_dot, update: () => show_state({}) },
  fragments: { start: start_layouts, update: update_layouts },
  formats: { start: start_formats, update: update_formats },
  functions: { start: start_functions, update: update_functions },
};

function show_view(view) {
  state.view = Object.hasOwn(VIEWS, view) ? view : "dot";
  for (const name of Object.keys(VIEWS)) {
    by_id("view-" + name).hidden = name !== state.view;
    if (name === state.view) by_id("tab-" + name).setAttribute("aria-current", "page");
    else by_id("tab-" + name).removeAttribute("aria-current");
  }
  VIEWS[state.view].update();
  write_address();
}

/// For scripts and tests: the model, and how long the last change took.
window.explorer = { call, state, milliseconds: 0 };
window.explorer.show = (change) => {
  Object.assign(state, change);
  show_view(state.view);
};

// The model stands behind this script.
const parsed = new Promise((done) => { addEventListener("DOMContentLoaded", done); });
parsed.then(load_model).then(() => {
  read_address();
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
