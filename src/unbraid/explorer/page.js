// The page: sliders that decode live, and what the codes mean. All text goes in as text nodes, never as HTML.
"use strict";

const COLUMNS = 9;  // pictures in a slider's strip
const GRID_COLUMNS = 11;
const GRID_ROWS = 16;
const SHOWN = 24;  // sliders at first; a button shows more
const PALETTE = ["#3b7dc4", "#e07b39", "#3f9f5f", "#c94a5e", "#8763b8", "#b79427", "#2aa5a0", "#d16ba5", "#7a7f87", "#8a5a3c"];
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

const page = JSON.parse(document.getElementById("page-content").textContent);

/** An element with properties, listeners (`onclick`), a class list, data and children. */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node) node[name] = value;
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const number = (value) => (value === null || value === undefined ? "–"
  : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : Math.abs(value) >= 100 ? value.toFixed(1)
  : Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 0.1 ? 3 : 2));
/** A name that a narrow column may break after an underscore. */
const broken = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function floatsOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** A colour for a factor's value: distinct ones for a few values, a scale for many. */
function colour(value, size) {
  if (size <= PALETTE.length) return PALETTE[value % PALETTE.length];
  const at = (value / Math.max(size - 1, 1)) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
  return `rgb(${RAMP[low].map((c, i) => Math.round(c + (RAMP[low + 1][i] - c) * (at - low))).join(" ")})`;
}

/** Names of latents, kept in the browser under the run's id. */
const names = {
  key: (id) => `unbraid names ${id}`,
  read(content) {
    let kept = {};
    try { kept = JSON.parse(localStorage.getItem(this.key(content.id))) || {}; } catch { /* storage is off */ }
    return { ...content.names, ...kept };
  },
  write(content, chosen) {
    try { localStorage.setItem(this.key(content.id), JSON.stringify(chosen)); } catch { /* storage is off */ }
  },
};

// Engines: what turns positions of sliders into pictures. `decode(positions, count)` gives RGBA pixels.

class WorkerEngine {
  constructor(content) {
    const source = document.getElementById("worker-source").textContent;
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.jobs = 0;
    this.worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.job);
      this.waiting.delete(data.job);
      if (data.error) reject(new Error(data.error)); else resolve(data);
    };
    this.encodes = content.encoder !== null;
    const { image, decoder, encoder } = content;
    this.ready = this.send({ load: { image, decoder, encoder, wasm: page.wasm } });
  }

  send(message) {
    const job = this.jobs++;
    return new Promise((resolve, reject) => {
      this.waiting.set(job, { resolve, reject });
      this.worker.postMessage({ ...message, job });
    });
  }

  decode(positions, count) { return this.send({ decode: positions, count }); }
  async encode(pixels) { return (await this.send({ encode: pixels })).positions; }
  close() { this.worker.terminate(); }
}

class ServerEngine {
  constructor(content) {
    this.size = content.image[1] * content.image[2] * 4;
    this.run = content.id;
    this.encodes = content.encodes;
    this.ready = Promise.resolve({ vectors: false });
  }

  async post(action, body) {
    const answer = await fetch(`${action}?run=${this.run}`, { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.arrayBuffer();
  }

  async decode(positions) {
    const start = performance.now(), pixels = new Uint8ClampedArray(await this.post("decode", positions));
    return { pixels, milliseconds: ((performance.now() - start) * this.size) / pixels.length };
  }

  async encode(pixels) { return new Float32Array(await this.post("encode", Uint8Array.from(pixels))); }
  close() {}
}

/** Without a decoder: the data picture whose code is nearest. */
class NearestEngine {
  constructor(content, sheet) {
    this.sheet = sheet;
    this.sliders = content.sliders;
    const encoder = content.encoder ? new WorkerEngine(content) : null;
    this.encodes = encoder !== null;
    this.encode = encoder && ((pixels) => encoder.encode(pixels));
    this.close = () => encoder && encoder.close();
    this.ready = sheet.ready.then(() => ({ vectors: false }));
  }

  /** The slider `focus`, which is being moved, counts for more than all others: else few moves would change anything. */
  nearest(position, focus) {
    const { positions, count } = this.sheet, width = this.sliders.length;
    const spread = (slider) => this.sliders[slider].spread, total = Math.hypot(...this.sliders.map((s) => s.spread));
    const weight = focus === null || !(spread(focus) > 0) ? 0 : (3 * total / spread(focus)) ** 2;
    let best = 0, least = Infinity;
    for (let i = 0; i < count; i++) {
      let distance = weight && weight * (positions[i * width + focus] - position[focus]) ** 2;
      for (let j = 0; j < width && distance < least; j++) distance += (positions[i * width + j] - position[j]) ** 2;
      if (distance < least) { least = distance; best = i; }
    }
    return best;
  }

  async decode(positions, count, focus = null) {
    await this.sheet.ready;
    const width = this.sliders.length, start = performance.now(), parts = [];
    for (let i = 0; i < count; i++) {
      parts.push(this.sheet.pixels(this.nearest(positions.subarray(i * width, (i + 1) * width), focus)));
    }
    const pixels = new Uint8ClampedArray(parts.reduce((sum, part) => sum + part.length, 0));
    parts.forEach((part, i) => pixels.set(part, i * part.length));
    return { pixels, milliseconds: (performance.now() - start) / count };
  }
}

/** The sheet of data pictures: one image that holds them all. */
class Sheet {
  constructor({ image, columns, count, random, rows, positions, factors }, [, height, width], sliders) {
    Object.assign(this, { columns, count, random, rows, factors, height, width, address: image });
    this.positions = floatsOf(positions);
    this.sliders = sliders;
    this.lines = Math.ceil(count / columns);
    this.image = new Image();
    this.ready = new Promise((resolve, reject) => { this.image.onload = resolve; this.image.onerror = reject; });
    this.image.src = image;
  }

  position(index) { return this.positions.slice(index * this.sliders, (index + 1) * this.sliders); }

  draw(index, canvas) {
    canvas.width = this.width; canvas.height = this.height;
    const x = (index % this.columns) * this.width, y = Math.floor(index / this.columns) * this.height;
    canvas.getContext("2d").drawImage(this.image, x, y, this.width, this.height, 0, 0, this.width, this.height);
  }

  pixels(index) {
    if (!this.canvas) {
      this.canvas = el("canvas", { width: this.image.width, height: this.image.height });
      this.context = this.canvas.getContext("2d", { willReadFrequently: true });
      this.context.drawImage(this.image, 0, 0);
    }
    const x = (index % this.columns) * this.width, y = Math.floor(index / this.columns) * this.height;
    return this.context.getImageData(x, y, this.width, this.height).data;
  }

  /** A button that shows one picture. */
  tile(index, label, onclick) {
    const x = index % this.columns, y = Math.floor(index / this.columns);
    return el("button", { class: "tile", title: label, "aria-label": label, "data-picture": index, onclick, style: {
      backgroundImage: `url(${this.address})`, backgroundSize: `${this.columns * 100}% ${this.lines * 100}%`,
      backgroundPosition: `${(x / Math.max(this.columns - 1, 1)) * 100}% ${(y / Math.max(this.lines - 1, 1)) * 100}%`,
    } });
  }
}

/** Decodes the newest position first, and strips of pictures while there is nothing newer. */
class Pictures {
  constructor(engine) {
    this.engine = engine;
    this.live = null;
    this.queue = [];
    this.busy = false;
    this.decoded = 0;
  }

  /** The picture of a position; a newer request takes the place of one that waits. */
  now(positions, show, focus) { this.live = { positions, count: 1, show, focus }; this.pump(); }

  /** Pictures for later; `key` replaces what waits under the same key. */
  later(key, positions, count, show, focus = null) {
    this.queue = this.queue.filter((job) => job.key !== key);
    this.queue.push({ key, positions, count, show, focus });
    this.pump();
  }

  forget() { this.queue = []; }

  async pump() {
    if (this.busy) return;
    const job = this.live || this.queue.shift();
    if (!job) return;
    if (job === this.live) this.live = null;
    this.busy = true;
    try {
      const { pixels, milliseconds } = await this.engine.decode(job.positions, job.count, job.focus);
      this.decoded += job.count;
      job.show(pixels, milliseconds);
    } catch (error) {
      say(`The picture could not be decoded: ${error.message}`);
    }
    this.busy = false;
    this.pump();
  }
}

function say(text) { document.getElementById("status").textContent = ` · ${text}`; }

/** Pictures beside each other on a canvas. */
function drawRow(canvas, pixels, count, height, width) {
  const gap = count > 1 ? Math.max(1, Math.round(width / 40)) : 0;
  canvas.width = (width + gap) * count - gap; canvas.height = height;
  const context = canvas.getContext("2d"), size = width * height * 4;
  for (let i = 0; i < count; i++) {
    context.putImageData(new ImageData(pixels.slice(i * size, (i + 1) * size), width, height), i * (width + gap), 0);
  }
}

const inView = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    target.visible = isIntersecting;
    if (isIntersecting && target.onvisible) target.onvisible();
  }
}, { rootMargin: "200px" });

class Explorer {
  /** A run in `root`. `compact`: the picture and the sliders alone, for two runs side by side. */
  constructor(root, content, { compact = false } = {}) {
    this.content = content;
    this.compact = compact;
    this.sliders = content.sliders;
    this.width = this.sliders.length;
    [, this.pictureHeight, this.pictureWidth] = content.image;
    this.sheet = content.sheet && new Sheet(content.sheet, content.image, this.width);
    this.decodes = content.check !== null;
    this.engine = !this.decodes ? new NearestEngine(content, this.sheet)
      : content.served ? new ServerEngine(content) : new WorkerEngine(content);
    this.pictures = new Pictures(this.engine);
    this.names = names.read(content);
    this.positions = new Float32Array(this.width);
    this.history = [];
    this.future = [];
    this.original = null;
    this.moved = null;  // the slider that was moved last, if it was one alone
    this.rows = new Map();  // slider -> its elements
    this.limit = SHOWN;
    this.listeners = [];
    this.matrix = content.matrices[0] || null;
    root.replaceChildren(this.build());
    if (this.sheet && this.sheet.count) this.choose(0, false); else this.refresh();
    this.history = [];
    this.update();
    this.agree();
  }

  close() { this.engine.close(); }

  // What the page knows of a slider

  name(slider) { return this.names[this.sliders[slider].name] || this.sliders[slider].name; }

  best(slider) {
    if (!this.matrix || !this.content.factors.length) return null;
    const row = this.matrix.cells[slider], factor = row.indexOf(Math.max(...row));
    return { factor, name: this.content.factors[factor].name, value: row[factor] };
  }

  used() { return this.sliders.map((_, i) => i).filter((i) => !this.sliders[i].unused); }

  // The current position

  set(positions, { keep = true, original = this.original } = {}) {
    if (keep) { this.history.push({ positions: this.positions.slice(), original: this.original }); this.future = []; }
    this.positions = Float32Array.from(positions, (v) => (Number.isFinite(v) ? v : 0));
    this.original = original;
    this.moved = null;
    this.refresh();
  }

  /** Move one slider; a drag is one step of undo. */
  move(slider, value, fresh) {
    if (fresh) { this.history.push({ positions: this.positions.slice(), original: this.original }); this.future = []; }
    this.positions[slider] = value;
    this.moved = slider;
    this.refresh();
  }

  undo() {
    const last = this.history.pop();
    if (!last) return;
    this.future.push({ positions: this.positions.slice(), original: this.original });
    this.set(last.positions, { keep: false, original: last.original });
  }

  redo() {
    const next = this.future.pop();
    if (!next) return;
    this.history.push({ positions: this.positions.slice(), original: this.original });
    this.set(next.positions, { keep: false, original: next.original });
  }

  reset() { this.set(new Float32Array(this.width), { original: null }); }

  /** A code as the data has them: each slider from a random picture's, so that none is out of its range. */
  random() {
    const { positions, count } = this.points();
    this.set(this.sliders.map((_, i) => positions[Math.floor(Math.random() * count) * this.width + i]), { original: null });
  }

  choose(index, keep = true) {
    this.set(this.sheet.position(index), { keep, original: { index } });
    for (const listener of this.listeners) listener(index);
  }

  points() {
    if (!this.scatter) this.scatter = { ...this.content.points, positions: floatsOf(this.content.points.positions) };
    return this.scatter;
  }

  // Drawing

  refresh() {
    this.pictures.now(this.positions.slice(), (pixels, milliseconds) => this.show(pixels, milliseconds), this.moved);
    this.update();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refreshStrips(), 90);
  }

  show(pixels, milliseconds) {
    drawRow(this.canvas, pixels, 1, this.pictureHeight, this.pictureWidth);
    this.canvas.dataset.shown = String(Number(this.canvas.dataset.shown || 0) + 1);
    this.pace.textContent = `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
  }

  /** All that follows from the position at once: sliders, marks, buttons, the original. */
  update() {
    for (const [slider, row] of this.rows) {
      const value = this.positions[slider], { low, high } = this.sliders[slider];
      if (document.activeElement !== row.range || Number(row.range.value) !== value) row.range.value = String(value);
      row.output.textContent = value.toFixed(2);
      const x = clamp((value - low) / (high - low), 0, 1) * 100;
      row.mark.setAttribute("x1", x); row.mark.setAttribute("x2", x);
    }
    this.undoButton.disabled = !this.history.length;
    this.redoButton.disabled = !this.future.length;
    this.showOriginal();
    if (this.drawPad) this.drawPad();
  }

  showOriginal() {
    this.stage.classList.toggle("alone", !this.original);
    this.originalFigure.hidden = !this.original;
    const index = this.original ? this.original.index : null;
    this.facts.textContent = "";
    if (this.original && index !== undefined && index !== null) {
      this.sheet.ready.then(() => this.sheet.draw(index, this.originalCanvas));
      const facts = this.content.factors.map(({ name }, k) => `${name} ${this.sheet.factors[k][index]}`);
      this.facts.textContent = facts.join(" · ");
    } else if (this.original) {
      this.originalCanvas.width = this.pictureWidth; this.originalCanvas.height = this.pictureHeight;
      this.originalCanvas.getContext("2d").putImageData(this.original.picture, 0, 0);
      this.facts.textContent = this.original.name;
    }
    if (this.tiles) for (const [i, tile] of this.tiles) tile.setAttribute("aria-pressed", String(i === index));
  }

  refreshStrips() {
    this.pictures.forget();
    for (const [slider, row] of this.rows) if (row.strip) { row.stale = true; if (row.card.visible) this.drawStrip(slider); }
    for (const part of [this.gridPart, this.pathPart]) if (part) { part.stale = true; if (part.visible) part.onvisible(); }
  }

  /** The pictures along a slider's range, from the current position. */
  along(slider, count) {
    const { low, high } = this.sliders[slider], positions = new Float32Array(count * this.width);
    for (let i = 0; i < count; i++) {
      positions.set(this.positions, i * this.width);
      positions[i * this.width + slider] = low + ((high - low) * i) / (count - 1);
    }
    return positions;
  }

  drawStrip(slider) {
    const row = this.rows.get(slider);
    if (!row || !row.stale || !row.strip) return;
    row.stale = false;
    this.pictures.later(`strip ${slider}`, this.along(slider, COLUMNS), COLUMNS, (pixels) => {
      drawRow(row.strip, pixels, COLUMNS, this.pictureHeight, this.pictureWidth);
    }, slider);
  }

  // Building

  build() {
    const left = el("div", { class: "left" }, this.buildStage());
    if (this.compact) return el("div", {}, left.firstChild, this.buildSliders());
    if (this.width > 1) left.append(this.buildPad());
    const right = el("div", { class: "right" }, this.buildSliders(), this.buildSheet(), this.buildMeaning(),
      this.buildGrid(), this.buildPath(), this.buildScores());
    const page = el("div", { class: "page" }, this.buildTop(right), el("div", { class: "columns" }, left, right));
    this.dropOn(page);
    return page;
  }

  buildTop(right) {
    const { title, about, notes } = this.content;
    const words = about.filter(([name]) => ["images", "steps", "seed", "beta", "network"].includes(name));
    const links = [...right.querySelectorAll("section")].map((section) =>
      el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
    return el("div", {},
      el("div", { class: "top" },
        el("div", {}, el("h1", {}, title), el("p", { class: "faint" }, words.map(([n, v]) => `${n} ${v}`).join(" · ")), this.headline()),
        el("nav", { "aria-label": "Contents" }, links)),
      notes.length ? el("div", { class: "notes" }, notes.map((note) => el("p", {}, note))) : null);
  }

  /** The scores most asked for, and how they were made. */
  headline() {
    const { scores } = this.content, rows = new Map((scores ? scores.rows : []).map(([name, value]) => [name, value]));
    const shown = page.highlights.filter((name) => rows.has(name)).slice(0, 3).map((name) => `${name} ${number(rows.get(name))}`);
    return shown.length ? el("p", { class: "faint" }, `${shown.join(" · ")} (protocol ${scores.protocol})`) : null;
  }

  buildStage() {
    this.canvas = el("canvas", { class: "picture", width: this.pictureWidth, height: this.pictureHeight, role: "img" });
    this.canvas.setAttribute("aria-label", this.decodes ? "the decoded picture" : "the nearest picture of the data");
    this.originalCanvas = el("canvas", { class: "original", width: this.pictureWidth, height: this.pictureHeight });
    this.pace = el("span", { class: "pace" });
    this.facts = el("div", { class: "facts" });
    this.originalFigure = el("figure", {}, this.originalCanvas, el("figcaption", {}, "original"));
    const caption = el("figcaption", {}, ...(this.decodes ? ["decoded", this.pace] : ["nearest picture"]));
    this.stage = el("div", { class: "stage" },
      this.originalFigure, el("figure", { class: "decoded" }, this.canvas, caption), this.facts);
    this.undoButton = el("button", { onclick: () => this.undo(), title: "Undo (U)" }, "Undo");
    this.redoButton = el("button", { onclick: () => this.redo(), title: "Redo (Y)" }, "Redo");
    const buttons = el("div", { class: "buttons" },
      el("button", { onclick: () => this.reset(), title: "All sliders to 0 (0)" }, "Reset"),
      el("button", { onclick: () => this.random(), title: "A random code (R)" }, "Random"), this.undoButton, this.redoButton);
    const keys = this.compact ? null : el("p", { class: "hint keys" }, "Keys: ← → slider, R random, 0 reset, U undo");
    return el("div", { class: "stage-box" }, this.stage, buttons, keys);
  }

  buildSliders() {
    this.list = el("div", { class: "sliders" });
    this.moreButton = el("button", { onclick: () => { this.limit += 60; this.fillSliders(); } });
    this.search = el("input", { type: "search", placeholder: "Find a slider", "aria-label": "Find a slider", oninput: () => {
      this.limit = SHOWN;
      this.fillSliders();
    } });
    this.search.hidden = this.width <= SHOWN;
    const unused = this.sliders.map((_, i) => i).filter((i) => this.sliders[i].unused);
    const which = unused.length <= 8 ? `: ${unused.map((i) => this.name(i)).join(", ")}` : "";
    this.unusedBox = el("input", { type: "checkbox", onchange: () => this.fillSliders() });
    this.endsBox = el("input", { type: "checkbox", checked: !this.content.factors.length, onchange: () => this.fillSliders() });
    const by = this.sliders[0].kl === null ? "by spread" : "by KL";
    const named = this.sliders.map(({ name }) => name), axis = named.find((name) => name.includes(" axis "));
    const axes = axis ? ` ${axis} is the first principal direction of feature ${axis.slice(1).split(" ")[0]}.` : "";
    const meaning = this.matrix ? " Beside each name: the factor it tells most about, and how much of it (1 is all)." : "";
    const header = el("header", {}, el("h2", {}, "Sliders"),
      el("span", { class: "hint" }, `${this.width - unused.length} of ${this.width} in use, most used first (${by}).${axes}${meaning} Click a name to change it.${
        this.compact ? "" : " Your browser keeps the name; names.json in the run's folder keeps it for everyone."}`), this.search,
      unused.length ? el("label", { class: "hint" }, this.unusedBox, ` show ${unused.length} unused${which}`) : null,
      this.content.extremes.length && !this.compact
        ? el("label", { class: "hint" }, this.endsBox, " real pictures at both ends") : null,
      this.compact ? null : el("button", { onclick: () => this.download() }, "Save names.json"));
    const section = el("section", { id: this.compact ? "" : "sliders" }, header, this.list,
      el("div", { class: "more" }, this.moreButton));
    this.fillSliders();
    return section;
  }

  fillSliders() {
    const asked = this.search.value.trim().toLowerCase();
    const wanted = this.sliders.map((_, i) => i).filter((i) => {
      const best = this.best(i);
      if (asked) return `${this.name(i)} ${this.sliders[i].name} ${best ? best.name : ""}`.toLowerCase().includes(asked);
      return this.unusedBox.checked || !this.sliders[i].unused;
    });
    const shown = wanted.length || asked ? wanted.slice(0, this.limit) : this.sliders.map((_, i) => i).slice(0, this.limit);
    this.rows.clear();
    this.list.replaceChildren(...shown.map((slider) => this.buildSlider(slider)));
    this.moreButton.hidden = wanted.length <= this.limit;
    this.moreButton.textContent = `Show more (${wanted.length - shown.length} left)`;
    if (asked && !wanted.length) this.list.append(el("p", { class: "hint" }, "No slider of that name."));
    if (this.undoButton) this.update();
  }

  buildSlider(slider) {
    const { low, high, histogram, kl, spread } = this.sliders[slider], span = high - low;
    const best = this.best(slider);
    const name = el("button", { class: "plain name", title: "Rename" });
    const own = this.sliders[slider].name;
    const label = () => name.replaceChildren(this.name(slider), ...(this.name(slider) === own ? [] : [el("small", {}, own)]));
    label();
    name.addEventListener("click", () => this.rename(slider, name, label));
    const peak = Math.max(...histogram, 1), step = 100 / histogram.length;
    const outline = histogram.map((count, i) => {
      const y = 20 - (19 * count) / peak;
      return `L${(i * step).toFixed(2)} ${y.toFixed(2)}L${((i + 1) * step).toFixed(2)} ${y.toFixed(2)}`;
    });
    const mark = svg("line", { y1: 0, y2: 20, x1: 0, x2: 0 });
    const bars = svg("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("path", { d: `M0 20${outline.join("")}L100 20Z` }), mark);
    const output = el("output", {});
    let dragging = false;
    const range = el("input", {
      type: "range", min: String(low), max: String(high), step: "any", "aria-label": this.name(slider),
      oninput: () => { this.move(slider, Number(range.value), !dragging); dragging = true; },
      onchange: () => { dragging = false; },
      ondblclick: () => { this.move(slider, 0, true); },
      title: "Arrow keys move it, a double click sets it to 0", onkeydown: (event) => {
        const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 }[event.key];
        if (!steps) return;
        event.preventDefault();
        this.move(slider, clamp(this.positions[slider] + (steps * span) / 40, low, high), !event.repeat);
      },
    });
    const strip = this.compact ? null : el("canvas", { class: "strip", title: "Click to move there", onclick: (event) => {
      const at = Math.floor((event.offsetX / strip.clientWidth) * COLUMNS);
      this.move(slider, low + (span * clamp(at, 0, COLUMNS - 1)) / (COLUMNS - 1), true);
    } });
    if (strip) { strip.width = this.pictureWidth * COLUMNS; strip.height = this.pictureHeight; }
    const weak = best && best.value < 0.1;
    const card = el("div", { class: "slider", "data-slider": slider,
      onmouseenter: () => this.light(slider, null), onmouseleave: () => this.light(null, null) },
      el("div", { class: "head" }, name,
        best ? el("span", { class: weak ? "best weak" : "best", title: `${this.matrix.name} with ${best.name}: ${number(best.value)}` },
          `${best.name} ${best.value.toFixed(2)}`) : null,
        el("span", { class: "kl", title: kl === null ? "standard deviation over the data" : "mean KL from the prior, in nats" }, kl === null ? `sd ${number(spread)}` : `KL ${number(kl)}`), output),
      bars, range, strip, this.ends(slider));
    card.onvisible = () => this.drawStrip(slider);
    this.rows.set(slider, { card, range, output, mark, strip, name, stale: true });
    inView.observe(card);
    return card;
  }

  /** Real pictures with the lowest and the highest positions of a slider. */
  ends(slider) {
    const ends = this.content.extremes[slider];
    if (!ends || this.compact || !this.endsBox.checked) return null;
    const box = el("div", { class: "ends" });
    for (const [side, pictures] of [["low", ends[0]], ["high", ends[1].slice().reverse()]]) {
      box.append(el("div", {}, pictures.map((index) =>
        this.sheet.tile(index, `${this.name(slider)} ${side}: ${this.describe(index)}`, () => this.choose(index)))));
    }
    return box;
  }

  describe(index) {
    const facts = this.content.factors.map(({ name }, k) => `${name} ${this.sheet.factors[k][index]}`);
    return [`picture ${this.sheet.rows[index]}`, ...facts].join(", ");
  }

  rename(slider, button, label) {
    const own = this.sliders[slider].name;
    const field = el("input", { type: "text", class: "rename", value: this.name(slider), maxLength: 40, "aria-label": `Name of ${own}` });
    let done = false;
    const finish = (keep) => {
      if (done) return;
      done = true;
      const text = field.value.trim();
      if (keep) {
        if (text && text !== own) this.names[own] = text; else delete this.names[own];
        names.write(this.content, this.names);
        this.renamed();
      }
      field.replaceWith(button);
      label();
      this.rows.get(slider).range.setAttribute("aria-label", this.name(slider));
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") finish(false);
      event.stopPropagation();
    });
    field.addEventListener("blur", () => finish(true));
    button.replaceWith(field);
    field.focus();
    field.select();
  }

  /** Put new names where sliders are named elsewhere. */
  renamed() { for (const node of this.labels || []) node.textContent = this.name(Number(node.dataset.label)); }

  label(slider, tag = "span") {
    const node = el(tag, { "data-label": slider }, this.name(slider));
    (this.labels ||= []).push(node);
    return node;
  }

  download() {
    const text = JSON.stringify({ [this.content.id]: this.names }, null, 1);
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "names.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** Highlight a slider and a factor wherever they are shown. */
  light(slider, factor) {
    for (const [i, row] of this.rows) row.card.classList.toggle("lit", i === slider && factor !== null);
    if (!this.heads) return;
    this.heads.rows.forEach((node, i) => node.classList.toggle("lit", i === slider));
    this.heads.columns.forEach((node, k) => node.classList.toggle("lit", k === factor));
  }

  buildPad() {
    const options = () => this.sliders.map((_, i) => {
      const option = this.label(i, "option");
      option.value = i;
      return option;
    });
    const x = el("select", { "aria-label": "Across" }, options()), y = el("select", { "aria-label": "Up" }, options());
    x.value = "0"; y.value = "1";
    const by = el("select", { "aria-label": "Colour of the dots" }, el("option", { value: "" }, "nothing"),
      this.content.factors.map(({ name }, k) => el("option", { value: k }, name)));
    if (this.best(0)) by.value = String(this.best(0).factor);
    const canvas = el("canvas", { width: 480, height: 480 }), key = el("div", { class: "key" });
    const pad = el("div", { class: "pad", tabIndex: 0, role: "application", "aria-label": "Pad: moves two sliders at once" }, canvas);
    const points = this.points();
    const place = (slider, value) => (value - this.sliders[slider].low) / (this.sliders[slider].high - this.sliders[slider].low);
    let backdrop = null;
    const paintDots = () => {
      backdrop = el("canvas", { width: canvas.width, height: canvas.height });
      const context = backdrop.getContext("2d"), i = Number(x.value), j = Number(y.value), k = by.value;
      const faint = getComputedStyle(document.documentElement).getPropertyValue("--faint").trim();
      context.globalAlpha = 0.75;
      for (let n = 0; n < points.count; n++) {
        context.fillStyle = k === "" ? faint : colour(points.factors[k][n], this.content.factors[k].size);
        context.beginPath();
        context.arc(place(i, points.positions[n * this.width + i]) * 480, (1 - place(j, points.positions[n * this.width + j])) * 480, 3.2, 0, 7);
        context.fill();
      }
      const factor = this.content.factors[k];
      key.replaceChildren(...(!factor ? [] : factor.size <= PALETTE.length
        ? Array.from({ length: factor.size }, (_, v) => el("span", {}, el("i", { style: { background: colour(v, factor.size) } }), String(v)))
        : [`0`, el("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${RAMP.map((c) => `rgb(${c.join(" ")})`).join(", ")})` } }), String(factor.size - 1)]));
      this.drawPad();
    };
    this.drawPad = () => {
      if (!backdrop) return;
      const context = canvas.getContext("2d"), i = Number(x.value), j = Number(y.value);
      context.clearRect(0, 0, 480, 480);
      context.drawImage(backdrop, 0, 0);
      const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink").trim();
      const px = clamp(place(i, this.positions[i]), 0, 1) * 480, py = (1 - clamp(place(j, this.positions[j]), 0, 1)) * 480;
      context.strokeStyle = ink; context.globalAlpha = 0.35; context.lineWidth = 1.5;
      context.beginPath(); context.moveTo(px, 0); context.lineTo(px, 480); context.moveTo(0, py); context.lineTo(480, py); context.stroke();
      context.globalAlpha = 1; context.lineWidth = 4;
      context.fillStyle = style.getPropertyValue("--raised").trim();
      context.beginPath(); context.arc(px, py, 10, 0, 7); context.fill(); context.stroke();
    };
    const to = (event, fresh) => {
      const box = pad.getBoundingClientRect(), i = Number(x.value), j = Number(y.value);
      const across = clamp((event.clientX - box.left) / box.width, 0, 1), up = 1 - clamp((event.clientY - box.top) / box.height, 0, 1);
      const moved = this.positions.slice();
      moved[i] = this.sliders[i].low + across * (this.sliders[i].high - this.sliders[i].low);
      moved[j] = this.sliders[j].low + up * (this.sliders[j].high - this.sliders[j].low);
      this.set(moved, { keep: fresh });
    };
    pad.addEventListener("pointerdown", (event) => { pad.setPointerCapture(event.pointerId); pad.focus({ preventScroll: true }); to(event, true); });
    pad.addEventListener("pointermove", (event) => { if (pad.hasPointerCapture(event.pointerId)) to(event, false); });
    pad.addEventListener("keydown", (event) => {
      const [slider, sign] = { ArrowLeft: [x, -1], ArrowRight: [x, 1], ArrowUp: [y, 1], ArrowDown: [y, -1] }[event.key] || [];
      if (!slider) return;
      event.preventDefault();
      const i = Number(slider.value), { low, high } = this.sliders[i];
      this.move(i, clamp(this.positions[i] + (sign * (high - low)) / 40, low, high), !event.repeat);
    });
    for (const select of [x, y, by]) select.addEventListener("change", paintDots);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintDots);
    requestAnimationFrame(paintDots);
    this.padChoice = (i, k) => { if (String(i) !== y.value) x.value = String(i); if (k !== null) by.value = String(k); paintDots(); };
    const tools = el("div", { class: "pad-tools" }, "across", x, "up", y);
    if (this.content.factors.length) tools.append("colour", by);
    const hint = el("p", { class: "hint" }, "Drag to move two sliders at once. Each dot is the code of a data picture.");
    return el("div", { class: "pad-box" }, hint, pad, tools, key);
  }

  buildSheet() {
    if (!this.sheet) return null;
    this.tiles = new Map();
    const grid = el("div", { class: "sheet" });
    for (let i = 0; i < this.sheet.random; i++) {
      const tile = this.sheet.tile(i, this.describe(i), () => this.choose(i));
      this.tiles.set(i, tile);
      grid.append(tile);
    }
    const picker = el("input", { type: "file", accept: "image/*", hidden: true, onchange: () => picker.files[0] && this.open(picker.files[0]) });
    const own = this.engine.encodes
      ? [picker, el("button", { onclick: () => picker.click() }, "Your own picture …")] : [];
    const hint = this.engine.encodes
      ? "A click encodes a picture of the data and sets the sliders. Or drop one of yours anywhere on this page." : "A click sets the sliders to its code.";
    return el("section", { id: "pictures" }, el("header", {}, el("h2", {}, "Pictures"), el("span", { class: "hint" }, hint), own), grid);
  }

  dropOn(page) {
    page.addEventListener("dragover", (event) => { event.preventDefault(); page.classList.add("over"); });
    page.addEventListener("dragleave", () => page.classList.remove("over"));
    page.addEventListener("drop", (event) => {
      event.preventDefault();
      page.classList.remove("over");
      const file = event.dataTransfer.files[0];
      if (file) this.open(file);
    });
  }

  /** Encode a picture file: its largest centred square, on white where it is transparent. */
  async open(file) {
    if (!this.engine.encodes) { say("This model cannot encode pictures here."); return; }
    let image;
    try { image = await createImageBitmap(file); } catch { say(`${file.name} cannot be read as a picture.`); return; }
    const [channels, height, width] = this.content.image, side = Math.min(image.width, image.height);
    const canvas = el("canvas", { width, height }), context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    context.imageSmoothingQuality = "high";
    context.drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, 0, 0, width, height);
    const picture = context.getImageData(0, 0, width, height), plane = width * height, pixels = new Float32Array(channels * plane);
    for (let i = 0; i < plane; i++) {
      const [r, g, b] = picture.data.subarray(i * 4, i * 4 + 3);
      if (channels < 3) {
        const grey = Math.round(0.299 * r + 0.587 * g + 0.114 * b);
        for (let c = 0; c < channels; c++) pixels[c * plane + i] = grey;
        picture.data.fill(grey, i * 4, i * 4 + 3);
      } else {
        pixels[i] = r; pixels[plane + i] = g; pixels[2 * plane + i] = b;
      }
    }
    this.set(await this.engine.encode(pixels), { original: { picture, name: file.name } });
  }

  buildMeaning() {
    const { factors, matrices } = this.content;
    if (!matrices.length) return null;
    const choice = el("select", { "aria-label": "Measure", onchange: () => {
      this.matrix = matrices[Number(choice.value)];
      fill();
      this.fillSliders();
    } }, matrices.map(({ name }, i) => el("option", { value: i }, name)));
    const table = el("table", { class: "matrix" }), note = el("span", { class: "hint" });
    const fill = () => {
      note.textContent = `${this.matrix.note}. A click shows the pair on the pad.`;
      const shown = this.used().slice(0, 60), rows = [];
      const columns = factors.map(({ name }) => el("th", { scope: "col" }, broken(name)));
      for (const slider of shown.length ? shown : [0]) {
        const head = el("th", { scope: "row" }, this.label(slider));
        rows[slider] = head;
        head.line = el("tr", {}, head, factors.map(({ name }, k) => {
          const value = this.matrix.cells[slider][k], cell = el("td", {
            class: value > 0.55 ? "strong" : "", "data-cell": `${slider} ${k}`, title: `${this.name(slider)}, ${name}: ${number(value)}`,
            style: { background: `rgb(var(--mark) / ${clamp(value, 0, 1).toFixed(3)})` },
            onmouseenter: () => { this.light(slider, k); cell.classList.add("lit"); },
            onmouseleave: () => { this.light(null, null); cell.classList.remove("lit"); },
            onclick: () => {
              if (this.padChoice) this.padChoice(slider, k);
              const row = this.rows.get(slider);
              if (row) { row.card.scrollIntoView({ block: "nearest" }); row.range.focus({ preventScroll: true }); }
            } }, value === null ? "" : value.toFixed(2));
          return cell;
        }));
      }
      this.heads = { rows, columns };
      table.replaceChildren(el("thead", {}, el("tr", {}, el("td", { style: { cursor: "auto" } }), columns)), el("tbody", {}, rows.map((head) => head.line)));
    };
    fill();
    return el("section", { id: "meaning" }, el("header", {}, el("h2", {}, "What it means"), choice, note), el("div", { class: "scroll" }, table));
  }

  buildGrid() {
    if (!this.decodes) return null;
    const grid = el("div", { class: "grid" }), section = el("section", { id: "traversals" },
      el("header", {}, el("h2", {}, "Traversals"), el("span", { class: "hint" }, "Each row moves one slider of the current picture over its range. A click goes there.")), grid);
    const shown = this.used().slice(0, GRID_ROWS), rows = new Map();
    for (const slider of shown.length ? shown : [0]) {
      const canvas = el("canvas", { width: this.pictureWidth * GRID_COLUMNS, height: this.pictureHeight, onclick: (event) => {
        const { low, high } = this.sliders[slider], at = clamp(Math.floor((event.offsetX / canvas.clientWidth) * GRID_COLUMNS), 0, GRID_COLUMNS - 1);
        this.move(slider, low + ((high - low) * at) / (GRID_COLUMNS - 1), true);
      } });
      rows.set(slider, canvas);
      grid.append(this.label(slider), canvas);
    }
    section.stale = true;
    section.onvisible = () => {
      if (!section.stale) return;
      section.stale = false;
      for (const [slider, canvas] of rows) {
        this.pictures.later(`grid ${slider}`, this.along(slider, GRID_COLUMNS), GRID_COLUMNS, (pixels) =>
          drawRow(canvas, pixels, GRID_COLUMNS, this.pictureHeight, this.pictureWidth));
      }
    };
    inView.observe(section);
    this.gridPart = section;
    return section;
  }

  /** Two pictures and the straight line between their codes. */
  buildPath() {
    if (!this.sheet || this.sheet.count < 2) return null;
    const ends = [{ positions: this.sheet.position(0) }, { positions: this.sheet.position(1) }];
    const strip = el("canvas", { class: "between", onclick: (event) => {
      go(clamp(Math.floor((event.offsetX / strip.clientWidth) * COLUMNS), 0, COLUMNS - 1) / (COLUMNS - 1), true);
    } });
    const slide = el("input", { type: "range", min: "0", max: "1", step: "any", value: "0", "aria-label": "Between the two pictures" });
    const between = (t) => ends[0].positions.map((v, i) => v + (ends[1].positions[i] - v) * t);
    const go = (t, keep) => { slide.value = String(t); this.set(between(t), { keep, original: null }); };
    let dragging = false;
    slide.addEventListener("input", () => { go(Number(slide.value), !dragging); dragging = true; });
    slide.addEventListener("change", () => { dragging = false; });
    const figures = ends.map((end, i) => {
      end.canvas = el("canvas", { width: this.pictureWidth, height: this.pictureHeight, onclick: () => go(i, true) });
      return el("figure", {}, end.canvas, el("button", { onclick: () => {
        end.positions = this.positions.slice();
        end.stale = section.moved = true;
        section.onvisible();
      } }, i ? "set end" : "set start"));
    });
    const section = el("section", { id: "path" },
      el("header", {}, el("h2", {}, "Between two pictures"),
        el("span", { class: "hint" }, "Choose a picture, then “set start” or “set end” takes it. Drag to walk from one to the other.")),
      el("div", { class: "path" }, figures[0], el("div", {}, strip, slide), figures[1]));
    section.moved = true;
    section.onvisible = () => {
      if (!section.moved) return;
      section.moved = false;
      const all = new Float32Array(COLUMNS * this.width);
      for (let i = 0; i < COLUMNS; i++) all.set(between(i / (COLUMNS - 1)), i * this.width);
      this.pictures.later("path", all, COLUMNS, (pixels) => {
        drawRow(strip, pixels, COLUMNS, this.pictureHeight, this.pictureWidth);
        const size = pixels.length / COLUMNS;
        drawRow(ends[0].canvas, pixels.slice(0, size), 1, this.pictureHeight, this.pictureWidth);
        drawRow(ends[1].canvas, pixels.slice(-size), 1, this.pictureHeight, this.pictureWidth);
      });
    };
    inView.observe(section);
    return section;
  }

  buildScores() {
    const { scores, about } = this.content;
    const settings = el("div", {}, el("h3", {}, scores ? "Settings" : ""), el("table", { class: "list" }, about.map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))));
    if (!scores) return el("section", { id: "scores" }, el("header", {}, el("h2", {}, "Settings")), settings);
    const nats = scores.rows.map(([name]) => name).filter((name) => ["reconstruction", "kl", "elbo"].includes(name));
    const counts = Object.entries(scores.samples).map(([name, count]) => `${Number(count).toLocaleString("en")} ${name}`).join(", ");
    return el("section", { id: "scores" }, el("header", {}, el("h2", {}, "Scores"),
      el("span", { class: "hint" }, `protocol ${scores.protocol}${counts ? `; rows: ${counts}` : ""}${nats.length ? `; ${nats.join(", ")} in nats` : ""}`)),
      el("div", { class: "tables" }, el("table", { class: "list" }, scores.rows.map(([name, value, low, high]) =>
        el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, number(value)),
          low === null ? null : el("td", {}, `${number(low)} to ${number(high)}`)))), settings));
  }

  /** Decode the picture that PyTorch decoded when the page was written, and say how far the two are apart. */
  async agree() {
    const { check } = this.content;
    await this.engine.ready.catch((error) => say(`The decoder could not be loaded: ${error.message}`));
    if (!check) return;
    const { pixels } = await this.engine.decode(floatsOf(check.positions), 1), expected = bytesOf(check.pixels);
    const [channels] = this.content.image, plane = this.pictureHeight * this.pictureWidth;
    let worst = 0;
    for (let c = 0; c < Math.min(channels, 3); c++) {
      for (let i = 0; i < plane; i++) worst = Math.max(worst, Math.abs(pixels[i * 4 + c] - expected[c * plane + i]));
    }
    const { vectors } = await this.engine.ready;
    this.difference = worst;
    say(`decoded ${this.content.served ? "by the server" : vectors ? "in this page with WebAssembly" : "in this page"}; a test picture differs from PyTorch's by at most ${worst} of 255`);
  }
}

// Several runs: a gallery, each run on its own, two side by side.

const app = document.getElementById("app");
let open = [];

function contentOf(index) { return JSON.parse(document.getElementById(`run-${index}`).textContent); }

function closeAll() { for (const explorer of open) explorer.close(); open = []; window.scrollTo(0, 0); }

function showRun(index) {
  closeAll();
  const box = el("div", {});
  app.replaceChildren(...(page.runs.length > 1 ? [backLink()] : []), box);
  open = [new Explorer(box, contentOf(index))];
}

const backLink = () => el("p", { style: { paddingTop: "1rem" } }, el("button", { class: "back", onclick: showGallery }, `← All ${page.runs.length} runs`));

function showPair(first, second) {
  closeAll();
  const boxes = [el("div", {}), el("div", {})];
  const chosen = [contentOf(first), contentOf(second)];
  const shared = el("div", { class: "sheet" });
  app.replaceChildren(backLink(), el("div", { class: "top" }, el("div", {}, el("h1", {}, "Side by side"),
    el("p", { class: "faint" }, "A click shows both models the same picture."))), shared,
    el("div", { class: "pair" }, boxes.map((box, i) => el("div", {}, el("h2", { style: { margin: "1rem 0" } }, page.runs[[first, second][i]].label), box))));
  open = boxes.map((box, i) => new Explorer(box, chosen[i], { compact: true }));
  const [left, right] = open;
  if (!left.sheet || !right.sheet) return;
  const places = new Map(right.sheet.rows.slice(0, right.sheet.random).map((row, i) => [row, i]));
  const same = chosen[0].data === chosen[1].data && chosen[0].image.join() === chosen[1].image.join();
  if (!same) { shared.replaceWith(el("p", { class: "notes" }, "These runs saw different data; each has its own sliders.")); return; }
  for (let i = 0; i < left.sheet.random; i++) {
    const other = places.get(left.sheet.rows[i]);
    if (other === undefined) continue;
    shared.append(left.sheet.tile(i, left.describe(i), () => { left.choose(i); right.choose(other); }));
  }
}

function showGallery() {
  closeAll();
  const scores = [...new Set(page.runs.flatMap(({ scores }) => Object.keys(scores)))];
  const sort = el("select", { "aria-label": "Sort by", onchange: () => fill() }, el("option", { value: "" }, "name"),
    scores.map((name) => el("option", { value: name }, name)));
  const order = el("button", { onclick: () => { down = !down; order.textContent = down ? "largest first" : "smallest first"; fill(); } }, "largest first");
  const search = el("input", { type: "search", placeholder: "Find a run", "aria-label": "Find a run", oninput: () => fill() });
  const compare = el("button", { disabled: true, onclick: () => showPair(...picked) }, "Compare two");
  const gallery = el("div", { class: "gallery" }), picked = [];
  let down = true;
  const fill = () => {
    const words = search.value.trim().toLowerCase();
    const shown = page.runs.map((run, i) => ({ run, i })).filter(({ run }) => run.label.toLowerCase().includes(words));
    if (sort.value) shown.sort((a, b) => ((a.run.scores[sort.value] ?? -Infinity) - (b.run.scores[sort.value] ?? -Infinity)) * (down ? -1 : 1));
    const first = [...new Set([sort.value, ...page.highlights])].filter((name) => name && scores.includes(name)).slice(0, 4);
    gallery.replaceChildren(...shown.map(({ run, i }) => {
      const box = el("input", { type: "checkbox", checked: picked.includes(i), onchange: () => {
        if (box.checked) { picked.push(i); if (picked.length > 2) picked.shift(); } else picked.splice(picked.indexOf(i), 1);
        compare.disabled = picked.length !== 2;
        fill();
      } });
      return el("div", { class: "run" }, el("button", { class: "open", onclick: () => showRun(i) },
        run.thumbnail ? el("img", { src: run.thumbnail, alt: "" }) : null,
        el("div", { class: "text" }, el("h3", {}, run.label), el("dl", {}, first.map((name) =>
          [el("dt", {}, name), el("dd", {}, number(run.scores[name]))])))),
      el("label", {}, box, "compare"));
    }));
  };
  fill();
  app.replaceChildren(el("div", { class: "top" }, el("div", {}, el("h1", {}, page.title),
    el("p", { class: "faint" }, `${page.runs.length} runs. Open one to move its sliders, or compare two.`)),
  el("nav", {}, search, sort, order, compare)), gallery);
}

document.addEventListener("keydown", (event) => {
  const [explorer] = open;
  if (!explorer || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "range") return;
  if ((event.ctrlKey || event.metaKey) && event.key === "z") { event.preventDefault(); explorer.undo(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = { r: "random", u: "undo", y: "redo", 0: "reset" }[event.key];
  if (action) { event.preventDefault(); for (const each of open) each[action](); }
});

// A page around this one (a notebook) is told of every move, and may move the sliders.
if (window.parent !== window) {
  let last = "";
  setInterval(() => {
    const [explorer] = open, text = explorer && Array.from(explorer.positions).join();
    if (explorer && text !== last) { last = text; window.parent.postMessage({ unbraid: "positions", positions: Array.from(explorer.positions) }, "*"); }
  }, 100);
  window.addEventListener("message", ({ data }) => {
    const [explorer] = open;
    if (explorer && data && data.unbraid === "move" && data.positions.length === explorer.width) explorer.set(data.positions, { original: null });
  });
}

if (page.runs.length > 1) showGallery(); else showRun(0);
