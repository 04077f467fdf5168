"use strict";
// The first script of a HIT's page, in the place of Amazon's script of this name. It defines what that one defines;
// and what the page submits, in whichever way, it hands to the page around it, which sends it and keeps it until it
// has arrived. The page itself may be years old: its form may lead to mturk.com, and its scripts may submit it.
(() => {
  if (window.turkSetAssignmentID) return; // the page names Amazon's script as well
  const asked = new URLSearchParams(location.search);
  const assignment = asked.get("assignmentId") || "";
  const preview = assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
  const working = parent !== window && assignment && !preview;
  const home = new URL(document.currentScript.src).origin; // turkSubmitTo names mturk.com for who insists on it

  window.turkGetParam = (name, otherwise) => asked.get(name) ?? otherwise;
  window.turkGetSubmitToHost = () => asked.get("turkSubmitTo") || "";
  // Amazon's takes the ids of a form and a button; pages also make it an event's handler, and it is given the event.
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

  // The frame has an origin of its own, without cookies or storage, and to ask for them would end the page's script.
  // It finds some that are its own and last as long as it does.
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

  // A form's own fields may be called "action" or "method", and hide its properties; its attributes they cannot hide.
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

  // Without one of its scripts a page may be dead, and whoever works on it would look for a button that is not there.
  const missing = new Set();
  const tellMissing = () => { if (working && missing.size) parent.postMessage({ prefjudge: "missing", hosts: [...missing] }, "*"); };
  addEventListener("error", ({ target }) => {
    if (target.tagName !== "SCRIPT" || !allowed(() => new URL(target.src))) return;
    missing.add(new URL(target.src).host);
    tellMissing();
  }, true);
  addEventListener("load", tellMissing); // by now the page around this one listens

  // Aimed before the page's own handlers run, and handed over after them, unless one of them said no.
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
