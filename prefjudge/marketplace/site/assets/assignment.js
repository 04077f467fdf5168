"use strict";
// The page around a HIT: it counts down, keeps the frame's drafts, and goes on when the HIT is submitted.
// The frame has an origin of its own and can neither store anything nor call this server itself.
(() => {
  const frame = document.getElementById("frame");
  const { assignment, csrf } = frame.dataset;
  const address = "/assignments/" + assignment;
  const said = (id, text) => { document.getElementById(id).textContent = text; };

  // Drafts. The newest one is kept in this browser until the server has it.
  const key = "draft:" + assignment;
  let waiting = null, sending = false;
  const unsaved = () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const hold = draft => { try { localStorage.setItem(key, JSON.stringify(draft)); } catch { /* private browsing */ } };
  const letGo = () => { try { localStorage.removeItem(key); } catch { /* private browsing */ } };

  const store = async () => {
    if (sending || waiting === null) return;
    sending = true;
    const draft = waiting;
    let kept = false, refused = false;
    try {
      const answer = await fetch(address + "/draft", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf, "Accept": "application/json" },
        body: JSON.stringify({ draft }),
      });
      kept = answer.ok;
      refused = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
    } catch { /* no connection: tried again below */ }
    sending = false;
    if (kept && waiting === draft) {
      waiting = null;
      letGo();
    }
    document.getElementById("kept").classList.toggle("late", !kept);
    said("kept", kept ? "Saved" : refused ? "This HIT can no longer be saved" : "No connection. Your answers are kept on this device.");
    if (waiting !== null && !refused) setTimeout(store, kept ? 0 : 5000);
  };

  const drawn = JSON.parse(document.getElementById("draft").textContent);
  let leaving = false;
  const leave = () => {
    if (leaving) return;
    leaving = true;
    letGo();
    location.assign(address + "/done");
  };

  const giveBack = () => {
    const known = waiting || unsaved() || drawn;
    if (known) frame.contentWindow.postMessage({ prefjudge: "restore", draft: known }, "*");
  };
  addEventListener("message", event => {
    if (event.source !== frame.contentWindow || !event.data) return;
    const { prefjudge: kind, draft } = event.data;
    if (kind === "ready") giveBack();
    else if (kind === "draft") {
      waiting = draft;
      hold(draft);
      store();
    } else if (kind === "submitted") leave();
  });
  addEventListener("online", store);
  giveBack(); // the frame may have been ready before this script was

  // A HIT whose page does not tell: whenever the frame has loaded, ask the server whether it was submitted.
  frame.focus();
  frame.addEventListener("load", async () => {
    frame.focus();
    try {
      const answer = await fetch(address, { headers: { "Accept": "application/json" } });
      const known = await answer.json();
      if (known.assignment.status !== "Accepted") leave();
    } catch { /* no connection: the frame says so itself */ }
  });

  // The deadline, by this page's own clock, so that a wrong clock on the device does no harm.
  const left = document.getElementById("left");
  const end = performance.now() + 1000 * Number(left.dataset.seconds);
  const two = number => String(number).padStart(2, "0");
  const warned = new Set();
  const count = () => {
    const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    left.textContent = (hours ? hours + ":" + two(minutes) : minutes) + ":" + two(seconds % 60);
    left.classList.toggle("late", seconds < 120);
    for (const mark of [300, 60]) {
      if (seconds <= mark && seconds > mark - 10 && !warned.has(mark)) {
        warned.add(mark);
        said("news", mark === 60 ? "One minute left" : "Five minutes left");
      }
    }
    if (!seconds) said("news", "The time is up");
    else setTimeout(count, 1000);
  };
  count();
})();
