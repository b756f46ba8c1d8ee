// What the pages do beyond links and forms. Reading needs none of it.
(() => {
  "use strict";
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Times stand in the reader's zone; the server wrote UTC.
  const localTimes = (from) => {
    const words = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
    for (const el of all("time[datetime]", from)) {
      const at = new Date(el.dateTime);
      if (isNaN(at)) continue;
      if (el.hasAttribute("data-exact")) el.textContent = words.format(at);
      el.title = `${words.format(at)} (${el.dateTime})`;
    }
  };

  // Light, dark, or as the system has it.
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const toggleTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it holds for this page */ }
  };

  const typing = (el) => el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && !/^(checkbox|radio|button|submit)$/.test(el.type);
  const keys = {
    "?": () => one("#help")?.showModal(),
    "/": () => one("[data-search]")?.focus(),
  };

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || one("dialog[open]")) return;
    const act = keys[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-theme-toggle]")) toggleTheme();
    if (e.target.closest("[data-help]")) keys["?"]();
  });

  const ready = (from) => {
    localTimes(from);
    for (const el of all("[data-theme-toggle], [data-help]", from)) el.hidden = false;
  };
  ready(document);
  document.addEventListener("htmx:load", (e) => ready(e.target));
})();
