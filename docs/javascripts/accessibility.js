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

// Code with spaces in a table, such as a call, is broken at them where it does not fit; keys and
// addresses are not.
for (const code of document.querySelectorAll(".md-typeset td code")) {
  code.classList.toggle("breaks", code.textContent.includes(" "))
}

addEventListener("load", addTabStops)
addEventListener("resize", addTabStops)

// The theme puts the button of each code block into a `nav`. As landmarks these would all have the
// same name, none, in the list that a screen reader shows.
function groupButtons(changes) {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node instanceof Element && node.matches("nav.md-code__nav")) {
        node.setAttribute("role", "group")
      }
    }
  }
}

new MutationObserver(groupButtons).observe(document.body, { childList: true, subtree: true })
