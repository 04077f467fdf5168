"use strict";
// Gives what is filled in to the page around the form, which keeps it, and takes it back after a reload.
(() => {
  const form = document.querySelector("form");
  if (parent === window) return;
  addEventListener("message", event => {
    const said = event.data;
    if (event.source !== parent || !said || said.prefjudge !== "restore" || !Array.isArray(said.draft)) return;
    for (const control of form.elements) {
      const values = said.draft.filter(([name]) => name === control.name).map(([, value]) => value);
      if (control.type === "radio" || control.type === "checkbox") control.checked = values.includes(control.value);
      else if (control.type !== "hidden" && values.length) control.value = values[0];
    }
  });
  form.addEventListener("input", () => {
    parent.postMessage({ prefjudge: "draft", draft: [...new FormData(form)] }, "*");
  });
  parent.postMessage({ prefjudge: "ready" }, "*");
})();
