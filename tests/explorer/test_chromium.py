"""The page in Chromium, driven by real events."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch

from tests.examples.squares import squares
from tests.explorer.made import HOSTILE, trained
from tests.explorer.networks import Case, decoder_case, encoder_case
from unbraid import nets
from unbraid.explorer import explore
from unbraid.explorer.content import content_of
from unbraid.explorer.network import trace
from unbraid.explorer.page import page_of
from unbraid.explorer.server import Server
from unbraid.runs.recording import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about a VAE, one about a learner without a decoder, and a gallery of three."""
    folder = tmp_path_factory.mktemp("pages")
    runs = [trained(folder / name, "beta_vae", 150, seed=seed)[0] for seed, name in enumerate(("first", "second"))]
    data = squares(3)
    explore(runs[0], folder / "vae.html", data=data)
    explore(runs, folder / "gallery.html", data=data)
    contrastive, pairs = trained(folder / "contrastive", "contrastive")
    explore(contrastive, folder / "contrastive.html", data=pairs)
    hostile = squares()
    hostile.names = (HOSTILE, "column")
    run = train("autoencoder", hostile, steps=2, out=folder / "<img src=x>", protocol=None, network="tiny", latents=2)
    (run.folder / "names.json").write_text(json.dumps({run.config.id: {"z0": "<img src=x onerror=alert(1)>"}}))
    explore(run, folder / "hostile.html", data=hostile)
    return folder


def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The first true result of a condition."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
    return found


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def every(browser: Any, selector: str) -> list[Any]:
    return list(browser.find_elements("css selector", selector))


def button(browser: Any, text: str) -> Any:
    return browser.find_element("xpath", f"//button[normalize-space()='{text}']")


def picture(browser: Any, selector: str = ".picture") -> list[int]:
    """The pixels of a canvas."""
    script = (
        "const c = document.querySelector(arguments[0]);"
        "return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)"
    )
    return list(browser.execute_script(script, selector))


def values(browser: Any) -> list[float]:
    return [float(node.get_attribute("value")) for node in every(browser, ".slider input[type=range]")]


def opened(browser: Any, path: Path) -> Any:
    """The browser with a page open that has decoded its first picture, and nothing in its console."""
    browser.get("about:blank")
    browser.get(path.as_uri())
    if not path.name.startswith("gallery"):
        until(lambda: one(browser, ".picture").get_attribute("data-shown"))
    return browser


def assert_quiet(browser: Any) -> None:
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


DECODE = """
const [packed, inputs, image, encoding, done] = arguments;
const url = URL.createObjectURL(new Blob([document.getElementById("worker-source").textContent]));
const worker = new Worker(url), wasm = JSON.parse(document.getElementById("page-content").textContent).wasm;
const found = [];
let vectors = null, milliseconds = null;
worker.onmessage = ({ data }) => {
  if (data.error) { done({ error: data.error }); return; }
  if (data.vectors !== undefined) vectors = data.vectors;
  if (data.positions) found.push(Array.from(data.positions));
  if (data.pixels) { found.push(Array.from(data.pixels)); milliseconds = data.milliseconds; }
  if (found.length < (encoding ? inputs.length : 1)) return;
  worker.terminate();
  done({ found, vectors, milliseconds });
};
const networks = encoding ? { decoder: null, encoder: packed } : { decoder: packed, encoder: null };
worker.postMessage({ job: 0, load: { image, wasm, ...networks } });
if (encoding) for (const input of inputs) worker.postMessage({ job: 1, encode: Float32Array.from(input) });
else worker.postMessage({ job: 1, decode: Float32Array.from(inputs.flat()), count: inputs.length });
"""


def in_chromium(browser: Any, case: Case, image: tuple[int, int, int]) -> dict[str, Any]:
    packed = trace(case.function, case.inputs[:1], "network").packed()
    inputs = case.inputs.float().flatten(1).tolist()
    answer: dict[str, Any] = browser.execute_async_script(DECODE, packed, inputs, list(image), not case.pixels)
    assert "error" not in answer, answer
    assert answer["vectors"]
    return answer


@pytest.mark.parametrize("name", nets.PAIRS)
def test_every_network_decodes_in_the_page_as_in_pytorch(name: str, browser: Any, folder: Path) -> None:
    opened(browser, folder / "vae.html")
    case = decoder_case(name)
    with torch.no_grad():
        expected = case.function(case.inputs)
    answer = in_chromium(browser, case, tuple(expected.shape[1:]))  # type: ignore[arg-type]
    n, _, height, width = expected.shape
    pixels = np.array(answer["found"][0], float).reshape(n, height, width, 4)[..., :3].transpose(0, 3, 1, 2)
    difference = np.abs(pixels - 255 * expected.numpy()).max()
    print(f"{name}: differs by {difference:.2f} of 255, {1000 / answer['milliseconds']:.0f} pictures/s at {height}")
    assert difference <= 2


@pytest.mark.parametrize("name", nets.PAIRS)
def test_every_network_encodes_in_the_page_as_in_pytorch(name: str, browser: Any, folder: Path) -> None:
    opened(browser, folder / "vae.html")
    case = encoder_case(name)
    with torch.no_grad():
        expected = case.function(case.inputs).numpy()
    found = np.array(in_chromium(browser, case, tuple(case.inputs.shape[1:]))["found"])  # type: ignore[arg-type]
    assert np.abs(found - expected).max() <= 0.01 * max(1.0, float(np.abs(expected).max()))


def test_the_page_checks_itself_against_pytorch(browser: Any, folder: Path) -> None:
    opened(browser, folder / "vae.html")
    text = until(lambda: one(browser, "#status").text)
    assert "in this page with WebAssembly" in text
    assert int(text.split("at most ")[1].split()[0]) <= 2
    assert_quiet(browser)


def test_a_slider_moves_the_picture_by_mouse_and_keys(browser: Any, folder: Path) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    opened(browser, folder / "vae.html")
    before, first = picture(browser), one(browser, ".slider input[type=range]")
    start = values(browser)
    ActionChains(browser).click_and_hold(first).move_by_offset(90, 0).release().perform()
    until(lambda: picture(browser) != before)
    dragged = values(browser)
    assert dragged[0] != pytest.approx(start[0], abs=1e-3)
    assert dragged[1:] == start[1:]
    first.send_keys(Keys.ARROW_LEFT)
    assert values(browser)[0] < dragged[0]
    assert every(browser, ".slider output")[0].text == f"{values(browser)[0]:.2f}"
    button(browser, "Undo").click()
    assert values(browser) == pytest.approx(dragged, abs=1e-4)
    button(browser, "Undo").click()
    assert values(browser) == pytest.approx(start, abs=1e-4)
    until(lambda: picture(browser) == before)
    button(browser, "Redo").click()
    assert values(browser) == pytest.approx(dragged, abs=1e-4)
    assert_quiet(browser)


def test_reset_random_and_their_keys(browser: Any, folder: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, folder / "vae.html")
    button(browser, "Reset").click()
    assert values(browser) == pytest.approx([0] * 4, abs=1e-4)
    one(browser, "body").send_keys("r")
    random = values(browser)
    assert random != pytest.approx([0] * 4)
    one(browser, "body").send_keys(Keys.CONTROL, "z")
    assert values(browser) == pytest.approx([0] * 4, abs=1e-4)


def test_a_click_on_a_picture_shows_its_reconstruction(browser: Any, folder: Path) -> None:
    opened(browser, folder / "vae.html")
    one(browser, '.sheet [data-picture="7"]').click()
    run, data = trained(folder / "first", "beta_vae", 150, seed=0)
    sheet = content_of(run, data).values["sheet"]
    image = data.images_at([sheet["rows"][7]])
    until(lambda: picture(browser, ".original")[0::4] == image[0, 0].flatten().tolist())
    with torch.inference_mode():
        expected = run.method().decode(run.method().encode(image))[0, 0].flatten() * 255
    until(lambda: np.abs(np.array(picture(browser)[0::4]) - expected.numpy()).max() <= 2)
    facts = one(browser, ".facts").text
    assert facts == f"row {sheet['factors'][0][7]} · column {sheet['factors'][1][7]}"


def test_a_picture_of_ones_own_is_encoded(browser: Any, folder: Path, tmp_path: Path) -> None:
    from PIL import Image

    opened(browser, folder / "vae.html")
    run, data = trained(folder / "first", "beta_vae", 150, seed=0)
    image = data.images_at([21])
    Image.fromarray(image[0].permute(1, 2, 0).numpy()).save(tmp_path / "own.png")
    one(browser, "input[type=file]").send_keys(str(tmp_path / "own.png"))
    until(lambda: one(browser, ".facts").text == "own.png")
    with torch.inference_mode():
        expected = content_of(run, data).sliders.positions(run.method().encode(image))[0].tolist()
    outputs = [float(node.text) for node in every(browser, ".slider output")]
    assert outputs == pytest.approx(expected[: len(outputs)], abs=0.02)
    (tmp_path / "own.txt").write_text("not a picture")
    one(browser, "input[type=file]").send_keys(str(tmp_path / "own.txt"))
    until(lambda: "own.txt cannot be read as a picture" in one(browser, "#status").text)


def test_the_pad_moves_two_sliders(browser: Any, folder: Path) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    opened(browser, folder / "vae.html")
    start, pad = values(browser), one(browser, ".pad")
    ActionChains(browser).move_to_element_with_offset(pad, 60, -80).click().perform()
    moved = values(browser)
    assert moved[0] != pytest.approx(start[0], abs=1e-3)
    assert moved[1] != pytest.approx(start[1], abs=1e-3)
    assert moved[2:] == start[2:]
    pad.send_keys(Keys.ARROW_UP)
    assert values(browser)[1] > moved[1]


def test_the_matrix_points_at_sliders_and_factors(browser: Any, folder: Path) -> None:
    from selenium.webdriver import ActionChains

    opened(browser, folder / "vae.html")
    cell = one(browser, '[data-cell="1 0"]')
    ActionChains(browser).scroll_to_element(cell).move_to_element(cell).perform()
    assert "lit" in one(browser, '[data-slider="1"]').get_attribute("class")
    assert one(browser, ".matrix th.lit").text == "row"
    cell.click()
    assert browser.execute_script("return document.activeElement.closest('.slider').dataset.slider") == "1"
    best = [float(node.text.rsplit(" ", 1)[1]) for node in every(browser, ".best")]
    rows = [line.find_elements("css selector", "td") for line in every(browser, ".matrix tbody tr")]
    assert best == [max(float(cell.text) for cell in row) for row in rows]


def test_names_are_kept_and_downloaded(browser: Any, folder: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, folder / "vae.html")
    one(browser, ".slider .name").click()
    field = one(browser, ".slider input.rename")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("size <b>", Keys.ENTER)
    assert one(browser, ".slider .name").text.startswith("size <b>")
    assert one(browser, ".matrix tbody th").text == "size <b>"
    browser.refresh()
    until(lambda: one(browser, ".slider .name").text.startswith("size <b>"))
    button(browser, "Save names.json").click()
    saved = browser.downloads / "names.json"
    until(saved.exists)
    run, data = trained(folder / "first", "beta_vae", 150, seed=0)
    [name] = content_of(run, data).values["sliders"][:1]
    assert json.loads(saved.read_text()) == {run.config.id: {name["name"]: "size <b>"}}
    assert_quiet(browser)
    browser.execute_script("localStorage.clear()")


def test_strips_traversals_and_the_path_are_drawn(browser: Any, folder: Path) -> None:
    opened(browser, folder / "vae.html")

    def drawn(selector: str) -> bool:
        browser.execute_script("document.querySelector(arguments[0]).scrollIntoView({behavior: 'instant'})", selector)
        return max(picture(browser, selector)) > 0

    for selector in (".strip", ".grid canvas", ".between"):
        until(lambda selector=selector: drawn(selector))
    browser.execute_script("document.querySelector('.strip').scrollIntoView({behavior: 'instant', block: 'center'})")
    before = values(browser)
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element_with_offset(one(browser, ".strip"), 60, 0).click().perform()
    assert values(browser)[0] != before[0]


def test_without_a_decoder_the_nearest_picture_is_shown(browser: Any, folder: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, folder / "contrastive.html")
    one(browser, '.sheet [data-picture="4"]').click()
    until(lambda: picture(browser) == picture(browser, ".original"))
    first = one(browser, ".slider input[type=range]")
    browser.execute_script("arguments[0].focus()", first)
    for _ in range(12):
        first.send_keys(Keys.ARROW_LEFT)
    until(lambda: picture(browser) != picture(browser, ".original"))
    assert "nearest picture" in one(browser, ".decoded figcaption").text
    assert_quiet(browser)


def test_a_gallery_opens_runs_sorts_them_and_compares_two(browser: Any, folder: Path) -> None:
    opened(browser, folder / "gallery.html")
    assert [node.text for node in every(browser, ".run h3")] == ["first", "second"]
    one(browser, ".run .open").click()
    until(lambda: every(browser, ".picture") and one(browser, ".picture").get_attribute("data-shown"))
    one(browser, ".back").click()
    for place in (0, 1):
        every(browser, ".run input")[place].click()
    button(browser, "Compare two").click()
    until(lambda: len(every(browser, ".picture[data-shown]")) == 2)
    one(browser, '.sheet [data-picture="5"]').click()
    script = "return Array.from(document.querySelectorAll('.original'), (c) => c.toDataURL())"
    until(lambda: len(set(browser.execute_script(script))) == 1)
    assert_quiet(browser)


def test_hostile_names_are_shown_and_not_run(browser: Any, folder: Path) -> None:
    opened(browser, folder / "hostile.html")
    assert HOSTILE in one(browser, ".matrix thead").text
    assert one(browser, ".slider .name").text.startswith("<img src=x onerror=alert(1)>")
    assert every(browser, "img") == []
    assert_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out(browser: Any, folder: Path, width: int) -> None:
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        for name in ("vae", "hostile", "gallery"):
            opened(browser, folder / f"{name}.html")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_thousands_of_latents_do_not_freeze_the_page(browser: Any, tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "autoencoder", latents=2000)
    opened(browser, explore(run, data=data))
    assert len(every(browser, ".slider")) == 24
    search = one(browser, "input[type=search]")
    search.send_keys("z1999")
    until(lambda: len(every(browser, ".slider")) == 1)
    assert one(browser, ".slider .name").text == "z1999"


NOTEBOOK = """
const [script, page, done] = arguments;
const listeners = [], model = {  // what anywidget hands to `render`
  state: { page, height: 700, positions: [] },
  get(name) { return this.state[name]; },
  set(name, value) { this.state[name] = value; },
  on(event, listener) { listeners.push(listener); },
  save_changes() {},
};
const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
import(url).then(({ default: { render } }) => {
  render({ model, el: document.body });
  const frame = document.querySelector("iframe");
  const wait = setInterval(() => {
    if (!model.state.positions.length) return;  // until the page has told where its sliders are
    clearInterval(wait);
    const first = model.state.positions;
    model.state.positions = [0.5, -0.5, 0.25, -0.25];
    for (const listener of listeners) listener();
    setTimeout(() => {
      const shown = Array.from(frame.contentDocument.querySelectorAll(".slider output"), (node) => node.textContent);
      done({ first, shown });
    }, 500);
  }, 50);
});
"""


def test_the_widget_moves_the_page_and_is_told_of_its_moves(browser: Any, folder: Path) -> None:
    from unbraid.explorer.widget import SCRIPT

    browser.get("data:text/html,<body></body>")
    answer = browser.execute_async_script(NOTEBOOK, SCRIPT, (folder / "vae.html").read_text())
    assert len(answer["first"]) == 4
    assert answer["shown"] == ["0.50", "-0.50", "0.25", "-0.25"][: len(answer["shown"])]


def test_a_served_page_decodes_with_pytorch(browser: Any, tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "beta_vae")
    content = content_of(run, data, served=True)
    with Server(page_of([content], labels=["run"], served=True), [content]) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.get(server.address)
            text = until(lambda: one(browser, "#status").text)
            assert "decoded by the server" in text
            assert "at most 0 of 255" in text
        finally:
            server.shutdown()
            thread.join()
