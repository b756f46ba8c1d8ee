// Runs before rendering, so that the selected theme does not flicker.
(() => {
  "use strict";
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* no storage, no choice */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
