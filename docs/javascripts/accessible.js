// What the theme leaves to be done for screen readers and keyboards: a name for its search, and a
// place in the order of Tab for what scrolls, now and whenever it or what it holds changes its size.
addEventListener("load", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  const boxes = () => [...document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre code")]
  const mark = () => boxes().forEach((box) => {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1
  })
  mark()
  const sizes = new ResizeObserver(mark)
  for (const box of [document.body, ...boxes()]) {
    sizes.observe(box)
    if (box.firstElementChild) sizes.observe(box.firstElementChild)
  }
})
