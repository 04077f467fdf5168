"use strict";
(() => {
const $ = id => document.getElementById(id);
const rules = JSON.parse($("rules").textContent);
const words = rules.words;
const asked = new URLSearchParams(location.search);
const assignment = asked.get("assignmentId") || "";
const preview = !assignment || assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
const submitTo = /^https?:\/\//.test(asked.get("turkSubmitTo")) ? asked.get("turkSubmitTo").replace(/\/+$/, "") : "";
const framed = parent !== window;

// The layout is drawn by the assignment's id (FNV-1a), so that the requester can recompute it.
let hash = 0x811c9dc5;
for (const byte of new TextEncoder().encode(assignment)) hash = Math.imul(hash ^ byte, 0x01000193);
const layout = (hash >>> 0) % rules.layouts.length;
const [order, swapped] = rules.layouts[layout];
const written = [...document.querySelectorAll("dt")].map((query, i) => {
  const first = query.nextElementSibling;
  const sides = [first, first.nextElementSibling];
  return { name: query.id, query: query.textContent.trim(), sides: swapped[i] ? sides.reverse() : sides };
});
const slots = order.map(i => written[i]);

// The worker's answers: saved as a draft after each step, so that a reload loses nothing. A sandboxed frame has no
// storage of its own, and gives the draft to the page around it.
let state = { consent: false, at: 0, answers: {}, strengths: {}, ms: {} };
const draftKey = "prefjudge:" + assignment;
const tell = (kind, draft) => { if (framed) parent.postMessage({ prefjudge: kind, draft }, "*"); };
const save = () => {
  tick();
  tell("draft", state);
  try { localStorage.setItem(draftKey, JSON.stringify(state)); } catch {}
};
const restore = old => {
  if (!old || !old.consent || state.consent || preview) return;
  state.consent = true;
  for (const slot of slots) {
    const choice = (old.answers || {})[slot.name];
    if (choice === "tie" ? rules.ties : slot.sides.some(side => side.id === choice)) state.answers[slot.name] = choice;
    for (const part of ["strengths", "ms"]) if (old[part] && old[part][slot.name] > 0) state[part][slot.name] = +old[part][slot.name];
  }
  state.at = Math.min(Math.max(0, Math.trunc(old.at) || 0), slots.length);
  step(state.at);
};

// The clock of the pair on the screen runs only while the page is visible.
let timed = "", since = 0;
const tick = () => {
  const now = performance.now();
  if (timed && since) state.ms[timed] = (state.ms[timed] || 0) + now - since;
  since = document.visibilityState === "visible" ? now : 0;
};
document.addEventListener("visibilitychange", () => (document.hidden && state.consent ? save() : tick()));

const radios = name => [...document.getElementsByName(name)];
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
const done = () => slots.filter(complete).length;
const complete = slot => slot.name in state.answers && (!rules.strengths || state.answers[slot.name] === "tie" || slot.name in state.strengths);
const show = (name, pair) => {
  tick();
  timed = pair ? pair.name : "";
  for (const section of document.querySelectorAll("section")) section.hidden = section.id !== name;
  $("alert").textContent = "";
  scrollTo(0, 0);
  document.querySelector("#" + name + " h1").focus();
};
const step = to => {
  state.at = to;
  if (to >= slots.length) return show("done");
  const slot = slots[to];
  $("place").textContent = fill(words.place, { n: to + 1, all: slots.length });
  $("bar").value = done();
  $("query").textContent = slot.query;
  slot.sides.forEach((side, i) => { $("text" + i).textContent = side.textContent; });
  $("back").hidden = !to;
  mark();
  show("judge", slot);
};
const mark = () => {
  const slot = slots[state.at], choice = state.answers[slot.name];
  radios("choice").forEach(radio => { radio.checked = choice !== undefined && choice === named(slot, +radio.value); });
  radios("strength").forEach(radio => { radio.checked = +radio.value === state.strengths[slot.name]; });
  if (rules.strengths) $("strength").hidden = !choice || choice === "tie";
  $("status").textContent = choice ? fill(words.chosen, { choice: choice === "tie" ? words.tie : words.passage + " " + (slot.sides[0].id === choice ? 1 : 2) }) : "";
};
const named = (slot, side) => (side === 2 ? "tie" : slot.sides[side].id);
const choose = side => {
  const slot = slots[state.at];
  state.answers[slot.name] = named(slot, side);
  if (side === 2) delete state.strengths[slot.name];
  mark();
  $("bar").value = done();
  save();
};
const next = () => {
  if (!complete(slots[state.at])) { $("status").textContent = words.first; return; }
  step(state.at + 1);
  save();
};
const back = () => { if (state.at) { step(state.at - 1); save(); } };
const leave = () => {
  show("leave");
  $("quit").hidden = !done();
  $("due").textContent = fill(done() ? words.due : words.none, { n: done(), all: slots.length, sum: rules.shares[done()] });
};

let warned = false, sent = false;
const send = stopped => {
  if (sent) return;
  tick();
  if (!navigator.onLine && !warned) { warned = true; $("alert").textContent = words.offline; return; }
  sent = true;
  const fields = { assignmentId: assignment, consent: "yes", layout };
  if (stopped) fields.stopped = 1;
  for (const slot of slots.filter(complete)) {
    fields[slot.name] = state.answers[slot.name];
    fields[slot.name + ".ms"] = Math.round(state.ms[slot.name] || 0);
    if (slot.name in state.strengths) fields[slot.name + ".strength"] = state.strengths[slot.name];
  }
  const form = $("form");
  form.action = submitTo + "/mturk/externalSubmit";
  form.replaceChildren(...Object.entries(fields).map(([name, value]) => Object.assign(document.createElement("input"), { type: "hidden", name, value })));
  form.submit();
};
addEventListener("pageshow", () => { sent = false; });

$("begin").onclick = () => { state.consent = true; step(state.at); save(); };
$("next").onclick = next;
$("back").onclick = $("again").onclick = back;
$("stop").onclick = leave;
$("stay").onclick = () => step(state.at);
$("quit").onclick = () => send(true);
$("send").onclick = () => send(false);
radios("choice").forEach(radio => { radio.onchange = () => choose(+radio.value); });
radios("strength").forEach(radio => { radio.onchange = () => { state.strengths[slots[state.at].name] = +radio.value; save(); }; });
document.querySelectorAll(".card").forEach((card, side) => {
  card.onclick = event => { if (!event.target.closest("label") && !String(getSelection())) choose(side); };
});
addEventListener("keydown", event => {
  if (!state.consent || !$("keys").checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const on = event.target, judging = !$("judge").hidden, finished = !$("done").hidden;
  const side = { ArrowLeft: 0, ArrowRight: 1, 1: 0, 2: 1, 0: rules.ties ? 2 : undefined }[event.key];
  if (judging && side !== undefined && !(on.name === "strength" && event.key.startsWith("Arrow"))) {
    choose(side);
    if (on.name === "choice") radios("choice")[side].focus();
  } else if (event.key === "Enter" && !event.repeat && (judging || finished) && !on.closest("button, summary, [type=checkbox]")) {
    if (judging) next(); else send(false);
  } else if (event.key === "Backspace" && (judging || finished)) back();
  else return;
  event.preventDefault();
});
addEventListener("message", event => {
  if (framed && event.source === parent && event.data && event.data.prefjudge === "restore") restore(event.data.draft);
});

$("preview").hidden = !preview;
$("agree").hidden = preview;
$("help").textContent = $("how").textContent;
$("back").textContent = $("again").textContent = words.back;
try { restore(JSON.parse(localStorage.getItem(draftKey))); } catch {}
tell("ready");
})();
