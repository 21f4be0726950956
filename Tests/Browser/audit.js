// Functions that tests run in pages. Each one returns a list of faults in plain sentences, unless its comment says
// more.

// A short description of an element for a fault.
function describe(element) {
  const id = element.id ? `#${element.id}` : "";
  const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
  return `<${element.localName}${id}> "${text}"`;
}

function isVisible(element) {
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  const box = element.getBoundingClientRect();
  if (box.width <= 1 || box.height <= 1 || box.right <= 0) return false;
  // A caption that only screen readers see lies in a box of one pixel.
  for (let node = element; node; node = node.parentElement) {
    const outer = node.getBoundingClientRect();
    if (outer.width <= 1 && outer.height <= 1 && getComputedStyle(node).overflow !== "visible") return false;
  }
  return true;
}

// The text that a screen reader reads for an element.
function accessibleName(element) {
  const ids = (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
  const parts = ids.map((id) => document.getElementById(id)?.textContent || "");
  const labels = element.labels ? [...element.labels].map((label) => label.textContent) : [];
  const alternatives = [...element.querySelectorAll("img[alt]")].map((image) => image.alt);
  const texts = [
    parts.join(" "), element.getAttribute("aria-label"), labels.join(" "), element.textContent, alternatives.join(" "),
    element.getAttribute("title"),
  ];
  return texts.map((text) => (text || "").trim()).find((text) => text) || "";
}

// MARK: Structure

function structure() {
  return [...documentFaults(), ...headingFaults(), ...controlFaults(), ...tableFaults(), ...referenceFaults()];
}

function documentFaults() {
  const faults = [];
  if (!document.documentElement.lang) faults.push("The document has no language.");
  if (!document.title.trim()) faults.push("The document has no title.");
  if (!document.querySelector("meta[name=viewport]")) faults.push("The document has no viewport.");
  for (const name of ["main", "h1"]) {
    const count = document.querySelectorAll(name).length;
    if (count !== 1) faults.push(`The document has ${count} elements <${name}>.`);
  }
  const navigations = [...document.querySelectorAll("nav")];
  const names = navigations.map((node) => accessibleNameOf(node));
  if (names.some((name) => !name)) faults.push("A <nav> has no label.");
  if (new Set(names).size !== names.length) faults.push("Two <nav> have the same label.");
  for (const node of document.querySelectorAll("[style], [onclick], [onload], [onerror], [onmouseover], [onfocus]")) {
    faults.push(`${describe(node)} has an attribute with a style or a script.`);
  }
  for (const image of document.querySelectorAll("img:not([alt])")) {
    faults.push(`${describe(image)} has no alternative text.`);
  }
  for (const image of document.querySelectorAll("svg")) {
    const isHidden = image.closest("[aria-hidden=true]");
    const isNamed = image.getAttribute("aria-label") || image.querySelector("title") || accessibleNameOf(image);
    if (!isHidden && !isNamed) faults.push(`${describe(image)} has no name.`);
  }
  return faults;
}

// The label of an element whose content is not its name.
function accessibleNameOf(element) {
  const ids = (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
  const text = ids.map((id) => document.getElementById(id)?.textContent || "").join(" ");
  return (element.getAttribute("aria-label") || text).trim();
}

function headingFaults() {
  const faults = [];
  let last = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!heading.checkVisibility()) continue;
    const level = Number(heading.localName[1]);
    if (level > last + 1) faults.push(`${describe(heading)} follows a heading of level ${last}.`);
    if (!heading.textContent.trim()) faults.push(`${describe(heading)} is empty.`);
    last = level;
  }
  return faults;
}

function controlFaults() {
  const faults = [];
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    const isButton = ["submit", "button", "reset"].includes(field.type);
    const name = isButton ? field.value : [...(field.labels || [])].map((label) => label.textContent).join(" ").trim()
      || accessibleNameOf(field);
    if (!name) faults.push(`The field '${field.name}' (${field.type}) has no label.`);
  }
  for (const control of document.querySelectorAll("button, a[href], summary")) {
    if (!accessibleName(control)) faults.push(`${describe(control)} has no name.`);
  }
  for (const node of document.querySelectorAll("[tabindex]")) {
    if (node.tabIndex > 0) faults.push(`${describe(node)} changes the order of the Tab key.`);
  }
  for (const region of document.querySelectorAll("[role=region], [role=img]")) {
    if (!accessibleNameOf(region) && !region.querySelector("title")) faults.push(`${describe(region)} has no label.`);
  }
  return faults;
}

function tableFaults() {
  const faults = [];
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim() && !accessibleNameOf(table)) {
      faults.push(`${describe(table)} has neither a caption nor a label.`);
    }
    const headers = [...table.querySelectorAll("th")];
    if (!headers.length) faults.push(`${describe(table)} has no headers.`);
    for (const header of headers) if (!header.scope) faults.push(`${describe(header)} has no scope.`);
    const widths = new Set([...table.rows].map((row) => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0)));
    if (widths.size > 1) faults.push(`The rows of ${describe(table)} have different numbers of cells.`);
  }
  return faults;
}

function referenceFaults() {
  const faults = [];
  const counts = new Map();
  for (const node of document.querySelectorAll("[id]")) counts.set(node.id, (counts.get(node.id) || 0) + 1);
  for (const [id, count] of counts) if (count > 1) faults.push(`${count} elements have the id '${id}'.`);
  for (const name of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      for (const id of node.getAttribute(name).split(/\s+/).filter(Boolean)) {
        if (!counts.has(id)) faults.push(`${describe(node)} refers to the missing id '${id}'.`);
      }
    }
  }
  return faults;
}

// MARK: Size

// Whether the page scrolls to the right, and the elements that make it do so.
function overflow() {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const isInBox = (node) => {
    for (let outer = node.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
      if (getComputedStyle(outer).overflowX !== "visible") return true;
    }
    return false;
  };
  const wide = [...document.body.querySelectorAll("*")].filter(
    (node) => node.getBoundingClientRect().right > root.clientWidth + 1 && !isInBox(node),
  );
  return [`The page has ${root.scrollWidth} pixels: ${wide.slice(0, 3).map(describe).join(", ")}`];
}

// MARK: Contrast

// The red, green, blue and alpha of a colour in any notation, each from 0 to 1.
const knownColors = new Map();
function channels(color) {
  if (!knownColors.has(color)) {
    const canvas = new OffscreenCanvas(1, 1);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
    knownColors.set(color, [red / 255, green / 255, blue / 255, alpha / 255]);
  }
  return knownColors.get(color);
}

// A colour over another one, which has no transparency.
function over(front, back) {
  const alpha = front[3];
  return [0, 1, 2].map((index) => front[index] * alpha + back[index] * (1 - alpha)).concat(1);
}

// The relative luminance of WCAG 2.
function luminance(color) {
  const linear = color.slice(0, 3).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function ratio(first, second) {
  const [dark, light] = [luminance(first), luminance(second)].sort((left, right) => left - right);
  return (light + 0.05) / (dark + 0.05);
}

// The colour behind the content of an element; nil if it is an image.
function background(element) {
  const layers = [];
  for (let node = element; node; node = node.parentElement) {
    const style = getComputedStyle(node);
    if (style.backgroundImage !== "none") return null;
    const color = channels(style.backgroundColor);
    if (color[3] > 0) layers.push(color);
    if (color[3] === 1) break;
  }
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  let result = isDark ? [18 / 255, 18 / 255, 18 / 255, 1] : [1, 1, 1, 1];
  for (const layer of layers.reverse()) result = over(layer, result);
  return result;
}

// The colour of the shape of a drawing that lies below a text; the background of the drawing if there is none.
function shapeBelow(text) {
  const box = text.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  let result = background(text.ownerSVGElement);
  if (!result) return null;
  for (const shape of text.ownerSVGElement.querySelectorAll("rect, path, circle, ellipse, polygon, text")) {
    if (shape === text) break;
    const outer = shape.getBoundingClientRect();
    const style = getComputedStyle(shape);
    const isBelow = outer.left <= x && x <= outer.right && outer.top <= y && y <= outer.bottom;
    if (shape.localName === "text" || !isBelow || style.fill === "none" || shape.closest("defs")) continue;
    const [red, green, blue, alpha] = channels(style.fill);
    result = over([red, green, blue, alpha * Number(style.fillOpacity) * opacity(shape)], result);
  }
  return result;
}

function opacity(element) {
  let result = 1;
  for (let node = element; node; node = node.parentElement) result *= Number(getComputedStyle(node).opacity);
  return result;
}

// The texts whose contrast to their background is below a ratio.
function contrast(least) {
  const faults = new Set();
  const check = (element, color, back, text) => {
    if (!back) { faults.add(`${describe(element)} lies on an image.`); return; }
    const front = over([...color.slice(0, 3), color[3] * opacity(element)], back);
    const found = ratio(front, back);
    if (found < least) faults.add(`${describe(element)}, '${text.trim().slice(0, 30)}': ${found.toFixed(2)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["script", "style", "option", "title", "desc"].includes(element.localName)) continue;
    if (element.closest("[disabled]") || !isVisible(element)) continue;
    const style = getComputedStyle(element);
    if (element.ownerSVGElement) {
      const text = element.closest("text") || element;
      check(element, channels(style.fill), shapeBelow(text), node.data);
    } else {
      check(element, channels(style.color), background(element), node.data);
    }
  }
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (field.disabled || !isVisible(field)) continue;
    check(field, channels(getComputedStyle(field).color), background(field), field.name);
    if (!field.placeholder) continue;
    check(field, channels(getComputedStyle(field, "::placeholder").color), background(field), field.placeholder);
  }
  return [...faults];
}

// MARK: Keyboard

// Marks the elements that the Tab key must reach with their places in the document. Returns descriptions of them.
function markStops() {
  const selector = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const all = [...document.querySelectorAll(selector)].filter((node) => {
    if (node.disabled || node.tabIndex < 0 || !node.checkVisibility({ visibilityProperty: true })) return false;
    // Of a group of radio buttons, the Tab key reaches one.
    return node.type !== "radio" || node.checked;
  });
  all.forEach((node, index) => { node.testStop = index; });
  return all.map(describe);
}

// The element with the focus: its place among the marked elements, and whether it is seen to have the focus.
function focus() {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const style = getComputedStyle(node);
  const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
    && channels(style.outlineColor)[3] > 0;
  const box = node.getBoundingClientRect();
  const isSeen = box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  return {
    stop: node.testStop ?? null,
    text: describe(node),
    isVisible: (hasOutline || style.boxShadow !== "none") && isSeen,
  };
}

// MARK: Hostile texts

// Elements and values that only exist if a text of the store has become markup or a script.
function intrusions() {
  const faults = [];
  if (["owned", "1"].includes(document.title)) faults.push("A script of the store has set the title.");
  for (const node of document.querySelectorAll("body script, img, iframe, object, embed, base")) {
    faults.push(`${describe(node)} is in the page.`);
  }
  for (const node of document.querySelectorAll("*")) {
    for (const attribute of node.attributes) {
      if (attribute.name.startsWith("on")) faults.push(`${describe(node)} has the attribute ${attribute.name}.`);
      const isAddress = /^(href|src|action|formaction)$/.test(attribute.name);
      if (isAddress && /^\s*(javascript|data|vbscript):/i.test(attribute.value)) {
        faults.push(`${describe(node)} leads to ${attribute.value.slice(0, 40)}`);
      }
    }
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("The page has another heading.");
  return faults;
}
