"use strict";
// The page around a HIT: it counts down, sends what the frame gives it, and leaves when the HIT is submitted.
// The frame has an origin of its own, so it cannot store anything or call this server itself.
(() => {
  const frame = document.getElementById("frame");
  const { assignment } = frame.dataset;
  const address = "/assignments/" + assignment;
  const $ = id => document.getElementById(id);
  const program = { "Accept": "application/json" };

  // Shows a notice; ``act`` is what its button does, ``link`` where its link leads. A notice about a draft does not
  // replace any other.
  let ofDraft = true;
  const notice = (text, { tone = "warm", act = null, does = "Try again", link = null, draft = false } = {}) => {
    if (draft && !ofDraft && !$("notice").hidden) return;
    ofDraft = draft;
    $("notice").className = "note " + tone;
    $("said").textContent = text;
    $("again").hidden = !act;
    $("again").onclick = act;
    $("again").textContent = does;
    $("way").onclick = null;
    $("way").hidden = !link;
    if (link) [$("way").textContent, $("way").href, $("way").target] = link;
    $("notice").hidden = false;
  };
  const hush = () => { $("notice").hidden = true; };

  // What waits to be sent: the newest draft, and the answers once they are submitted. Each is kept in this browser
  // until the server has it, so that a lost connection or a reload does not lose it.
  const key = kind => kind + ":" + assignment;
  const stored = kind => { try { return JSON.parse(localStorage.getItem(key(kind))); } catch { return null; } };
  const waiting = { draft: null, answers: stored("answers") };
  const keep = (kind, value) => {
    waiting[kind] = value;
    try { localStorage.setItem(key(kind), JSON.stringify(value)); } catch { /* private browsing */ }
  };
  const letGo = kind => {
    waiting[kind] = null;
    try { localStorage.removeItem(key(kind)); } catch { /* private browsing */ }
  };

  // Each tab has a name, and says whose draft it began with, so that the last of two does not win in silence.
  const tab = Math.random().toString(36).slice(2);
  let after = frame.dataset.tab;
  const post = {
    agreed: page => fetch(address + "/agreed", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": frame.dataset.csrf, ...program },
      body: JSON.stringify({ page }),
    }),
    draft: draft => fetch(address + "/draft", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": frame.dataset.csrf, ...program },
      body: JSON.stringify({ draft, tab, after }),
    }),
    // always this assignment: the page may have written another id
    answers: fields => fetch("/mturk/externalSubmit", {
      method: "POST",
      headers: program,
      body: new URLSearchParams([["assignmentId", assignment], ...fields.filter(([name]) => name !== "assignmentId")]),
    }),
  };
  let sending = false, later = 0;
  const send = async () => {
    const kind = waiting.answers ? "answers" : "draft";
    const item = waiting[kind];
    if (sending || !item) return;
    sending = true;
    clearTimeout(later);
    let status = 0, said = {};
    try {
      const answer = await post[kind](item);
      status = answer.status;
      said = await answer.json();
    } catch { /* no connection, or no JSON */ }
    sending = false;
    const newer = waiting[kind] !== item;
    const again = status === 0 || status === 401 || status === 403 || status === 429 || status >= 500;
    if (again) {
      const renewed = (status === 401 || status === 403) && await renew();
      later = setTimeout(send, renewed ? 0 : 5000);
    } else if (!newer && status !== 412) letGo(kind);
    (kind === "draft" ? drafted : submitted)(status, again, said.error);
    if (!again && (status !== 412 || waiting.answers)) send(); // what was added meanwhile
  };
  // After signing in again, in another tab, the token of this page is out of date.
  const renew = async () => {
    try {
      const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
      const fresh = page.getElementById("frame").dataset.csrf;
      const renewed = fresh !== frame.dataset.csrf;
      frame.dataset.csrf = fresh;
      for (const field of document.getElementsByName("csrf")) field.value = fresh;
      return renewed;
    } catch { return false; } // no connection, or still signed out
  };

  const signIn = { act: () => send(), link: ["Sign in", "/signin", "_blank"] };
  const drafted = (status, again, error) => {
    $("kept").textContent = status === 200 ? "Saved" : "";
    if (status === 200) after = tab;
    if (status === 200 && ofDraft) hush();
    else if (status === 409) leave();
    else if (status === 412) twoTabs();
    else if (status === 410) over(error);
    else if (status === 401 || status === 403) {
      notice("You are signed out. Sign in in another tab and come back; your answers are kept on this device.", { draft: true, ...signIn });
    } else if (again) notice("No connection. Your answers are kept on this device.", { draft: true, act: () => send() });
    else if (status !== 200) notice("Your answers are not saved: {why}".replace("{why}", error || status), { draft: true });
  };
  const twoTabs = () => {
    notice("You have also worked on this HIT in another tab or on another device, and it has other answers.", {
      draft: true,
      act: () => { after = null; hush(); send(); },
      does: "Keep the answers here",
      link: ["Show the others", address, ""],
    });
    $("way").onclick = () => letGo("draft");
  };
  const submitted = (status, again, error) => {
    if (status === 200) leave();
    else if (status === 410) over(error);
    else if (status === 403) notice(error, { tone: "bad", ...signIn });
    else if (again) {
      notice("No connection. Your answers are kept on this device, and sent when the connection is back.", { act: () => send() });
    } else {
      frame.inert = false;
      notice(error || "Your answers were not accepted.", { tone: "bad" });
    }
  };

  const all = ["All HITs", "/hits", ""];
  let gone = false;
  const over = text => {
    letGo("answers");
    letGo("draft");
    gone = frame.inert = true;
    notice(text || "The time for this HIT is over.", { tone: "bad", link: all });
  };
  const leave = () => {
    if (gone) return;
    gone = true;
    letGo("draft");
    location.assign(address + "/done");
  };

  const drawn = JSON.parse($("draft").textContent);
  const agreed = JSON.parse($("agreed").textContent);
  const giveBack = () => {
    const known = waiting.draft || stored("draft") || drawn;
    if (known || agreed.length) frame.contentWindow.postMessage({ prefjudge: "restore", draft: known, agreed }, "*");
  };
  addEventListener("message", event => {
    if (event.source !== frame.contentWindow || !event.data || gone) return;
    const { prefjudge: kind, draft, fields, hosts, page } = event.data;
    if (kind === "ready") giveBack();
    else if (kind === "agreed") {
      // without a connection the next HIT asks again, which does no harm
      if (!agreed.includes(page)) post.agreed(page).catch(() => {});
    }
    else if (kind === "typed") unkept = unkept ?? true;
    else if (kind === "missing" && Array.isArray(hosts)) {
      notice("This page needs something from {hosts} that does not load. If it does not work, return the HIT.".replace("{hosts}", hosts.join(", ")), { draft: true });
    }
    else if (kind === "draft") {
      unkept = false;
      keep("draft", draft);
      send();
    } else if (kind === "submit" && Array.isArray(fields)) {
      keep("answers", fields);
      deliver();
    } else if (kind === "submitted") leave();
  });
  // Most pages send no drafts: a worker who has typed in such a page and leaves it is asked first.
  let unkept = null;
  document.addEventListener("submit", () => { unkept = false; });
  addEventListener("beforeunload", event => { if (unkept && !gone && !waiting.answers) event.preventDefault(); });
  const deliver = () => {
    frame.inert = true;
    notice("Your answers are being sent.", { tone: "" });
    send();
  };
  addEventListener("online", send);
  giveBack(); // the frame may have been ready before this script was
  if (waiting.answers) deliver();

  // A page on the requester's own server submits by itself: whenever the frame has loaded, check whether it has.
  // Browsers ignore a second focus() on a frame that has the focus, and on its window. When the frame's first, empty
  // document had it and the page came in another process, the page is then left without. So the frame lets go first.
  // Whoever is in the bar already stays there.
  const turnToFrame = () => {
    const here = document.activeElement;
    if (here && here !== document.body && here !== frame) return;
    frame.blur();
    frame.focus();
    frame.contentWindow.focus();
  };
  turnToFrame();
  frame.addEventListener("load", async () => {
    turnToFrame();
    const answer = await fetch(address, { headers: program }).catch(() => null);
    if (answer) {
      const known = await answer.json().catch(() => ({}));
      if (known.assignment && known.assignment.status !== "Accepted") leave();
    } else if (!waiting.answers && !gone) {
      notice("No connection. What was just sent may not have arrived.", { act: () => { hush(); frame.src = frame.src; } });
    }
  });

  // The deadline, by this page's own clock, so that a wrong clock on the device does no harm.
  const left = $("left");
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
        $("news").textContent = mark === 60 ? "One minute left" : "Five minutes left";
      }
    }
    if (seconds) setTimeout(count, 1000);
    else if (!gone && !waiting.answers) over(); // the server decides about answers that are being sent
  };
  count();
})();
