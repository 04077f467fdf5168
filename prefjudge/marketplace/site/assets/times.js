"use strict";
// Times are written in UTC by the server; a browser knows the reader's own zone, and how the page's language writes them.
const { lang } = document.documentElement;
const language = navigator.language.startsWith(lang) ? navigator.language : lang;
for (const time of document.querySelectorAll("time")) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) {
    time.title = time.textContent;
    time.textContent = at.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
  }
}
