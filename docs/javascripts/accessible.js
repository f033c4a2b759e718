// What the theme leaves to be done for screen readers and keyboards: a name for its search, and a
// place in the order of Tab for what scrolls.
addEventListener("load", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  const mark = () => document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre code").forEach((box) => {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1
  })
  new ResizeObserver(mark).observe(document.body)
})
