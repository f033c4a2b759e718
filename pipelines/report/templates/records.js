"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // Records: filter, search, move.
  const cards = all(".card");
  const search = document.getElementById("search");
  if (!search) return;
  const status = document.getElementById("status");
  const chips = all(".chip");
  const texts = cards.map((card) => card.textContent.toLowerCase());
  let outcome = "";
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    cards.forEach((card, index) => {
      const fits = (!outcome || card.dataset.outcome === outcome) && texts[index].includes(wanted);
      card.hidden = !fits;
      shown += fits;
    });
    status.textContent = shown === cards.length ? "" : `${shown} of ${cards.length} shown`;
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      outcome = chip.dataset.outcome;
      for (const other of chips) other.setAttribute("aria-pressed", String(other === chip));
      show();
    });
  }
  search.addEventListener("input", show);
  const move = (step) => {
    const visible = cards.filter((card) => !card.hidden);
    if (!visible.length) return;
    const here = visible.indexOf(document.activeElement.closest(".card"));
    const next = here < 0 ? 0 : Math.min(Math.max(here + step, 0), visible.length - 1);
    visible[next].focus({ preventScroll: true });
    visible[next].scrollIntoView({ block: "start", behavior: calm.matches ? "auto" : "smooth" });
  };
  const steps = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; show(); search.blur(); }
      return;
    }
    if (event.target.closest(".scroll") && event.key.startsWith("Arrow")) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    if (event.key in steps) { event.preventDefault(); move(steps[event.key]); }
  });
})();
