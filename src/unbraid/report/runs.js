// The table of runs, one run, and two of them side by side.

const runsTable = data => {
  const PAGE = 100; // rows drawn at a time
  const MISSING = "–";

  const columns = data.columns.map(column => {
    let cells = "same" in column ? new Array(data.rows).fill(column.same) : column.values;
    if (column.words) cells = cells.map(cell => (cell === null ? null : column.words[cell]));
    else cells = cells.map(cell => (typeof cell === "string" ? Number(cell) : cell)); // infinities
    const places = column.digits ?? 0;
    const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
    return { ...column, cells, numeric: !column.words, format };
  });

  const text = (column, row) => {
    const value = column.cells[row];
    if (value === null || value === "") return MISSING;
    if (!column.numeric) return value;
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    return column.digits === null ? String(Number(value.toPrecision(4))) : column.format.format(value);
  };

  // What is shown: rows that pass the filter, in order, a page at a time, in some of the columns.
  let order = [];
  let page = 0;
  let sorted = { column: null, descending: false };
  const shownColumns = () => columns.filter(column => column.main || find("all").checked);

  const named = name => columns.find(column => column.name === name) ?? columns.find(column => column.label === name);
  const compare = {
    "=": (a, b) => a === b, "!=": (a, b) => a !== b,
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
  };

  const words = columns.filter(column => !column.numeric);
  const haystack = Array.from({ length: data.rows }, (_, row) =>
    words.map(column => column.cells[row] ?? "").join("\n").toLowerCase());

  /** A test of rows for one word of the filter; null while a comparison is still being typed. */
  const test = word => {
    const [, name, sign, value] = word.match(/^([^<>=!]+)(<=|>=|!=|=|<|>)(.*)$/) ?? [];
    const column = name && named(name);
    if (!column) return row => haystack[row].includes(word.toLowerCase());
    if (value === "") return null;
    const wanted = column.numeric ? Number(value) : value.toLowerCase();
    return row => {
      const cell = column.cells[row];
      return cell !== null && compare[sign](column.numeric ? cell : cell.toLowerCase(), wanted);
    };
  };

  /** The names under which a legend may have a row. */
  const column = name => columns.find(found => found.name === name);
  const seriesOf = row => {
    if (!hiddenSeries.size) return [];
    const [method, set] = [column("method")?.cells[row], column("data")?.cells[row]];
    return [method, data.series?.[method], `${method}, ${set}`, column("run")?.cells[row]];
  };
  const hides = name => hiddenSeries.has(name);

  const collator = new Intl.Collator("en", { numeric: true });
  const arrange = () => {
    const tests = find("filter").value.split(/\s+/).filter(Boolean).map(test).filter(Boolean);
    order = [];
    for (let row = 0; row < data.rows; row++) if (!seriesOf(row).some(hides) && tests.every(passes => passes(row))) order.push(row);
    const { column, descending } = sorted;
    if (column) {
      const cells = column.cells;
      const sign = descending ? -1 : 1;
      order.sort((a, b) => {
        const [x, y] = [cells[a], cells[b]];
        if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last, either way
        return sign * (column.numeric ? (x < y ? -1 : x > y ? 1 : 0) : collator.compare(x, y));
      });
    }
    page = 0;
    drawRows();
  };

  const drawHead = () => {
    const heads = shownColumns().map(column => {
      const press = make("button", { type: "button", title: column.name });
      if (column.group) press.append(make("small", {}, column.group));
      press.append(...breakable(column.label));
      press.addEventListener("click", () => {
        sorted = { column, descending: sorted.column === column && !sorted.descending };
        markSorted();
        arrange();
      });
      const head = make("th", { scope: "col", className: column.numeric ? "number" : "" }, press);
      head.column = column;
      return head;
    });
    document.querySelector("#runs thead").replaceChildren(make("tr", {}, ...heads));
    markSorted();
  };

  const markSorted = () => {
    for (const head of document.querySelectorAll("#runs thead th")) {
      if (head.column !== sorted.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    }
  };

  const drawRows = () => {
    const shown = shownColumns();
    const first = page * PAGE;
    const rows = order.slice(first, first + PAGE).map((row, place) => make("tr", {}, ...shown.map(column => {
      if (column.name === "run") {
        const press = make("button", { type: "button" }, text(column, row));
        press.addEventListener("click", () => open(first + place));
        const head = make("th", { scope: "row", title: text(column, row) }, chooser(row, text(column, row)), press);
        if (data.explorers?.[row]) head.append(" ", explorer(row, "sliders"));
        return head;
      }
      const cell = make("td", { className: column.numeric ? "number" : "" });
      const words = text(column, row);
      if (column.name === "state") cell.append(state(words));
      else cell.textContent = words;
      if (column.name === "reason") Object.assign(cell, { className: "reason", title: words });
      return cell;
    })));
    if (!rows.length) rows.push(make("tr", {}, make("td", { colSpan: shown.length }, "No run matches.")));
    document.querySelector("#runs tbody").replaceChildren(...rows);
    const number = count => count.toLocaleString("en-US");
    const noun = data.rows === 1 ? "run" : "runs";
    find("count").textContent = order.length === data.rows
      ? `${number(data.rows)} ${noun}` : `${number(order.length)} of ${number(data.rows)} ${noun}`;
    find("pages").hidden = order.length <= PAGE;
    find("range").textContent = `${number(first + 1)}–${number(Math.min(first + PAGE, order.length))} of ${number(order.length)}`;
    find("back").disabled = page === 0;
    find("on").disabled = first + PAGE >= order.length;
  };

  const state = words => make("span", { className: `state ${words}` }, words);

  const turn = by => {
    page += by;
    drawRows();
    document.querySelector("#runs").parentElement.scrollTop = 0;
  };

  // One run

  let current = 0; // its place in the order
  const KINDS = {
    traversals: "Traversals", unit_traversals: "Traversals from −1 to 1", reconstructions: "Reconstructions",
    umap: "UMAP of the codes, by factor",
  };

  const explorer = (row, words) => make("a", { href: data.explorers[row], className: "explore", title: "Open its page with sliders" }, words);

  const open = place => {
    current = place;
    show(order[place]);
    find("run-back").disabled = place <= 0;
    find("run-on").disabled = place === order.length - 1;
    const dialog = find("run");
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    if (document.activeElement?.disabled) find("run-close").focus(); // a disabled button would swallow the keys
  };

  const show = row => {
    const name = text(column("run"), row);
    find("run-name").replaceChildren(...breakable(name));
    const parts = [...standing(row), ...pictures(row, name)];
    const lists = GROUPS.map(list(row));
    parts.push(make("div", { className: "lists" }, ...lists.filter(Boolean)));
    find("run-body").replaceChildren(...parts);
  };

  const GROUPS = [["", "Run"], ["settings", "Settings"], ["scores", "Scores"], ["terms", "Terms"]];

  /** How a run stands, and what is there besides pictures. */
  const standing = row => {
    const parts = [];
    const words = column("state")?.cells[row];
    const link = data.explorers?.[row] ? explorer(row, "Explore it with sliders") : "";
    if (words || link) parts.push(make("p", { className: "standing" }, words ? state(words) : "", link));
    if (column("reason")?.cells[row]) parts.push(make("p", {}, column("reason").cells[row]));
    if (data.faults?.[row]) parts.push(make("p", { className: "hint" }, data.faults[row]));
    const names = Object.entries(data.latents?.[row] ?? {});
    if (names.length) parts.push(make("p", {}, `Latents: ${names.map(([latent, name]) => `${latent} ${name}`).join(", ")}`));
    return parts;
  };

  const pictures = (row, name) => {
    const held = data.pictures?.[row] ?? {};
    const found = Object.entries(KINDS).filter(([kind]) => held[kind]).map(([kind, title]) => {
      const image = make("img", { alt: `${title} of ${name}` });
      image.addEventListener("error", () =>
        image.parentElement.replaceWith(make("p", { className: "hint" }, `${title}: the file ${kind}.png cannot be shown.`)));
      image.src = held[kind];
      return make("figure", {}, make("figcaption", {}, make("b", {}, title)), zoomable(image));
    });
    if (!found.length && data.notes?.[row]) {
      found.push(make("p", { className: "hint" }, `There are no traversals: ${data.notes[row]}`));
    } else if (!found.length && column("state")?.cells[row] === "done" && data.folders) {
      const command = make("code", {}, `unbraid show ${data.folders[row]}`);
      found.push(make("p", { className: "hint" }, "No traversals were drawn. ", command, " in this folder draws them; then write the report again."));
    }
    return found;
  };

  const list = row => ([group, title]) => {
    const shown = columns.filter(column => column.group === group && column.cells[row] !== null &&
      !(group === "" && ["run", "state", "reason"].includes(column.name)));
    if (!shown.length) return null;
    const cells = shown.flatMap(column => [make("dt", {}, ...breakable(column.label)), make("dd", {}, text(column, row))]);
    return make("div", {}, make("h4", {}, title), make("dl", {}, ...cells));
  };

  // Two runs side by side

  const chosen = []; // at most two rows; a third takes the place of the first

  const chooser = (row, name) => {
    const box = make("input", { type: "checkbox", checked: chosen.includes(row), ariaLabel: `Compare ${name}` });
    box.addEventListener("change", () => {
      if (box.checked) chosen.push(row);
      else chosen.splice(chosen.indexOf(row), 1);
      if (chosen.length > 2) { chosen.shift(); drawRows(); document.querySelector(`#runs input[aria-label="${CSS.escape(`Compare ${name}`)}"]`)?.focus(); }
      drawChosen();
    });
    return box;
  };

  const drawChosen = () => {
    const names = chosen.map(row => text(column("run"), row));
    find("pair-open").disabled = chosen.length < 2;
    find("pair-open").textContent = "Compare side by side";
    find("pair-names").textContent = names.length === 2 ? `${names[0]} and ${names[1]}` : names.length ? `${names[0]} and …` : "Tick two runs.";
  };

  const compareRuns = () => {
    const rows = [...chosen];
    const names = rows.map(row => text(column("run"), row));
    const sides = rows.map((row, side) => make("div", {}, make("h4", {}, ...breakable(names[side])), ...standing(row), ...pictures(row, names[side])));
    const bodies = GROUPS.map(([group, title]) => {
      const shown = columns.filter(one => one.group === group && !["run", "state", "reason"].includes(one.name) && rows.some(row => one.cells[row] !== null));
      if (!shown.length) return null;
      const lines = shown.map(one => {
        const [a, b] = rows.map(row => one.cells[row]);
        const winner = one.better && a !== null && b !== null && a !== b ? Number((one.better === "higher") === (b > a)) : null;
        const cells = rows.map((row, side) => make("td", { className: winner === side ? "better" : "" }, text(one, row)));
        return make("tr", { className: a === b ? "" : "differs" }, make("th", { scope: "row" }, ...breakable(one.label)), ...cells);
      });
      return make("tbody", {}, make("tr", { className: "group" }, make("th", { scope: "rowgroup", colSpan: 3 }, title)), ...lines);
    }).filter(Boolean);
    const head = make("thead", {}, make("tr", {}, make("td"), ...names.map(name => make("th", { scope: "col" }, ...breakable(name)))));
    find("pair-body").replaceChildren(make("div", { className: "sides" }, ...sides), make("table", {}, head, ...bodies));
    if (!find("pair").open) find("pair").showModal();
    find("pair").scrollTop = 0;
  };

  find("pair-open").addEventListener("click", compareRuns);
  find("pair-all").addEventListener("change", () => find("pair").classList.toggle("all", find("pair-all").checked));
  closable(find("pair"), find("pair-close"));

  find("filter").addEventListener("input", arrange);
  find("all").addEventListener("change", () => { drawHead(); drawRows(); });
  find("back").addEventListener("click", () => turn(-1));
  find("on").addEventListener("click", () => turn(1));
  find("run-back").addEventListener("click", () => open(current - 1));
  find("run-on").addEventListener("click", () => open(current + 1));
  closable(find("run"), find("run-close"));
  find("run").addEventListener("keydown", event => {
    if (event.key === "ArrowLeft" && current > 0) open(current - 1);
    if (event.key === "ArrowRight" && current < order.length - 1) open(current + 1);
  });
  drawHead();
  arrange();
  drawChosen();

  /** Open a run by its row, wherever the filter has put it. */
  const openRow = row => {
    if (!order.includes(row)) { find("filter").value = ""; arrange(); }
    open(order.indexOf(row));
  };

  /** The name of a run's score that has this value, to the digits that the page knows. */
  const scoreOf = (row, value) => value !== null && columns.find(one => one.group === "scores" && one.numeric &&
    one.cells[row] !== null && Math.abs(one.cells[row] - value) <= 1e-5 * Math.abs(value))?.label;

  return { arrange, open: openRow, describe: row => text(column("run"), row), scoreOf };
};

const source = find("data");
const table = source ? runsTable(JSON.parse(source.textContent)) : null; // none in a report without runs
