"use strict";
// Checks the answers to a QuestionForm before they are sent. In the frame of a HIT it also gives them to the page
// around it, which keeps them, and restores them after a reload.
(() => {
  const form = document.getElementById("form");
  const controls = group => [...group.querySelectorAll("input, select")];
  const isOther = control => control.type === "text";
  const isChosen = control => (control.type === "radio" || control.type === "checkbox" ? control.checked : control.value.trim() !== "");

  const selections = [...form.querySelectorAll("fieldset[data-most]")];
  const weigh = group => {
    const [least, most] = [Number(group.dataset.least), Number(group.dataset.most)];
    const count = controls(group).filter(isChosen).length;
    const wrong = count ? count < least || count > most : "required" in group.dataset && least > 0;
    const asked = most === 1 ? "Choose one." : least === most ? "Choose {most}." : least ? "Choose {least} to {most}." : "Choose up to {most}.";
    controls(group)[0].setCustomValidity(wrong ? asked.replace("{least}", least).replace("{most}", most) : "");
  };
  // In a question with one answer, a new answer replaces the old one.
  const replace = (group, changed) => {
    if (group.dataset.most !== "1" || !isChosen(changed)) return;
    for (const control of controls(group)) {
      if (isOther(control) === isOther(changed)) continue;
      if (control.type === "radio") control.checked = false;
      else control.value = "";
    }
  };
  const match = control => {
    const patterns = JSON.parse(control.dataset.patterns);
    // as at Mechanical Turk: anywhere in the text, unless the pattern says where
    const fits = ({ regex, flags }) => { try { return new RegExp(regex, flags).test(control.value); } catch { return true; } };
    const missed = patterns.find(pattern => !fits(pattern));
    control.setCustomValidity(missed ? missed.error : "");
  };
  const check = () => {
    selections.forEach(weigh);
    form.querySelectorAll("[data-patterns]").forEach(match);
  };
  form.addEventListener("input", ({ target }) => {
    const group = target.closest("fieldset[data-most]");
    if (group) replace(group, target);
    check();
  });
  check();

  if (parent === window) return;
  addEventListener("message", event => {
    const said = event.data;
    if (event.source !== parent || !said || said.prefjudge !== "restore" || !Array.isArray(said.draft)) return;
    for (const control of form.elements) {
      const values = said.draft.filter(([name]) => name === control.name).map(([, value]) => value);
      if (control.type === "radio" || control.type === "checkbox") control.checked = values.includes(control.value);
      else if (control.type !== "hidden" && values.length) control.value = values[0];
    }
    check();
  });
  form.addEventListener("input", () => {
    parent.postMessage({ prefjudge: "draft", draft: [...new FormData(form)] }, "*");
  });
  parent.postMessage({ prefjudge: "ready" }, "*");
})();
