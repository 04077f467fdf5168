"use strict";
// The first script of a HIT's page; it replaces Amazon's script of this name, and defines what that one defines. What
// the page submits, in any way, it gives to the page around it, which sends it and keeps it until it has arrived. The
// page may be years old: its form may lead to mturk.com, and its scripts may submit it.
(() => {
  if (window.turkSetAssignmentID) return; // the page also loads Amazon's script
  const asked = new URLSearchParams(location.search);
  const assignment = asked.get("assignmentId") || "";
  const preview = assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
  const working = parent !== window && assignment && !preview;
  const home = new URL(document.currentScript.src).origin; // turkSubmitTo is mturk.com for pages that insist on it

  window.turkGetParam = (name, otherwise) => asked.get(name) ?? otherwise;
  window.turkGetSubmitToHost = () => asked.get("turkSubmitTo") || "";
  // Amazon's takes the ids of a form and a button; pages also use it as an event handler, so it may get an event.
  window.turkSetAssignmentID = (formId, buttonId) => {
    const named = (id, usual) => document.getElementById(typeof id === "string" ? id : usual);
    const form = named(formId, "mturk_form"), field = named("assignmentId"), button = named(buttonId, "submitButton");
    if (field) field.value = assignment;
    if (form) aim(form);
    if (preview && button) {
      button.disabled = true;
      button[button.tagName === "INPUT" ? "value" : "textContent"] = "Accept this HIT first";
    }
  };

  // The frame has an origin of its own, without cookies or storage, and using them would stop the page's script. It
  // gets substitutes that last as long as the page.
  const allowed = use => { try { use(); return true; } catch { return false; } };
  if (!allowed(() => document.cookie)) Object.defineProperty(document, "cookie", { value: "", writable: true });
  for (const name of ["localStorage", "sessionStorage"]) {
    if (allowed(() => window[name])) continue;
    const held = new Map();
    Object.defineProperty(window, name, { value: {
      getItem: key => held.get(String(key)) ?? null,
      setItem: (key, value) => { held.set(String(key), String(value)); },
      removeItem: key => { held.delete(String(key)); },
      clear: () => held.clear(),
      key: index => [...held.keys()][index] ?? null,
      get length() { return held.size; },
    } });
  }

  // Fields called "action" or "method" hide the form's properties of these names, but not its attributes.
  const leadsOut = (form, button) => {
    const action = (button && button.getAttribute("formaction")) || form.getAttribute("action") || "";
    return allowed(() => new URL(action, location.href)) && new URL(action, location.href).pathname === "/mturk/externalSubmit";
  };
  const aim = (form, button) => {
    for (const name of ["formaction", "formmethod", "formtarget"]) if (button) button.removeAttribute(name);
    form.removeAttribute("target");
    form.setAttribute("action", home + "/mturk/externalSubmit");
    form.setAttribute("method", "post");
    let field = form.querySelector("[name=assignmentId]");
    if (!field) {
      field = Object.assign(document.createElement("input"), { type: "hidden", name: "assignmentId" });
      form.append(field);
    }
    if (!field.value) field.value = assignment;
  };
  const handOver = (form, button) => {
    const fields = [...new FormData(form)].filter(([, value]) => typeof value === "string");
    if (button && button.name) fields.push([button.name, button.value]);
    parent.postMessage({ prefjudge: "submit", fields }, "*");
  };

  if (working) addEventListener("input", () => parent.postMessage({ prefjudge: "typed" }, "*"));

  // Without one of its scripts a page may not work, and the worker would look for a button that is not there.
  const missing = new Set();
  const tellMissing = () => { if (working && missing.size) parent.postMessage({ prefjudge: "missing", hosts: [...missing] }, "*"); };
  addEventListener("error", ({ target }) => {
    if (target.tagName !== "SCRIPT" || !allowed(() => new URL(target.src))) return;
    missing.add(new URL(target.src).host);
    tellMissing();
  }, true);
  addEventListener("load", tellMissing); // by then the page around this one listens

  // Aimed before the page's own handlers run, and handed over after them, unless one of them prevented it.
  addEventListener("submit", ({ target, submitter }) => {
    if (leadsOut(target, submitter)) aim(target, submitter);
  }, true);
  addEventListener("submit", event => {
    if (!working || event.defaultPrevented || !leadsOut(event.target)) return;
    event.preventDefault();
    handOver(event.target, event.submitter);
  });
  const submit = HTMLFormElement.prototype.submit;
  HTMLFormElement.prototype.submit = function () {
    const ours = leadsOut(this);
    if (ours) aim(this);
    if (ours && working) handOver(this);
    else submit.call(this);
  };
})();
