// Runs before the page is drawn, so that a chosen theme does not flash.
(() => {
  "use strict";
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* no storage, no choice */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
