"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("live");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Theme: as the system, light, dark. Storage may be forbidden for a local file.
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const remember = (value) => { try { localStorage.setItem("theme", value); } catch { /* not kept */ } };
  const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const paint = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = themes.includes(remembered()) ? remembered() : "auto";
  paint(theme);
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    paint(theme);
    remember(theme);
  });

  // On a phone the table stands for the drawing.
  if (matchMedia("(max-width: 46rem)").matches) {
    for (const details of all(".flow + .numbers")) details.open = true;
  }

  // The copy buttons; without a clipboard the text is selected, ready for the keyboard.
  for (const copy of all("[data-copy]")) {
    copy.addEventListener("click", async () => {
      const source = document.getElementById(copy.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        copy.textContent = "Selected";
      }
    });
  }

  // Sorting the groups: numbers as numbers, names as names; a second press turns it round.
  const table = document.getElementById("group-table");
  for (const head of table ? all("th[aria-sort]", table) : []) {
    head.firstElementChild.addEventListener("click", () => {
      const column = head.cellIndex;
      const numeric = head.classList.contains("n");
      const down = head.getAttribute("aria-sort") === (numeric ? "none" : "ascending")
        || head.getAttribute("aria-sort") === "ascending";
      for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.v;
      const order = numeric
        ? (a, b) => value(a) - value(b)
        : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
      const rows = [...table.tBodies[0].rows].sort(order);
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    });
  }
})();
