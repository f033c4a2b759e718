"use strict";
(() => {
  const tools = document.getElementById("tools");
  if (!tools) return;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const served = Boolean(tools.dataset.served);
  const list = document.getElementById("cards");
  const search = document.getElementById("search");
  const status = document.getElementById("status");
  const told = document.getElementById("decided");
  const link = document.getElementById("export");
  const seen = () => all(".card", list).filter((card) => !card.hidden);

  // Orders and filters: the server's work in the explorer, done here in a report.
  const cards = all(".card", list);
  const texts = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  const filters = ["model", "kind", "reason"].filter((name) => tools.elements[name]);
  const places = (card) => all("[data-sentence]", card);
  const only = {
    needs_review: (card) => card.dataset.review === "yes",
    undecided: (card) => places(card).some((place) => !place.dataset.made),
    decided: (card) => places(card).some((place) => place.dataset.made),
  };
  let outcome = "";
  const fits = (card, wanted) => (!outcome || card.dataset.outcome === outcome)
    && texts.get(card).includes(wanted)
    && (only[tools.elements.only?.value]?.(card) ?? true)
    && filters.every((name) => {
      const value = tools.elements[name].value;
      const own = name === "model" ? [card.dataset.model] : JSON.parse(card.dataset[name]);
      return !value || own.includes(value);
    });
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const card of cards) {
      card.hidden = !fits(card, wanted);
      shown += !card.hidden;
    }
    status.textContent = shown === cards.length ? "" : `${shown} of ${cards.length} shown`;
  };
  const order = () => {
    const by = tools.elements.sort.value;
    const value = (card) => (["changed", "gain"].includes(by) ? -1 : 1) * Number(card.dataset[by]);
    const sorted = by ? [...cards].sort((a, b) => value(a) - value(b)) : cards;
    list.append(...sorted);
  };
  const pick = (chip) => {
    outcome = chip.dataset.outcome;
    for (const other of all(".chip")) other.setAttribute("aria-pressed", String(other === chip));
    show();
  };
  if (served) {
    tools.addEventListener("change", (event) => { if (event.target !== search) tools.requestSubmit(); });
  } else {
    tools.addEventListener("submit", (event) => event.preventDefault());
    for (const chip of all(".chip")) chip.addEventListener("click", () => pick(chip));
    search.addEventListener("input", show);
    tools.addEventListener("change", () => { order(); show(); });
    // What the address names, "Go there" among it, is shown whatever is filtered.
    addEventListener("hashchange", () => {
      const card = cards.find((found) => `#${found.id}` === location.hash);
      if (card) { card.hidden = false; go(card); }
    });
  }

  // Images, large.
  const large = document.getElementById("large");
  list.addEventListener("click", (event) => {
    const button = event.target.closest(".enlarge");
    if (!button) return;
    const image = large.querySelector("img");
    image.src = button.dataset.large || button.firstElementChild.src;
    image.alt = button.firstElementChild.alt;
    large.showModal();
  });
  large.addEventListener("click", (event) => { if (event.target !== large.querySelector("button")) large.close(); });

  // What was read in a chart, in the explorer: read when asked for, as it takes a second.
  list.addEventListener("toggle", async (event) => {
    const place = event.target;
    const { reading } = place.dataset;
    if (!place.open || !reading) return;
    const answer = await fetch(reading).catch(() => null);
    if (!answer?.ok) {
      place.lastElementChild.textContent = "Not read. Is explore still running, and does the image still exist?";
      return;
    }
    place.outerHTML = await answer.text() || '<p class="aside">No chart was read.</p>';
  }, true);

  // Moving about.
  const go = (target) => {
    target.focus({ preventScroll: true });
    const block = target.matches(".card") ? "start" : "nearest";
    target.scrollIntoView({ block, behavior: calm.matches ? "auto" : "smooth" });
  };
  const move = (step, places) => {
    if (!places.length) return;
    const here = places.indexOf(document.activeElement.closest(".card, [data-sentence]"));
    if (here >= 0) return go(places[Math.min(Math.max(here + step, 0), places.length - 1)]);
    const after = document.activeElement.closest(".card, [data-sentence]");
    const next = after
      ? places.findIndex((p) => after.compareDocumentPosition(p) & Node.DOCUMENT_POSITION_FOLLOWING)
      : 0;
    const at = next < 0 ? places.length : next;
    go(places[Math.max(0, Math.min(after && step < 0 ? at - 1 : at, places.length - 1))]);
  };
  const moveCard = (step) => {
    const places = seen();
    const here = places.indexOf(document.activeElement.closest(".card"));
    if (places.length) go(places[here < 0 ? 0 : Math.min(Math.max(here + step, 0), places.length - 1)]);
  };
  const sentences = (within = list) => all("[data-sentence]", within).filter((s) => !s.closest(".card").hidden);

  // Decisions: sent to the server, or kept here and in the browser's storage until they are saved.
  const shelf = `decisions of ${document.title} ${document.getElementById("signature")?.textContent ?? ""}`;
  const stored = () => { try { return JSON.parse(localStorage.getItem(shelf)) ?? {}; } catch { return {}; } };
  const made = served ? {} : stored();
  const name = (place) => JSON.parse(place.dataset.rows).reject[0].sentence_id;
  const lines = () => sentencesAll.filter((place) => place.dataset.made).flatMap((place) => {
    const rows = JSON.parse(place.dataset.rows)[place.dataset.made];
    if (place.dataset.made === "edit") {
      const text = place.querySelector("textarea").value.trim();
      for (const row of rows) {
        row.rewrite = text;
        row.sentences[0].rewrite = text || null;
      }
    }
    return rows.map((row) => `${JSON.stringify({ annotator: "reviewer", ...row })}\n`);
  });
  const sentencesAll = all("[data-sentence]", list);
  const apply = document.getElementById("apply");
  const tell = (number, left) => {
    link.hidden = !number;
    if (apply) apply.hidden = !number;
    if (left !== undefined) document.getElementById("left").textContent = `${left.toLocaleString("en")} left to decide`;
    told.textContent = number ? `${number} decided` : "";
  };
  const madeHere = () => sentencesAll.filter((place) => place.dataset.made).length;
  const leftHere = () => document.getElementById("left") ? sentencesAll.length - madeHere() : undefined;
  const paint = (place, decision) => {
    place.dataset.made = decision;
    for (const button of all("[data-decision]", place)) {
      button.setAttribute("aria-pressed", String(button.dataset.decision === decision));
    }
  };
  const keep = async (place, decision) => {
    const text = decision === "edit" ? place.querySelector("textarea").value : "";
    if (served) {
      const caption = Number(place.closest(".card").id.slice(1));
      const body = JSON.stringify({ caption, sentence: Number(place.dataset.sentence), decision, text });
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch("decide", { method: "POST", headers, body }).catch(() => null);
      if (!answer?.ok) {
        told.textContent = "Not saved. Is explore still running, and is the disk full?";
        return false;
      }
      const { decided, left } = await answer.json();
      tell(decided, left);
    } else {
      if (decision) made[name(place)] = [decision, text]; else delete made[name(place)];
      try { localStorage.setItem(shelf, JSON.stringify(made)); } catch { /* kept in this page alone */ }
    }
    paint(place, decision);
    if (!served) tell(madeHere(), leftHere());
    return true;
  };
  const edit = (place) => {
    const box = place.querySelector(".edit");
    box.hidden = false;
    box.querySelector("textarea").focus();
  };
  const close = (place) => {
    place.querySelector(".edit").hidden = true;
    place.focus({ preventScroll: true });
  };
  const current = () => {
    const focused = document.activeElement;
    const place = focused.closest("[data-sentence]");
    if (place) return place;
    const card = focused.closest(".card");
    const open = sentences(card ?? list);
    return open.find((s) => !s.dataset.made) ?? open[0];
  };
  const decide = async (decision) => {
    const place = current();
    if (!place || (decision === "accept" && !place.querySelector("[data-decision=accept]"))) return;
    if (decision === "edit") {
      place.focus({ preventScroll: true });
      edit(place);
    } else if (await keep(place, decision)) {
      const places = sentences();
      const next = decision ? places.slice(places.indexOf(place) + 1).find((s) => !s.dataset.made) : place;
      go(next ?? place);
    }
  };
  list.addEventListener("click", async (event) => {
    const place = event.target.closest("[data-sentence]");
    const button = event.target.closest("[data-decision]");
    if (event.target.closest("[data-keep]")) {
      if (await keep(place, "edit")) close(place);
    } else if (button?.dataset.decision === "edit") {
      edit(place);
    } else if (button) {
      const again = button.getAttribute("aria-pressed") === "true";
      keep(place, again ? "" : button.dataset.decision);
    }
  });
  if (!served) {
    for (const place of sentencesAll) {
      const found = made[name(place)];
      if (!found) continue;
      if (found[0] === "edit") place.querySelector("textarea").value = found[1];
      paint(place, found[0]);
    }
    tell(madeHere(), leftHere());
    if (tools.elements.only?.value) { order(); show(); }
    link.addEventListener("click", () => {
      link.href = URL.createObjectURL(new Blob(lines(), { type: "application/jsonl" }));
    });
  }
  if (apply) {
    const dialog = document.getElementById("applying");
    const applied = document.getElementById("applied");
    apply.addEventListener("click", () => { applied.textContent = ""; dialog.showModal(); });
    document.getElementById("write").addEventListener("click", async (event) => {
      event.target.disabled = true;
      applied.textContent = "Writing…";
      const body = JSON.stringify({ undecided: dialog.querySelector("select").value });
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch("apply", { method: "POST", headers, body }).catch(() => null);
      applied.textContent = answer?.ok ? (await answer.json()).said : "Not written. Is explore still running?";
      event.target.disabled = false;
    });
  }
  document.addEventListener("keydown", async (event) => {
    const typing = event.target.closest("textarea");
    if (typing) {
      const place = typing.closest("[data-sentence]");
      if (event.key === "Escape") { event.preventDefault(); close(place); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (await keep(place, "edit")) close(place);
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; if (!served) show(); search.blur(); }
      return;
    }
    if (event.target.closest("select")) return;
    if (event.target.closest(".scroll") && event.key.startsWith("Arrow")) return;
    const page = (rel) => document.querySelector(`.pager [rel=${rel}]`)?.click();
    const does = {
      "/": () => search.focus(),
      j: () => moveCard(1), ArrowRight: () => moveCard(1), k: () => moveCard(-1), ArrowLeft: () => moveCard(-1),
      n: () => move(1, sentences()), p: () => move(-1, sentences()),
      a: () => decide("accept"), r: () => decide("reject"), e: () => decide("edit"), u: () => decide(""),
      "]": () => page("next"), "[": () => page("prev"),
    }[event.key];
    if (does) { event.preventDefault(); does(); }
  });
})();
