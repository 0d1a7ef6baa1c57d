// Figures: a dot tells its run and its values, and opens the run; an entry of a legend hides its series everywhere.

const REACH = { mouse: 10, pen: 14, touch: 26 }; // pixels between a pointer and a dot that it means
const hiddenSeries = new Set();
const drawings = [...document.querySelectorAll(".card svg")];

/** The dots of a drawing: where they are in it, and what they are. */
const dotsOf = drawing => (drawing.dots ??= [...drawing.querySelectorAll("g.series[data-y]")].flatMap(group => {
  const numbers = name => group.dataset[name].split(" ").map(word => (word === "" ? null : Number(word)));
  const [xs, ys] = [numbers("x"), numbers("y")];
  const rows = group.dataset.runs?.split(",");
  return [...group.querySelectorAll("use")].map((use, place) => ({
    drawing, group, series: group.dataset.series, across: use.x.baseVal.value, down: use.y.baseVal.value,
    x: xs[place], y: ys[place], row: rows?.[place] ? Number(rows[place]) : null,
  }));
}));

let byRow = null;
const dotsOfRun = row => {
  if (!byRow) {
    byRow = new Map();
    for (const dot of drawings.flatMap(dotsOf)) if (dot.row !== null) byRow.set(dot.row, [...(byRow.get(dot.row) ?? []), dot]);
  }
  return byRow.get(row) ?? [];
};

/** The dot nearest to a pointer, if it is near. */
const pointed = (drawing, event) => {
  const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
  const reach = (REACH[event.pointerType] ?? REACH.mouse) / drawing.getScreenCTM().a;
  let [nearest, least] = [null, reach * reach];
  for (const dot of dotsOf(drawing)) {
    const distance = (dot.across - place.x) ** 2 + (dot.down - place.y) ** 2;
    if (distance < least && !hiddenSeries.has(dot.series)) [nearest, least] = [dot, distance];
  }
  return nearest;
};

const tip = find("tip");
let shownDot = null;

const number = value => String(Number(value.toPrecision(4))).replace("-", "−");

/** What a dot shows: values by the names of the run's scores, else by those of the axes. */
const values = dot => [["x", dot.x], ["y", dot.y]].flatMap(([axis, value]) => {
  const name = (dot.row !== null && table?.scoreOf(dot.row, value)) || dot.group.dataset[`${axis}name`];
  return value !== null && name ? [make("div", {}, make("span", {}, name), make("b", {}, number(value)))] : [];
});

const show = (dot, event) => {
  const touched = event.pointerType === "touch";
  if (dot !== shownDot) {
    unmark();
    shownDot = dot;
    const swatch = make("i");
    swatch.style.background = getComputedStyle(dot.group.querySelector("use")).fill;
    const about = dot.row === null ? "" : table?.describe(dot.row) ?? "";
    const lines = values(dot);
    if (!lines.length) lines.push(make("div", {}, make("b", {}, number(dot.y))));
    tip.replaceChildren(...(dot.series ? [make("p", {}, swatch, dot.series)] : []), ...lines);
    if (about) tip.append(make("p", { className: "hint" }, about));
    if (dot.row !== null && touched) {
      const press = make("button", { type: "button" }, "Open the run");
      press.addEventListener("click", () => { hide(); table.open(dot.row); });
      tip.append(press);
    }
    for (const twin of dot.row === null ? [dot] : dotsOfRun(dot.row)) {
      const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [name, value] of [["class", "ring"], ["cx", twin.across], ["cy", twin.down], ["r", 4.5]]) ring.setAttribute(name, value);
      if (!hiddenSeries.has(twin.series)) twin.drawing.append(ring);
    }
    dot.drawing.style.cursor = dot.row === null ? "" : "pointer";
    tip.classList.toggle("touch", touched);
    tip.hidden = false;
  }
  const corner = dot.drawing.getScreenCTM();
  const [x, y] = [corner.a * dot.across + corner.e, corner.d * dot.down + corner.f];
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(x - width / 2, innerWidth - width - 8))}px`;
  tip.style.top = `${y - height - 14 > 4 ? y - height - 14 : y + 16}px`;
};

const unmark = () => {
  for (const ring of document.querySelectorAll("circle.ring")) ring.remove();
  if (shownDot) shownDot.drawing.style.cursor = "";
  shownDot = null;
};

const hide = () => {
  unmark();
  tip.hidden = true;
};

for (const drawing of drawings) {
  const point = event => {
    const dot = pointed(drawing, event);
    if (dot) show(dot, event);
    else hide();
  };
  drawing.addEventListener("pointermove", event => { if (event.pointerType !== "touch") point(event); });
  drawing.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") hide(); });
  drawing.addEventListener("click", event => {
    const key = event.target.closest("g.key");
    if (key) toggle(key.dataset.series);
    else if (event.pointerType === "touch") point(event);
    else {
      const dot = pointed(drawing, event);
      if (dot && dot.row !== null) { hide(); table.open(dot.row); }
    }
  });
}
addEventListener("scroll", hide, { passive: true, capture: true });
document.addEventListener("pointerdown", event => {
  if (!event.target.closest?.(".card svg, #tip")) hide();
});
document.addEventListener("keydown", event => { if (event.key === "Escape") hide(); });

// Legends

const keys = [...document.querySelectorAll(".card g.key")];
for (const key of keys) {
  key.append(Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "title"), { textContent: "Hide or show it on the whole page" }));
  if (!key.querySelector("text")) continue;
  for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["aria-pressed", "true"]]) key.setAttribute(name, value);
  key.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    toggle(key.dataset.series);
  });
}

const toggle = series => {
  if (!hiddenSeries.delete(series)) hiddenSeries.add(series);
  redraw();
};

const redraw = () => {
  hide();
  for (const group of document.querySelectorAll(".card g.series[data-series]")) group.classList.toggle("off", hiddenSeries.has(group.dataset.series));
  for (const key of keys) {
    const off = hiddenSeries.has(key.dataset.series);
    key.classList.toggle("off", off);
    if (key.hasAttribute("aria-pressed")) key.setAttribute("aria-pressed", String(!off));
  }
  find("hidden").hidden = !hiddenSeries.size;
  find("hidden-names").replaceChildren(...[...hiddenSeries].map(series => {
    const press = make("button", { type: "button", title: "Show it again" }, series);
    press.addEventListener("click", () => toggle(series));
    return press;
  }));
  table?.arrange();
};

find("hidden-none").addEventListener("click", () => { hiddenSeries.clear(); redraw(); });
