"use strict";
// Signs in by the code after the # of an address, which no server sees; copies a link, also where no TLS lets a page
// write to the clipboard; and updates the first page while the box is ticked and the page is visible.
(() => {
  const once = document.getElementById("once");
  if (once) {
    once.value = new URLSearchParams(location.hash.slice(1)).get("once") || "";
    history.replaceState(null, "", location.pathname);
    if (once.value) once.form.submit();
  }
  for (const button of document.querySelectorAll("[data-copies]")) {
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copies));
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl and C";
    });
  }
  const live = document.getElementById("live");
  if (!live) return;
  const log = document.getElementById("log");

  const written = (key, value) => {
    if (value === null || value === undefined) return key.startsWith("counts") ? "0" : "–";
    if (key.startsWith("money")) return "$" + Number(value).toLocaleString("en-US", { minimumFractionDigits: 2 });
    return key === "seconds_per_pair" ? value.toFixed(1) : String(value);
  };
  const cell = (text, code) => {
    const box = document.createElement("td");
    if (code) box.append(Object.assign(document.createElement("code"), { textContent: text || "" }));
    else box.textContent = text;
    return box;
  };
  const row = event => {
    const line = document.createElement("tr");
    const at = new Date(event.time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    line.append(cell(at), cell(event.event), cell(event.hit_id, true), cell(event.assignment_id, true), cell(event.worker_id, true));
    return line;
  };

  const refresh = async () => {
    if (!live.checked || document.hidden) return;
    let failed = false;
    try {
      const answer = await fetch("/admin", { headers: { "Accept": "application/json" } });
      const now = await answer.json();
      for (const figure of document.querySelectorAll("[data-key]")) {
        const key = figure.dataset.key;
        const value = key.split(".").reduce((inner, name) => (inner ? inner[name] : undefined), now);
        if (figure.tagName === "PROGRESS") figure.value = value;
        else figure.textContent = written(key, value);
      }
      log.replaceChildren(...now.events.map(row));
    } catch {
      failed = true;
    }
    document.getElementById("fault").hidden = !failed;
  };
  setInterval(refresh, 5000);
})();
