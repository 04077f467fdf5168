"use strict";
// A line with "two" at its end is for pages of pairs, and one with "more" before it for those of several passages.
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
//more const passages = [...$("slots").querySelectorAll("dd")];
const written = [...$("slots").querySelectorAll("dt")].map((query, i) => {
  const first = query.nextElementSibling; //two
  const sides = [first, first.nextElementSibling]; //two
  //more const two = [swapped[i], 1 - swapped[i]], turn = swapped[i].map ? swapped[i] : two;
  //more const all = passages.splice(0, turn.length), sides = turn.map(place => all[place]);
  //more return { name: query.id, query: query.textContent.trim(), sides };
  return { name: query.id, query: query.textContent.trim(), sides: swapped[i] ? sides.reverse() : sides }; //two
});
const slots = order.map(i => written[i]);

// Practice comes before the first comparison, at the places below 0, and only once. Nothing of it is submitted.
const lessons = rules.practice.map(([query, good, bad, why], i) => {
  const sides = [{ id: "good", textContent: good }, { id: "bad", textContent: bad }];
  return { name: "practice" + i, query, why, sides: (hash >>> (i % 32)) & 1 ? sides.reverse() : sides };
});
const at = place => (place < 0 ? lessons[lessons.length + place] : slots[place]);

// The worker's answers: saved as a draft after each step, so that a reload loses nothing. A sandboxed frame has no
// storage of its own, and gives the draft to the page around it.
let state = { of: assignment, consent: false, at: 0, answers: {}, strengths: {}, ms: {}, comments: {}, remark: "" };
const draftKey = "prefjudge:" + assignment;
const tell = (kind, more) => { if (framed) parent.postMessage({ prefjudge: kind, ...more }, "*"); };
const save = () => {
  tick();
  tell("draft", { draft: state });
  try { localStorage.setItem(draftKey, JSON.stringify(state)); } catch {}
};
const restore = old => {
  if (!old || !old.consent || Object.keys(state.answers).length || preview) return;
  state.consent = true;
  for (const slot of slots) {
    const choice = old.answers?.[slot.name];
    if (choice === "tie" ? rules.ties : rules.unable.includes(choice) || sided(slot, choice)) state.answers[slot.name] = choice;
    if (old.comments?.[slot.name]) state.comments[slot.name] = String(old.comments[slot.name]);
    for (const part of old.of === assignment ? ["strengths", "ms"] : ["strengths"]) if (old[part]?.[slot.name] > 0) state[part][slot.name] = +old[part][slot.name];
  }
  state.remark = String(old.remark || "");
  step(Math.min(Math.max(-lessons.length, Math.trunc(old.at) || 0), slots.length));
};
// Who has agreed to the same page before is not asked again: the page around this one says so, or this browser.
const agreedKey = "prefjudge:" + (asked.get("workerId") || "") + ":" + rules.agreement;
const agreed = all => {
  if (preview || state.consent || !all.includes(rules.agreement)) return;
  state.consent = true;
  step(0);
};

// The clock of the pair on the screen runs only while the page is visible.
let timed = "", since = 0, known = false;
const tick = () => {
  const now = performance.now();
  if (timed && since) state.ms[timed] = (state.ms[timed] || 0) + now - since;
  since = document.visibilityState === "visible" ? now : 0;
};
document.addEventListener("visibilitychange", () => (document.hidden && state.consent ? save() : tick()));

const radios = name => [...document.getElementsByName(name)];
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
const done = () => slots.filter(complete).length;
const sided = (slot, choice) => slot.sides.some(side => side.id === choice);
const graded = slot => rules.strengths && !slot.why && sided(slot, state.answers[slot.name]);
const complete = slot => slot.name in state.answers && (!graded(slot) || slot.name in state.strengths);
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
  $("help").append($("about"));
  if (to >= 0 && !known) {
    known = true;
    tell("agreed", { page: rules.agreement });
    try { localStorage.setItem(agreedKey, "1"); } catch {}
  }
  if (to >= slots.length) {
    if ($("remark")) $("remark").value = state.remark;
    return show("done");
  }
  const slot = at(to);
  $("place").textContent = to < 0 ? fill(words.practice, { n: lessons.length + to + 1, all: lessons.length }) : fill(words.place, { n: to + 1, all: slots.length });
  $("bar").value = done();
  $("query").textContent = slot.query;
  //more shown = slot.sides.length;
  //more cards.forEach((card, i) => { card.hidden = i >= shown; });
  slot.sides.forEach((side, i) => { $("text" + i).textContent = side.textContent; });
  $("back").hidden = !to || to === -lessons.length;
  $("stop").hidden = to < 0;
  mark();
  show("judge", slot);
  label();
};
const mark = () => {
  const slot = at(state.at), choice = state.answers[slot.name];
  radios("choice").forEach(radio => { radio.checked = choice !== undefined && choice === named(slot, +radio.value); });
  radios("strength").forEach(radio => { radio.checked = +radio.value === state.strengths[slot.name]; });
  if (rules.strengths) $("strength").hidden = !graded(slot);
  if ($("more")) $("more").hidden = slot.why;
  if ($("unable")) $("unable").value = rules.unable.includes(choice) ? choice : "";
  if ($("comment")) $("comment").value = state.comments[slot.name] || "";
  $("why").hidden = !slot.why || !choice;
  $("why").textContent = slot.why && choice ? (choice === "good" ? words.right : words.wrong) + " " + slot.why : "";
  //more const place = 1 + slot.sides.findIndex(side => side.id === choice);
  //more $("status").textContent = choice ? fill(words.chosen, { choice: place ? words.passage + " " + place : words.unable }) : "";
  $("status").textContent = choice ? fill(words.chosen, { choice: choice === "tie" ? words.tie : sided(slot, choice) ? words.passage + " " + (slot.sides[0].id === choice ? 1 : 2) : words.unable }) : ""; //two
};
const named = (slot, side) => (side === 2 ? "tie" : slot.sides[side].id); //two
//more const named = (slot, side) => slot.sides[side]?.id;
const choose = side => answer(named(at(state.at), side));
const answer = choice => {
  const slot = at(state.at);
  state.answers[slot.name] = choice;
  if (!choice) delete state.answers[slot.name];
  if (!graded(slot)) delete state.strengths[slot.name];
  mark();
  $("bar").value = done();
  save();
};
const next = () => {
  if (!complete(at(state.at))) { $("status").textContent = words.first; return; }
  step(state.at + 1);
  save();
};
const back = () => { if (state.at && state.at > -lessons.length) { step(state.at - 1); save(); } };
const leave = () => {
  show("leave");
  $("quit").hidden = !done();
  $("due").textContent = fill(done() ? words.due + " " + words.owed : words.none, { n: done(), all: slots.length, sum: rules.shares[done()] });
};

let warned = false, sent = false;
const send = stopped => {
  if (sent) return;
  tick();
  if (!navigator.onLine && !warned) { warned = true; $("alert").textContent = words.offline; return; }
  sent = true;
  const fields = { assignmentId: assignment, consent: "yes", layout };
  if (stopped) {
    fields.stopped = 1;
    if (rules.shares.length) fields.pay = rules.shares[done()].replace("$", "");
  }
  if (state.remark) fields.comment = state.remark;
  for (const slot of slots) if (state.comments[slot.name]) fields[slot.name + ".comment"] = state.comments[slot.name];
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

$("begin").onclick = () => { state.consent = true; step(-lessons.length); save(); };
$("next").onclick = next;
$("back").onclick = $("again").onclick = back;
$("stop").onclick = leave;
$("stay").onclick = () => step(state.at);
$("quit").onclick = () => send(true);
$("send").onclick = () => send(false);
radios("choice").forEach(radio => { radio.onchange = () => choose(+radio.value); });
radios("strength").forEach(radio => { radio.onchange = () => { state.strengths[slots[state.at].name] = +radio.value; save(); }; });
const cards = document.querySelectorAll(".card");
//more let shown = 0;
cards.forEach((card, side) => {
  card.onclick = event => { if (!event.target.closest("label") && !String(getSelection())) choose(side); };
});
if ($("unable")) $("unable").onchange = () => answer($("unable").value);
if ($("comment")) {
  $("comment").onchange = () => { state.comments[at(state.at).name] = $("comment").value; save(); };
  $("remark").onchange = () => { state.remark = $("remark").value; save(); };
}
// On a narrow screen the passages are below each other: a button leads to the one that is out of sight.
const away = () => +(cards[1].getBoundingClientRect().top > innerHeight / 2); //two
const label = () => { $("jump").textContent = words.passage + " " + (away() ? "2 ↓" : "1 ↑"); }; //two
//more const away = () => Math.max(0, Array.from(cards).slice(0, shown).findIndex(card => card.getBoundingClientRect().top > innerHeight / 2));
//more const label = () => { $("jump").textContent = words.passage + " " + (1 + away()) + (away() ? " ↓" : " ↑"); };
$("jump").onclick = () => { cards[away()].scrollIntoView(); label(); };
addEventListener("scroll", label);
addEventListener("keydown", event => {
  if (!state.consent || !$("keys").checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("select, textarea")) return;
  const on = event.target, judging = !$("judge").hidden, finished = !$("done").hidden;
  const side = { ArrowLeft: 0, ArrowRight: 1, 1: 0, 2: 1, 0: rules.ties ? 2 : undefined }[event.key]; //two
  //more const side = event.key > 0 && event.key <= shown ? event.key - 1 : undefined;
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
  if (!framed || event.source !== parent || !event.data || event.data.prefjudge !== "restore") return;
  restore(event.data.draft);
  if (Array.isArray(event.data.agreed)) agreed(event.data.agreed);
});

// The site around this page tells where nobody is paid, such as among colleagues in a sandbox.
if (asked.get("unpaid")) { $("pay").hidden = true; words.owed = ""; }
$("preview").hidden = !preview;
$("begin").hidden = preview;
$("back").textContent = $("again").textContent = words.back;
try {
  restore(JSON.parse(localStorage.getItem(draftKey)));
  if (localStorage.getItem(agreedKey)) agreed([rules.agreement]);
} catch {}
tell("ready");
})();
