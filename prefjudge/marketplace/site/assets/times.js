"use strict";
// Times are written in UTC by the server; a browser knows the reader's own zone and language.
for (const time of document.querySelectorAll("time")) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) {
    time.title = time.textContent;
    time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}
