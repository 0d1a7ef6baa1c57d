const find = id => document.getElementById(id);

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** A name that may break after its dots and underscores. */
const breakable = name => name.split(/(?<=[._])/).flatMap((part, place) => (place ? [make("wbr"), part] : [part]));

/** Close a dialog by its button or by a press beside it. */
const closable = (dialog, button) => {
  button.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
};

// Pictures: a press shows them as large as the window allows, the next one twice as large.

const ENLARGED = 4; // times a picture's own size, at most
let fitting = 1;

const zoomBy = (factor, event) => {
  const box = find("zoom-body");
  const image = find("zoom-image");
  const before = image.getBoundingClientRect();
  const [x, y] = event ? [(event.clientX - before.left) / before.width, (event.clientY - before.top) / before.height] : [0, 0];
  image.style.width = `${image.naturalWidth * factor}px`;
  image.style.imageRendering = factor > 1.5 ? "pixelated" : "auto";
  if (event) box.scrollTo(x * image.offsetWidth - box.clientWidth / 2, y * image.offsetHeight - box.clientHeight / 2);
};

const enlarge = picture => {
  const image = find("zoom-image");
  image.alt = picture.alt;
  image.src = picture.currentSrc || picture.src;
  find("zoom-name").textContent = picture.alt;
  find("zoom").showModal();
  const box = find("zoom-body");
  image.decode().then(() => {
    fitting = Math.min(ENLARGED, box.clientWidth / image.naturalWidth, box.clientHeight / image.naturalHeight);
    zoomBy(fitting);
    find("zoom").classList.remove("larger");
  });
};

document.addEventListener("click", event => {
  const picture = event.target.closest?.(".zoom")?.querySelector("img");
  if (picture) enlarge(picture);
});
find("zoom-image").addEventListener("click", event => {
  const larger = find("zoom").classList.toggle("larger");
  zoomBy(larger ? Math.max(2 * fitting, 1) : fitting, event);
});
closable(find("zoom"), find("zoom-close"));

/** A picture that a press enlarges. */
const zoomable = image => make("button", { type: "button", className: "zoom", ariaLabel: `Enlarge: ${image.alt}` }, image);

// Verdicts: a press on how many there are goes to the first of them, another to the next.

for (const press of document.querySelectorAll("button.tally")) {
  let next = 0;
  press.addEventListener("click", () => {
    const scope = press.closest("section") ?? document;
    const claims = scope.querySelectorAll(`tr.claim.v${press.dataset.verdict}`);
    const claim = claims[next++ % claims.length];
    if (claim.closest("details")) claim.closest("details").open = true;
    claim.scrollIntoView({ block: "center", behavior: "smooth" });
    claim.focus({ preventScroll: true });
  });
}
