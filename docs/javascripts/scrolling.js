// Tables and pictures that are wider than the window scroll by themselves. A tab stop lets the
// arrow keys reach what is hidden, in browsers that give none to regions that scroll.
function addTabStops() {
  const regions = document.querySelectorAll(".md-typeset__scrollwrap, article p:has(> img), article pre > code")
  for (const region of regions) {
    const scrolls = region.scrollWidth > region.clientWidth
    if (scrolls && !region.querySelector("a, button")) {
      region.tabIndex = 0
    }
  }
}

addEventListener("load", addTabStops)
addEventListener("resize", addTabStops)
