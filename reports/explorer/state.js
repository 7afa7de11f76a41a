// What the page shows, kept in the address so that a link shows the same.
const DEFAULTS = {
  view: "dot", gpu: "hopper", inst: "wgmma.m64nNk32.f32.e4m3.e4m3", vs: "", vinst: "", a: "448,0,0,0,0,0.140625",
  b: "1,0,0,0,0,0.375", c: "", sa: "", sb: "", meta: "", mod: "0", format: "e4m3", code: "", number: "0.1", from: "f32",
  round: "rn", sat: "", fn: "ex2.approx.f32", x: "0.3", y: "3",
  like: "fa4-e4m3", keys: "512", depth: "128", s: "0,0,0,0,0,0,20,0,0,0,31,0,0,0,0,0", v: "1,0.5,-1,0.25",
};
const state = { ...DEFAULTS };

const separators = /[\s,;[\](){}|]+/;
const words_of = (text) => text.split(separators).filter((word) => word !== "");
/// A list without the zeros at its end.
const joined = (words) => words.map((word) => word || "0").join(",").replace(/(,(\+?0|0x0+))+$/, "");

function read_address() {
  const given = new URLSearchParams(location.hash.slice(1));
  // The numbers of the first example go with its instruction.
  const started = !["inst", "a", "b"].some((key) => given.has(key));
  for (const key of Object.keys(DEFAULTS))
    state[key] = given.get(key) ?? (started && ["a", "b"].includes(key) ? DEFAULTS[key] : "");
  for (const key of ["view", "gpu", "inst", "mod", "format", "number", "from", "round", "fn", "x", "y", "like", "keys", "depth", "s", "v"])
    state[key] ||= DEFAULTS[key];
}

let address_timer = 0;
function write_address() {
  clearTimeout(address_timer);
  address_timer = setTimeout(() => {
    const given = new URLSearchParams();
    for (const [key, value] of Object.entries(state))
      if (value !== "" && (value !== DEFAULTS[key] || ["inst", "a", "b"].includes(key))) given.set(key, value);
    const text = given.toString().replaceAll("%2C", ",").replaceAll("%5E", "^");
    history.replaceState(null, "", "#" + text);
  }, 150);
}
