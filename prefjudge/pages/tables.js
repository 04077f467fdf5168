"use strict";
// Makes tables sortable and filterable, in a report and on the pages of a site: without it all can be read.
// Every text reaches the page as text (append, textContent), never as markup: passages are hostile.
const ROWS = 200;

// ---- elements

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "circle", "text", "defs", "marker", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== ""));
  return made;
}
const many = (count, noun) => {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
};

// ---- tables: rows have texts to look in and keys to sort by

function keyOf(text, numeric) {
  const bare = text.replace(/[$,%°<>\s]/g, "");
  return numeric ? (bare === "" || isNaN(bare) ? null : Number(bare)) : text;
}
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
}
const plain = (text) => text.toLowerCase().replace(/\s+/g, "");
const HOLDS = {"<": (c) => c < 0, "<=": (c) => c <= 0, ">": (c) => c > 0, ">=": (c) => c >= 0, "=": (c) => c === 0};

// `tier=1 score>.5 bert`: what names a column is compared with it, all else is looked for in the row.
function wanted(text, heads) {
  const tests = (text.match(/"[^"]*"|\S+/g) || []).map((word) => {
    const [, head, sign, value] = word.match(/^(.+?)(<=|>=|<|>|=)(.+)$/) || [];
    const column = sign ? heads.findIndex((one) => plain(one.text) === plain(head)) : -1;
    if (column < 0) {
      const part = word.replaceAll('"', "").toLowerCase();
      return (row) => row.text().toLowerCase().includes(part);
    }
    const key = keyOf(value, heads[column].numeric);
    return (row) => {
      const own = row.keys[column];
      if (own === null || key === null) return false;
      const found = typeof own === "string" ? compare(own.toLowerCase(), String(key).toLowerCase()) : compare(own, key);
      return HOLDS[sign](found);
    };
  });
  return (row) => tests.every((test) => test(row));
}

function arrange(table, heads, rows, limit) {
  const body = table.tBodies[0], box = table.closest(".wide");
  let sorted = -1, upwards = true, words = "", shown = limit;
  const said = make("output", {class: "soft"});
  const more = make("button", {type: "button", hidden: true, onclick: () => { shown += 5 * ROWS; draw(); }}, "Show more rows");
  function draw() {
    const fits = words ? rows.filter(wanted(words, heads)) : [...rows];
    if (sorted >= 0) {
      const sign = upwards ? 1 : -1;
      fits.sort((a, b) => {
        const [x, y] = [a.keys[sorted], b.keys[sorted]];
        return x === null || y === null ? compare(x, y) : sign * compare(x, y);
      });
    }
    body.replaceChildren(...fits.slice(0, shown).map((row) => row.element()));
    more.hidden = fits.length <= shown;
    const first = shown < fits.length ? `, the first ${shown.toLocaleString("en")} are shown` : "";
    said.textContent = words ? `${fits.length.toLocaleString("en")} of ${many(rows.length, "row")}${first}` : first.slice(2);
  }
  heads.forEach((head, place) => {
    const button = make("button", {type: "button", class: "sort", onclick: () => {
      upwards = sorted === place ? !upwards : !head.numeric;
      sorted = place;
      heads.forEach((one) => one.cell.removeAttribute("aria-sort"));
      head.cell.setAttribute("aria-sort", upwards ? "ascending" : "descending");
      draw();
    }}, ...head.cell.childNodes);
    head.cell.replaceChildren(button);
  });
  if (rows.length > 7) {
    const name = `Filter: ${table.caption ? table.caption.textContent : ""}`;
    const field = make("input", {type: "search", "aria-label": name, placeholder: `words, or ${heads[heads.length > 1 ? 1 : 0].text}=…`,
      oninput: () => { words = field.value; shown = limit; draw(); }});
    box.before(make("p", {class: "filter"}, field, " ", said));
  }
  box.after(make("p", {class: "filter"}, more));
  if (limit < Infinity) draw();
  addEventListener("beforeprint", () => { if (table.isConnected && !table.closest("[hidden]")) { shown = Infinity; draw(); } });
}

// Tables that are in the page are read once; `opened` makes what a cell of a column leads to, if anything.
function enhance(table, opened) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => ({
    cell, text: cell.textContent.trim(), numeric: cell.classList.contains("right"), kind: cell.dataset.of}));
  const rows = [...table.tBodies[0].rows].map((tr) => {
    const keys = [...tr.cells].map((cell, place) => keyOf(cell.textContent.trim(), heads[place].numeric));
    heads.forEach(({kind}, place) => {
      const made = kind && opened && opened(kind, keys[place]);
      const held = tr.cells[place].querySelector("strong") || tr.cells[place];
      if (made) { made.replaceChildren(...held.childNodes); held.append(made); }
    });
    return {keys, text: () => tr.textContent, element: () => tr};
  });
  if (rows.length > 1 && !table.classList.contains("board")) arrange(table, heads, rows, Infinity);
}
