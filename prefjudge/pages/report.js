// Shows queries, runs and workers of a report when they are opened; tables.js stands before it.
(() => {
  const held = document.getElementById("closer");
  const data = held ? JSON.parse(held.content.textContent) : null;
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  const link = (kind, name, words = name) => make("a", {href: address(kind, name)}, make("bdi", {}, words));
  const address = (kind, name = "") => `#${kind}${name ? `=${encodeURIComponent(name.toWellFormed())}` : ""}`;
  const number = (value, digits = 4) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));
  const pValue = (value) => (value < 0.0001 ? "<0.0001" : number(value));
  const chance = (value) => (value > 0.995 ? ">0.99" : value < 0.005 ? "<0.01" : number(value, 2));  // what is not certain does not look so

  // A table made here: cells are texts, numbers or {words, key} with elements in them.
  function grid(title, columns, rows) {
    const heads = columns.map(([text, numeric]) => ({
      text, numeric: Boolean(numeric), cell: make("th", {scope: "col", class: numeric ? "right" : false}, text)}));
    const table = make("table", {}, make("caption", {}, title), make("thead", {}, make("tr", {}, heads.map((one) => one.cell))), make("tbody"));
    const box = make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": title}, table);
    const outer = make("div", {}, box);
    const held = rows.map((cells) => {
      const keys = cells.map((cell) => (cell !== null && typeof cell === "object" ? cell.key : cell));
      let element = null;
      return {keys, text: () => keys.join("  "), element: () => {
        element ??= make("tr", {}, cells.map((cell, place) => make("td", {class: heads[place].numeric ? "right" : false},
          cell === null ? "–" : typeof cell === "object" ? cell.words : typeof cell === "number" ? cell.toLocaleString("en") : make("bdi", {}, cell))));
        return element;
      }};
    });
    arrange(table, heads, held, ROWS);
    return outer;
  }
  const shown = (value, digits) => ({key: value === undefined ? null : value, words: number(value, digits)});
  const probable = (value) => (value === null || value === undefined ? shown(value) : {key: value, words: chance(value)});
  const linked = (kind, name, words) => ({key: name, words: link(kind, name, words)});

  // ---- what is known

  const known = {query: new Map(), run: new Map(), worker: new Map()};
  if (data) {
    data.queries.forEach((query, place) => known.query.set(query.id, place));
    data.boards.forEach((board) => board.runs.forEach((run) => known.run.set(run, run)));
    data.people.slice(1).forEach((row) => known.worker.set(row[0], row));
    data.workers.forEach((worker) => { if (worker && !known.worker.has(worker)) known.worker.set(worker, null); });
  }
  const decoded = (text, count) => {
    const width = count <= 64 ? 1 : count <= 4096 ? 2 : 3;
    const found = new Uint32Array(text.length / width);
    for (let place = 0; place < found.length; place++)
      for (let digit = 0; digit < width; digit++) found[place] = 64 * found[place] + DIGITS.indexOf(text[place * width + digit]);
    return found;
  };
  function scoresOf(board) {
    if (!board.scores) {
      const places = decoded(board.cells, board.values.length), across = board.queries.length;
      board.scores = board.runs.map((_, run) => Array.from(places.subarray(run * across, (run + 1) * across), (place) => board.values[place]));
      board.row = new Map(board.queries.map((query, place) => [query, place]));
      board.chances = board.p ? Array.from(decoded(board.p, 10001), (place) => place / 10000) : [];
    }
    return board;
  }
  const pairPlace = (a, b, count) => (a > b ? pairPlace(b, a, count) : a * count - (a * (a + 1)) / 2 + b - a - 1);
  const labelOf = (board) => `${board.measure}, ${board.qrels} qrels`;
  const votesOf = (query) => {
    const found = [];
    for (let at = 0; at < (query.votes || []).length; at += 6) {
      const [left, right, choice, worker, seconds, reason] = query.votes.slice(at, at + 6);
      found.push({left, right, choice, worker: data.workers[worker], seconds, dropped: data.reasons[reason]});
    }
    return found;
  };
  const docOf = (query, place) => data.docs[query.docs[place]];
  const facts = (pairs) => make("dl", {}, pairs.filter(Boolean).map(([name, words]) => make("div", {}, make("dt", {}, name), make("dd", {}, words))));

  // ---- a query

  function duels(query) {
    const found = new Map();
    for (const vote of votesOf(query)) {
      if (vote.dropped) continue;
      const [a, b] = vote.left < vote.right ? [vote.left, vote.right] : [vote.right, vote.left];
      const key = `${a} ${b}`;
      if (!found.has(key)) found.set(key, {a, b, forA: 0, forB: 0, ties: 0});
      const duel = found.get(key);
      if (vote.choice === 0) duel.ties++;
      else if ((vote.choice > 0 ? vote.left : vote.right) === a) duel.forA++;
      else duel.forB++;
    }
    return [...found.values()];
  }

  const MOST_NODES = 14;
  function graph(query, found) {
    const count = Math.min(query.docs.length, MOST_NODES), side = 150 + 16 * count, middle = side / 2, round = middle - 26;
    const at = (place) => [middle + round * Math.sin((2 * Math.PI * place) / count), middle - round * Math.cos((2 * Math.PI * place) / count)];
    const lines = found.filter((duel) => duel.a < count && duel.b < count).map((duel) => {
      const [from, to] = duel.forA >= duel.forB ? [duel.a, duel.b] : [duel.b, duel.a];
      const [x, y] = at(from), [u, v] = at(to), far = Math.hypot(u - x, v - y) || 1;
      const even = duel.forA === duel.forB, [dx, dy] = [(u - x) / far, (v - y) / far];
      const words = `${from + 1} against ${to + 1}: ${Math.max(duel.forA, duel.forB)} to ${Math.min(duel.forA, duel.forB)}${duel.ties ? `, ${many(duel.ties, "tie")}` : ""}`;
      return make("path", {d: `M${x + 15 * dx} ${y + 15 * dy}L${u - 17 * dx} ${v - 17 * dy}`, class: even ? "even" : "won",
        "stroke-width": 1 + Math.min(Math.abs(duel.forA - duel.forB), 6) * 0.45, "marker-end": even ? false : "url(#arrow)"}, make("title", {}, words));
    });
    const nodes = Array.from({length: count}, (_, place) => {
      const [x, y] = at(place);
      return [make("circle", {cx: x, cy: y, r: 13, class: query.best[place] ? "best" : ""}, make("title", {}, docOf(query, place))),
        make("text", {x, y: y + 4.5, "text-anchor": "middle", class: query.best[place] ? "best" : ""}, String(place + 1))];
    });
    const arrow = make("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto"}, make("path", {d: "M0 0L8 4L0 8z"}));
    const left = query.docs.length > count ? ` The first ${count} of ${query.docs.length} passages are drawn.` : "";
    return make("figure", {class: "graph"},
      make("svg", {viewBox: `0 0 ${side} ${side}`, width: side, height: side, role: "img", "aria-label": `The tournament of ${many(count, "passage")}: ${many(lines.length, "pair")} met; the table of pairs has the votes`}, make("defs", {}, arrow), lines, nodes.flat()),
      make("figcaption", {}, `An arrow points from the preferred passage to the other, the thicker the clearer; dashed: as many votes for both. Filled: the best answer.${left}`));
  }

  function queryView(name) {
    const place = known.query.get(name), query = data.queries[place];
    const parts = [make("h1", {tabindex: "-1"}, make("bdi", {}, query.text || query.id)), neighbours(place)];
    if (query.docs) {
      const found = duels(query), votes = votesOf(query), kept = votes.filter((vote) => !vote.dropped);
      const timed = kept.map((vote) => vote.seconds).filter(Boolean).sort((a, b) => a - b);
      parts.push(facts([["query", make("bdi", {}, query.id)], ["status", query.status], ["votes that count", query.count.toLocaleString("en")],
        ["pairs without a vote", String(query.missing)], query.chance ? ["the best is", among(query)] : null, timed.length ? ["median time of a vote", `${(timed[(timed.length - 1) >> 1] + timed[timed.length >> 1]) / 2} s`] : null]));
      if (found.length) parts.push(graph(query, found));
      parts.push(passages(query, found), texts(query), found.length ? meetings(query, found) : []);
      if (votes.length) parts.push(ballots(query, votes));
      if (query.said) parts.push(grid("What workers said", [["worker"], ["passage"], ["other passage"], ["could not judge"], ["comment"]],
        query.said.map(([worker, a, b, unable, comment]) => [linked("worker", data.workers[worker]), a < 0 ? "" : String(a + 1), b < 0 ? "" : String(b + 1), unable, comment])));
    } else parts.push(make("p", {}, "This query has no pool: it is scored, and was not judged side by side."));
    for (const board of data.boards) {
      const row = scoresOf(board).row.get(place);
      if (row !== undefined) parts.push(grid(`Runs on this query: ${labelOf(board)}`, [["run"], [board.measure, true], ["over all queries", true]],
        board.runs.map((run, column) => [linked("run", run), shown(board.scores[column][row]), shown(board.standings[column][1])])
          .sort((a, b) => compare(b[1].key, a[1].key) || compare(b[2].key, a[2].key))));
    }
    return parts;
  }
  function among(query) {  // the fewest that hold the best by .9: as few as there are, the likeliest first
    const ranked = query.docs.map((_, place) => place).sort((a, b) => query.chance[b] - query.chance[a]);
    let [sum, count] = [0, 0];
    while (count < ranked.length && sum < 0.9 - 1e-9) sum += query.chance[ranked[count++]];
    return `${ranked.slice(0, count).map((place) => docOf(query, place)).join(" or ")}: ${chance(sum)}`;
  }
  function neighbours(place) {
    const at = (other, words) => (data.queries[other] ? link("query", data.queries[other].id, words) : null);
    return make("p", {class: "filter"}, [at(place - 1, "← previous query"), at(place + 1, "next query →"), make("a", {href: "#queries"}, "all queries")]
      .filter(Boolean).flatMap((one) => [one, " · "]).slice(0, -1));
  }
  function passages(query, found) {
    const won = query.docs.map(() => 0), met = query.docs.map(() => 0);
    for (const duel of found) {
      won[duel.a] += duel.forA + duel.ties / 2;
      won[duel.b] += duel.forB + duel.ties / 2;
      for (const one of [duel.a, duel.b]) met[one] += duel.forA + duel.forB + duel.ties;
    }
    const untold = query.count > 0 && !query.votes.length;  // left out of a large page: that is not "0 of 0"
    const heads = [["#", true], ["passage"], ["role"], ...(query.chance ? [["P(best)", true]] : []), ...(untold ? [] : [["votes won", true], ["votes", true]]), ["contributed by"]];
    return grid("The passages", heads, query.docs.map((doc, place) => [
      place + 1, {key: data.docs[doc], words: make("bdi", {}, data.docs[doc])},
      [query.best[place] ? "best" : "", query.labelled[place] ? "labelled" : ""].filter(Boolean).join(", "),
      ...(query.chance ? [probable(query.chance[place])] : []), ...(untold ? [] : [won[place], met[place]]),
      sourcesOf(query.from[place])]));
  }
  function texts(query) {
    if (!query.docs.some((doc) => data.texts[doc])) return [];
    return make("div", {class: "texts"}, query.docs.map((doc, place) => make("article", {class: query.best[place] ? "best" : false},
      make("h2", {}, `${place + 1} `, make("bdi", {class: "soft"}, data.docs[doc])), make("p", {dir: "auto"}, data.texts[doc] || "(no text)"))));
  }
  function sourcesOf(places) {
    const names = places.map((one) => data.sources[one]);
    return {key: names.join(" "), words: make("span", {}, names.flatMap((name, place) => [place ? ", " : "", known.run.has(name) ? link("run", name) : make("bdi", {}, name)]))};
  }
  function meetings(query, found) {
    return grid("The pairs", [["#", true], ["passage"], ["votes", true], ["against", true], ["#", true], ["passage"], ["ties", true]], found.map((duel) => {
      const [a, b, x, y] = duel.forA >= duel.forB ? [duel.a, duel.b, duel.forA, duel.forB] : [duel.b, duel.a, duel.forB, duel.forA];
      return [a + 1, docOf(query, a), x, y, b + 1, docOf(query, b), duel.ties];
    }));
  }
  function ballots(query, votes, withQuery) {
    const [left, right] = data.sides ? ["left", "right"] : ["passage", "against"];
    const named = votes.some((vote) => vote.worker), timed = votes.some((vote) => vote.seconds), gone = votes.some((vote) => vote.dropped);
    const heads = [...(withQuery ? [["query"]] : []), [left], [right], ["preferred"], ...(named ? [["worker"]] : []), ...(timed ? [["seconds", true]] : []), ...(gone ? [["does not count"]] : [])];
    return grid(withQuery ? "The votes" : "Every vote, in the order of the log", heads, votes.map((vote) => {
      const own = withQuery ? vote.query : query;
      const label = (place) => (withQuery ? docOf(own, place) : `${place + 1}: ${docOf(own, place)}`);
      return [...(withQuery ? [linked("query", own.id)] : []), label(vote.left), label(vote.right),
        vote.choice === 0 ? "tie" : label(vote.choice > 0 ? vote.left : vote.right),
        ...(named ? [vote.worker ? linked("worker", vote.worker) : null] : []), ...(timed ? [vote.seconds || null] : []), ...(gone ? [vote.dropped] : [])];
    }));
  }

  // ---- all queries, a run, a worker

  function queriesView() {
    const judged = data.queries.some((query) => query.docs), sure = data.queries.some((query) => query.chance);
    const heads = [["query"], ["question"], ...(judged ? [["status"], ["best"], ...(sure ? [["P(best)", true], ["the best is"]] : []), ["labelled"], ["pool", true], ["votes", true], ["missing", true]] : [])];
    const rows = data.queries.map((query) => {
      if (!judged) return [linked("query", query.id), query.text || ""];
      if (!query.docs) return [linked("query", query.id), "", "not pooled", "", ...(sure ? [null, ""] : []), "", null, null, null];
      const flagged = (flags) => query.docs.filter((_, place) => flags[place]).map((doc) => data.docs[doc]).join(" ");
      const first = Math.max(...(query.chance || []).filter((chance, place) => query.best[place] && chance !== null));
      return [linked("query", query.id), query.text, query.status, flagged(query.best),
        ...(sure ? [probable(isFinite(first) ? first : undefined), query.chance ? among(query) : ""] : []), flagged(query.labelled), query.docs.length, query.count, query.missing];
    });
    return [make("h1", {tabindex: "-1"}, "All queries"), grid(many(rows.length, "query"), heads, rows)];
  }

  function runView(name) {
    const parts = [make("h1", {tabindex: "-1"}, make("bdi", {}, name))];
    const own = data.boards.filter((board) => board.runs.includes(name)).map(scoresOf);
    const column = (board) => board.runs.indexOf(name), level = own.length ? `${Math.round(100 * own[0].confidence)} % interval` : "";
    parts.push(grid("Its places", [["qrels"], ["measure"], ["rank", true], ["of", true], ["score", true], [`${level}, from`, true], ["to", true], ["tier", true], ["rank from", true], ["rank to", true]],
      own.map((board) => {
        const [rank, score, low, high, tier, highest, lowest] = board.standings[column(board)];
        return [board.qrels, board.measure, rank, board.runs.length, shown(score), shown(low), shown(high), ...[tier, highest, lowest].map((one) => one ?? null)];
      })));
    for (const board of own) parts.push(tests(board, column(board)));
    for (const measure of new Set(own.map((board) => board.measure))) parts.push(scoresTable(own.filter((board) => board.measure === measure), column, name));
    return parts;
  }
  function tests(board, run) {
    const heads = [["other run"], ["its score", true], ["difference", true], ["higher on", true], ["lower on", true], ["same on", true], ...(board.chances.length ? [["p (Holm)", true]] : [])];
    const mine = board.scores[run], rows = [];
    board.runs.forEach((other, place) => {
      if (place === run) return;
      const theirs = board.scores[place];
      let [above, below, total] = [0, 0, 0];
      mine.forEach((score, query) => { above += score > theirs[query]; below += score < theirs[query]; total += score - theirs[query]; });
      const p = board.chances[pairPlace(run, place, board.runs.length)];
      rows.push([linked("run", other), shown(board.standings[place][1]), shown(total / mine.length), above, below, mine.length - above - below, ...(board.chances.length ? [{key: p, words: pValue(p)}] : [])]);
    });
    const how = board.chances.length ? "; paired t tests, Holm's correction over all pairs of runs" : "";
    return grid(`Against the others on ${many(mine.length, "query")}: ${labelOf(board)}${how}`, heads, rows);
  }
  function scoresTable(boards, column, name) {
    const queries = [...new Set(boards.flatMap((board) => board.queries))];
    const heads = [["query"], ["question"], ...boards.flatMap((board) => [[`${board.measure} ${board.qrels}`, true], ["best of all runs", true]])];
    return grid(`Its queries: ${boards[0].measure}`, heads, queries.map((query) => [linked("query", data.queries[query].id), data.queries[query].text || "",
      ...boards.flatMap((board) => {
        const row = board.row.get(query);
        return row === undefined ? [null, null] : [shown(board.scores[column(board)][row]), shown(Math.max(...board.scores.map((each) => each[row])))];
      })]));
  }

  function workerView(name) {
    const parts = [make("h1", {tabindex: "-1"}, `Worker ${name}`)], row = known.worker.get(name);
    if (row) parts.push(facts(data.people[0].slice(1).map((head, place) => [head, row[place + 1] || "–"])));
    const votes = data.queries.flatMap((query) => votesOf(query).filter((vote) => vote.worker === name).map((vote) => ({...vote, query})));
    if (votes.length) parts.push(ballots(null, votes, true));
    return parts;
  }

  // ---- opening and closing

  const report = document.querySelector("main"), VIEWS = {query: queryView, run: runView, worker: workerView};
  const view = make("section", {id: "view", hidden: true, "aria-live": "off"});
  let before = 0;
  function open() {
    const [, kind, name = ""] = location.hash.match(/^#(\w+)(?:=(.*))?$/) || [];
    let parts = null;
    if (data && kind === "queries") parts = queriesView();
    else if (data && Object.hasOwn(VIEWS, kind)) {
      const called = decoding(name);
      if (known[kind].has(called)) parts = VIEWS[kind](called);
    }
    const closed = view.hidden;
    if (parts && closed) before = scrollY;
    view.hidden = !parts;
    for (const part of report.children) if (part !== view) part.hidden = Boolean(parts);
    if (!parts) {
      view.replaceChildren();
      if (!closed) (document.getElementById(kind || "") || {scrollIntoView: () => scrollTo(0, before)}).scrollIntoView();
      return;
    }
    view.replaceChildren(make("p", {class: "filter"}, make("a", {href: "#"}, "← Back to the report")), ...parts);
    scrollTo(0, 0);
    view.querySelector("h1").focus();
  }
  const decoding = (name) => { try { return decodeURIComponent(name); } catch { return name; } };

  // ---- served while the study runs: not under the hands of somebody who types

  const mark = document.body.dataset.mark;
  if (mark) setInterval(async () => {
    const now = await fetch("mark").then((answer) => (answer.ok ? answer.text() : mark), () => mark);
    if (now !== mark && !document.activeElement.matches("input")) location.reload();
  }, 3000);

  const opened = (kind, name) => (data && known[kind] && known[kind].has(name) ? link(kind, name) : null);
  document.querySelectorAll(".wide > table, .board").forEach((table) => enhance(table, opened));
  if (data) {
    report.append(view);
    document.getElementById("look").append(make("a", {href: "#queries"}, `All ${many(data.queries.length, "query")}`),
      ": open one for its passages and votes; open a run or a worker from a table.");
    addEventListener("hashchange", open);
    open();
  }
})();
