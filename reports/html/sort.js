"use strict";
{
  // A header cell becomes a button; where scripts don't run, tables are what they were.
  for (const head of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
  }
  const words = new Intl.Collator("en", { numeric: true });
  const number = (text) => {
    if (/^(inf|overflow)/.test(text)) return Infinity;
    return Number.parseFloat(text.replaceAll(",", ""));
  };
  const sort = (head, descending) => {
    const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
    const numeric = head.classList.contains("n");
    const rows = Array.from(body.rows, (row) => {
      const text = row.cells[at].textContent.trim();
      const value = numeric ? number(text) : text;
      return { row, value, missing: numeric ? Number.isNaN(value) : text === "-" };
    });
    // What is missing stays last; equal rows keep their order.
    rows.sort((x, y) => {
      if (x.missing || y.missing) return x.missing - y.missing;
      const order = numeric ? (x.value > y.value) - (x.value < y.value) : words.compare(x.value, y.value);
      return descending ? -order : order;
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows.map((each) => each.row));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("thead button");
    if (button === null) return;
    const head = button.parentElement;
    sort(head, head.getAttribute("aria-sort") === "ascending");
  });
  // Where there are many rows, those that hold every word stay.
  const fewest = 12;
  for (const region of document.querySelectorAll(".scroll")) {
    const rows = Array.from(region.querySelectorAll("tbody tr"));
    if (rows.length <= fewest) continue;
    const [bar, label, field, count] = ["div", "label", "input", "output"].map((name) => document.createElement(name));
    bar.className = "filter";
    field.type = "search";
    field.setAttribute("aria-label", `Filter rows: ${region.getAttribute("aria-label")}`);
    label.append("Filter rows", field);
    bar.append(label, count);
    region.before(bar);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    });
  }
}
