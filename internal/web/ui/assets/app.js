// Optional enhancements: pages also work without scripts.
(() => {
  "use strict";
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Convert times from UTC to the zone of the browser.
  const localTimes = (from) => {
    const words = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
    for (const el of all("time[datetime]", from)) {
      const at = new Date(el.dateTime);
      if (isNaN(at)) continue;
      if (el.hasAttribute("data-exact")) el.textContent = words.format(at);
      el.title = `${words.format(at)} (${el.dateTime})`;
    }
  };

  // Theme: light, dark, or the setting of the system.
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const toggleTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not stored: applies to this page only */ }
  };

  // List with a panel: j and k select a row and update the address.
  const rows = () => all("[data-row]");
  const current = () => one("[data-row].current");
  const placeKey = "row:" + location.pathname;
  // Ignore decisions shortly after a finding is loaded: a key or click for the previous
  // finding may repeat.
  let settling;
  const settle = () => {
    root.dataset.settling = "";
    clearTimeout(settling);
    settling = setTimeout(() => { delete root.dataset.settling; }, 400);
  };
  settle();
  // While the panel loads, it may not show the current row: decisions are disabled, and
  // a loading indicator is shown.
  let loading;
  const fill = (panel, ...content) => {
    panel.replaceChildren(...content);
    panel.scrollTop = 0;
    ready(panel);
    settle();
  };
  const unreachable = (row) => {
    const said = document.createElement("div"), again = document.createElement("button");
    said.className = "say bad";
    said.setAttribute("role", "alert");
    said.textContent = "This finding could not be loaded: no response from the server. ";
    again.type = "button";
    again.textContent = "Try again";
    again.addEventListener("click", () => show(row));
    said.append(again);
    return said;
  };
  const load = async (panel, row, address) => {
    loading?.abort();
    const mine = loading = new AbortController();
    panel.setAttribute("aria-busy", "true");
    const slow = setTimeout(() => { one(".explore").classList.add("open"); panel.classList.add("slow"); }, 200);
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true", "HX-Current-URL": location.href }, signal: mine.signal });
      const elsewhere = answer.headers.get("HX-Redirect");
      if (elsewhere) { location.href = elsewhere; return; }
      const part = document.createElement("template");
      part.innerHTML = await answer.text();
      fill(panel, part.content);
    } catch {
      if (mine.signal.aborted) return;
      fill(panel, unreachable(row));
    } finally {
      clearTimeout(slow);
      if (loading === mine) { panel.removeAttribute("aria-busy"); panel.classList.remove("slow"); }
    }
    one(".explore").classList.add("open");
  };
  const busy = () => one("#panel[aria-busy]");
  const show = async (row) => {
    const link = one("[data-open]", row);
    for (const other of rows()) { other.classList.remove("current"); other.removeAttribute("aria-current"); }
    row.classList.add("current");
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", link.href);
    const address = new URL(link.href);
    await load(one("#panel"), row, `${link.dataset.open}?back=${encodeURIComponent(address.pathname + address.search)}`);
  };
  // Moving past the end of a page opens the next page.
  const walkKey = "walk:" + location.pathname;
  const turn = (step) => {
    const link = one(step > 0 ? '.results [rel="next"]' : '.results [rel="prev"]');
    if (!link) return false;
    sessionStorage.setItem(walkKey, step);
    location.href = link.href;
    return true;
  };
  const move = (step) => {
    const list = rows();
    if (!list.length) return;
    let at = list.indexOf(current());
    if (at < 0) {
      // The previous row was triaged and removed: continue at its position.
      const place = Number(sessionStorage.getItem(placeKey) ?? -1);
      sessionStorage.removeItem(placeKey);
      at = place >= 0 ? (step > 0 ? place - 1 : place) : (step > 0 ? -1 : 0);
    }
    at += step;
    if (at >= 0 && at < list.length || !turn(step)) show(list[Math.min(Math.max(at, 0), list.length - 1)]);
  };
  const close = () => {
    const panel = one("#panel");
    if (!panel?.firstElementChild && !busy()) return;
    loading?.abort();
    panel.removeAttribute("aria-busy");
    panel.classList.remove("slow");
    panel.replaceChildren();
    one(".explore").classList.remove("open");
    const address = new URL(location.href);
    address.searchParams.delete("finding");
    history.replaceState(null, "", address);
  };
  const picked = () => all('[data-rows] :is(input[name="id"], input[name="group"]):checked');
  const tell = () => {
    const n = picked().length;
    for (const el of all("[data-picked]")) el.textContent = `${n} selected`;
  };
  // Target of decision keys: the selected rows, or else the finding in the panel.
  const place = () => {
    if (picked().length) return one("[data-rows] .picked");
    return busy() ? null : one(".finding .footer");
  };
  const ignore = () => {
    const menu = place() && one("[data-ignore]", place());
    if (!menu) return one('.decide input[name="state"]')?.focus();
    menu.open = true;
    one("button", menu).focus();
  };
  const decide = (key) => () => place() && one(`[data-key="${key}"]`, place())?.click();
  const reason = (n) => () => all("button", one("[data-ignore][open]") ?? document.createElement("i"))[n - 1]?.click();
  const more = () => {
    const fold = place() && one(".more", place());
    if (!fold) return place() && one("[data-decide]", place())?.click();
    fold.open = true;
    one("textarea", fold).focus();
  };

  const typing = (el) => el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && !/^(checkbox|radio|button|submit)$/.test(el.type);
  const keys = {
    "?": () => one("#help")?.showModal(),
    "/": () => {
      const field = one("[data-search]");
      field?.closest("details")?.setAttribute("open", "");
      field?.focus();
    },
    j: () => move(1),
    k: () => move(-1),
    x: () => one('input[name="id"]', current() ?? document.createElement("i"))?.click(),
    i: ignore,
    1: reason(1), 2: reason(2), 3: reason(3), 4: reason(4),
    f: decide("f"),
    r: decide("r"),
    o: decide("o"),
    a: () => place() && one('[data-key="a"], [data-take]', place())?.click(),
    m: more,
    u: () => one(".done form button")?.click(),
    v: () => {
      const menu = one(".views");
      if (!menu) return;
      menu.open = true;
      one("a", menu).focus();
    },
    F: () => {
      const open = one(".explore")?.classList.toggle("filtering");
      one("[data-filters]")?.setAttribute("aria-expanded", open);
    },
    Enter: () => { const link = current() && one("[data-open]", current()); if (link) location.href = link.dataset.open; },
    Escape: () => {
      const menu = one("details.menu[open], .footer .more[open]");
      if (!menu) return close();
      menu.open = false;
      one("summary", menu).focus();
    },
  };
  // Shortcuts can be disabled, such as for users of speech input.
  const noKeys = () => { try { return localStorage.getItem("keys") === "off"; } catch { return false; } };
  const sayKeys = () => { for (const el of all("[data-keys-toggle]")) el.textContent = noKeys() ? "Enable shortcuts" : "Disable shortcuts"; };

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || one("dialog[open]")) return;
    const act = keys[e.key];
    if (!act || e.key === "Enter" && e.target !== document.body || noKeys() && !/^(Escape|\?)$/.test(e.key)) return;
    e.preventDefault();
    if (e.repeat && !/^[jk]$/.test(e.key) || "settling" in root.dataset && /^[froau1-4]$/.test(e.key)) return;
    act();
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-theme-toggle]")) toggleTheme();
    if (e.target.closest("[data-help]")) keys["?"]();
    if (e.target.closest("[data-shut]")) { e.preventDefault(); close(); }
    if (e.target.closest("[data-keys-toggle]")) {
      try { localStorage.setItem("keys", noKeys() ? "on" : "off"); } catch { /* they stay as they are */ }
      sayKeys();
    }
    if (e.target.closest("[data-filters]")) keys.F();
    e.target.closest("[data-done-close]")?.parentElement.remove();
    const copy = e.target.closest("[data-copy]");
    if (copy) { // the clipboard requires TLS
      const written = navigator.clipboard?.writeText(one("pre", copy.parentElement).textContent) ?? Promise.reject();
      written.then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Copy manually"; });
    }
    const link = e.target.closest("[data-row] [data-open]");
    if (link && !e.ctrlKey && !e.metaKey && !e.shiftKey) {
      e.preventDefault();
      show(link.closest("[data-row]"));
    }
    for (const menu of all("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
  });
  // Filter the values of a long facet by the entered text.
  document.addEventListener("input", (e) => {
    if (!e.target.matches("[data-narrow]")) return;
    const text = e.target.value.trim().toLowerCase();
    for (const item of all("li:has(.take)", e.target.closest(".facet"))) item.hidden = !item.textContent.toLowerCase().includes(text);
  });
  // The expiry date of an exception and "Never expires" exclude each other.
  document.addEventListener("input", (e) => {
    const { until, forever } = e.target.form?.elements ?? {};
    if (!until || !forever) return;
    if (e.target === until && until.value) forever.checked = false;
    if (e.target === forever && forever.checked) until.value = "";
  });
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-all]")) for (const box of all('[data-rows] input[name="id"]')) box.checked = e.target.checked;
    else if (e.target.name === "id" && one("[data-all]")) one("[data-all]").checked = false;
    if (e.target.closest("[data-rows]")) tell();
  });
  // Prevent double submission. A page restored by the back button can submit again.
  document.addEventListener("submit", (e) => {
    if (e.defaultPrevented || e.target.method !== "post") return;
    const early = "settling" in root.dataset && e.target.matches("[data-decision], .take");
    if (early || e.target.hasAttribute("data-sent") || e.target.closest("[aria-busy]")) e.preventDefault();
    else e.target.setAttribute("data-sent", "");
  });
  addEventListener("pageshow", () => { for (const form of all("[data-sent]")) form.removeAttribute("data-sent"); });

  // After a form in a long list, keep its row at the same position on the screen.
  // Without scripts the row is centered.
  const stayKey = "stay:" + location.pathname;
  document.addEventListener("submit", (e) => {
    const row = e.target.closest("tr[id]");
    if (row && !e.defaultPrevented) sessionStorage.setItem(stayKey, row.getBoundingClientRect().top);
  });
  const stay = () => {
    const row = location.hash && document.getElementById(location.hash.slice(1));
    const top = sessionStorage.getItem(stayKey);
    if (row && row.matches("tr") && top !== null) scrollBy({ top: row.getBoundingClientRect().top - Number(top), behavior: "instant" });
  };
  stay();
  addEventListener("load", () => { stay(); sessionStorage.removeItem(stayKey); });

  // Open the next finding after a decision in the panel, and the same finding after a
  // comment or an assignment.
  document.addEventListener("submit", (e) => {
    const at = rows().indexOf(current());
    if (e.defaultPrevented || !e.target.matches("[data-decision], .take") || at < 0) return;
    sessionStorage.setItem(placeKey, at);
    if (e.target.matches(".take") || !e.submitter?.value || e.submitter.value === "note") return;
    const next = rows()[at + 1] ?? rows()[at - 1];
    const back = new URL(next ? one("[data-open]", next).href : location.href);
    if (!next) back.searchParams.delete("finding");
    e.target.elements.back.value = back.pathname + back.search;
  });

  // Automatic updates pause while the user is inactive, and skip unchanged content.
  const patience = 30 * 60 * 1000;
  let seen = Date.now();
  for (const sign of ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"]) {
    document.addEventListener(sign, () => { seen = Date.now(); }, { passive: true });
  }
  const polls = (el) => el.getAttribute?.("hx-trigger")?.startsWith("every");
  const answers = new Map();
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (polls(e.target) && (document.hidden || Date.now() - seen > patience)) e.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (!polls(e.target)) return;
    const text = e.detail.xhr.responseText;
    if (answers.get(e.target.id) === text || e.target.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) e.detail.shouldSwap = false;
    answers.set(e.target.id, text);
  });

  const ready = (from) => {
    localTimes(from);
    for (const el of all("[data-theme-toggle], [data-help], [data-narrow], [data-filters], [data-copy], [data-keys-toggle], [data-done-close]", from)) el.hidden = false;
  };
  ready(document);
  tell();
  sayKeys();
  current()?.scrollIntoView({ block: "nearest" });
  const walk = Number(sessionStorage.getItem(walkKey) ?? 0);
  sessionStorage.removeItem(walkKey);
  if (walk && rows().length) show(rows().at(walk > 0 ? 0 : -1));
  document.addEventListener("htmx:load", (e) => ready(e.target));
})();
