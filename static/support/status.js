// What htmx leaves open on a status page: a hidden tab asks nothing, and a page that can't be refreshed says so.
"use strict";

(() => {
  const page = document.body;
  const problem = document.getElementById("refresh-problem");
  const text = document.getElementById("refresh-problem-text");

  const pad = (number) => String(number).padStart(2, "0");
  const inWords = (at) => {
    const month = at.toLocaleString("en-US", { month: "short", timeZone: "UTC" });
    const clock = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(pad).join(":");
    return `${at.getUTCDate()} ${month} ${at.getUTCFullYear()}, ${clock} UTC`;
  };

  const sayWhen = (answered) => {
    const shown = document.getElementById("page-checked");
    const at = new Date(answered || NaN);
    if (!shown || Number.isNaN(at.getTime())) return;
    shown.dateTime = at.toISOString();
    shown.textContent = inWords(at);
  };

  page.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden) event.preventDefault();
  });

  page.addEventListener("htmx:afterRequest", (event) => {
    const { status } = event.detail.xhr;
    if (status >= 200 && status < 400) {
      problem.replaceChildren();
      sayWhen(event.detail.xhr.getResponseHeader("Date"));
    } else if (!problem.hasChildNodes()) {
      problem.append(text.content.cloneNode(true));
    }
  });

  document.addEventListener("visibilitychange", () => {
    const status = document.getElementById("status");
    if (!document.hidden && status.hasAttribute("hx-get")) htmx.trigger(status, "refresh");
  });
})();
