// Completion of user names after @ in a comment.
(() => {
  "use strict";
  const most = 6;
  let field, list;
  const options = () => [...(list?.children ?? [])];
  const chosen = () => options().find((one) => one.ariaSelected === "true");
  const choose = (option) => {
    for (const one of options()) one.ariaSelected = String(one === option);
    field.setAttribute("aria-activedescendant", option.id);
  };
  const shut = () => {
    field?.removeAttribute("aria-activedescendant");
    list?.replaceChildren();
    if (list) list.hidden = true;
  };
  const typed = () => field.value.slice(0, field.selectionStart).match(/(?:^|[^\p{L}\d._@+/-])@([a-z\d._@+-]*)$/iu)?.[1].toLowerCase();
  const take = (option) => {
    const end = field.selectionStart;
    field.setRangeText(`${option.dataset.name} `, end - typed().length, end, "end");
    shut();
    field.focus();
  };
  const offer = () => {
    const begun = typed();
    shut();
    if (begun === undefined) return;
    const people = [...document.getElementById(field.dataset.mention).options]
      .filter(({ value, label }) => value.startsWith(begun) || label.toLowerCase().split(/\s+/).some((word) => word.startsWith(begun)));
    list.append(...people.slice(0, most).map(({ value, label }, i) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${i}`;
      option.role = "option";
      option.dataset.name = value;
      option.textContent = label === value ? value : `${label} (${value})`;
      return option;
    }));
    if (!people.length) return;
    list.hidden = false;
    choose(options()[0]);
  };
  document.addEventListener("input", (e) => {
    if (!e.target.matches("[data-mention]")) return;
    field = e.target;
    list = document.getElementById(field.getAttribute("aria-controls"));
    offer();
  });
  document.addEventListener("keydown", (e) => {
    if (e.target !== field || !list || list.hidden) return;
    const all = options(), at = all.indexOf(chosen());
    const keys = {
      ArrowDown: () => choose(all[(at + 1) % all.length]),
      ArrowUp: () => choose(all[(at + all.length - 1) % all.length]),
      Enter: () => take(all[at]),
      Tab: () => take(all[at]),
      Escape: shut,
    };
    if (!keys[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    keys[e.key]();
  }, true);
  document.addEventListener("pointerdown", (e) => {
    const option = e.target.closest(".people [role=option]");
    if (option && list?.contains(option)) { e.preventDefault(); take(option); } else if (e.target !== field) shut();
  });
  document.addEventListener("focusout", (e) => { if (e.target === field) shut(); });
})();
