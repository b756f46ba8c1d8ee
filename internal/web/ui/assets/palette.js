// Search palette. Without scripts the link opens the search page.
(() => {
  "use strict";
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const form = dialog.querySelector("form"), field = form.elements.q, box = dialog.querySelector("[data-palette-box]");
  const said = dialog.querySelector('[role="status"]');
  const options = () => [...box.querySelectorAll('[role="option"]')];
  const chosen = () => box.querySelector('[aria-selected="true"]');
  const choose = (option) => {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  };

  // Results belong to the latest input: late responses to older input are discarded, and
  // Enter waits for the response.
  let asked, later, opens = false;
  const waits = () => later || asked;
  const tell = (text) => { said.textContent = text; };
  const fail = (why) => {
    const text = document.createElement("p");
    text.className = "say bad";
    text.textContent = why;
    box.replaceChildren(text);
    choose(null);
    tell(text.textContent);
  };
  const ask = async () => {
    later = undefined;
    asked?.abort();
    const mine = asked = new AbortController();
    try {
      const answer = await fetch(`${form.action}?q=${encodeURIComponent(field.value)}`, { headers: { "HX-Request": "true", "HX-Current-URL": location.href }, signal: mine.signal });
      const elsewhere = answer.headers.get("HX-Redirect");
      if (elsewhere) { location.href = elsewhere; return; }
      const part = document.createElement("template");
      part.innerHTML = await answer.text();
      if (asked !== mine) return;
      if (!answer.ok) throw (part.content.querySelector(".fault li") ?? part.content.querySelector(".fault h1"))?.textContent;
      box.replaceChildren(part.content);
      box.scrollTop = 0;
      const total = Number(box.querySelector("[data-total]").dataset.total);
      choose(options().find((one) => field.value.trim() || one.matches("a"))); // Enter alone changes nothing
      tell(total === 1 ? "1 result" : `${total} results`);
    } catch (why) {
      if (mine.signal.aborted) return;
      opens = false;
      fail(typeof why === "string" ? why : "No response from the server. Continue typing to try again.");
    }
    asked = undefined;
    if (opens) chosen()?.click();
    opens = false;
  };
  const show = () => {
    if (document.querySelector("dialog[open]")) return;
    dialog.showModal();
    field.select();
    ask();
  };
  const shut = () => {
    clearTimeout(later);
    asked?.abort();
    later = asked = undefined;
    opens = false;
    dialog.close();
  };

  document.addEventListener("keydown", (e) => {
    if (e.key?.toLowerCase() !== "k" || e.repeat || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    e.preventDefault();
    if (dialog.open) shut();
    else show();
  });
  document.addEventListener("click", (e) => {
    if (!e.target.closest("[data-palette]") || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    show();
  });
  field.addEventListener("input", () => {
    clearTimeout(later);
    asked?.abort();
    asked = undefined;
    opens = false; // Enter was pressed for the previous input
    later = setTimeout(ask, 120);
  });
  field.addEventListener("keydown", (e) => {
    const list = options(), step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step || !list.length) return;
    e.preventDefault();
    const at = list.indexOf(chosen());
    choose(at < 0 ? list.at(step > 0 ? 0 : -1) : list[(at + step + list.length) % list.length]);
  });
  // Without results, Enter submits the form: the search page shows the error.
  form.addEventListener("submit", (e) => {
    if (waits()) opens = true;
    else if (chosen()) chosen().click();
    else return;
    e.preventDefault();
  });
  // A click on the backdrop closes the palette.
  dialog.addEventListener("click", (e) => {
    if (e.target === dialog || e.target.closest("[data-palette-shut]")) shut();
    const option = e.target.closest('a[role="option"]');
    if (option && !e.ctrlKey && !e.metaKey && !e.shiftKey && (option.pathname.endsWith("/export") || option.pathname === location.pathname && option.search === location.search)) shut();
  });
  addEventListener("pagehide", () => { if (dialog.open) shut(); }); // not shown again after Back
  dialog.addEventListener("cancel", (e) => { e.preventDefault(); shut(); });
  box.addEventListener("pointermove", (e) => { const option = e.target.closest('[role="option"]'); if (option && option !== chosen()) choose(option); });
})();
