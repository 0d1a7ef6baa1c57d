"""The page as a notebook widget (extra `[notebook]`): its sliders' positions are a value of Python's."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import InputError
from unbraid.explorer.page import contents_of, page_of, runs_of

if TYPE_CHECKING:
    from unbraid.runs.run import Run

# The page runs in a frame of its own, so that its styles and the notebook's leave each other alone.
SCRIPT = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.style = "width: 100%; border: 0; border-radius: 8px";
  frame.style.height = model.get("height") + "px";
  frame.srcdoc = model.get("page");
  let own = "";
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || !data || data.unbraid !== "positions") return;
    own = data.positions.join();
    model.set("positions", data.positions);
    model.save_changes();
  };
  window.addEventListener("message", hear);
  model.on("change:positions", () => {
    const positions = model.get("positions");
    if (positions.join() !== own) frame.contentWindow.postMessage({ unbraid: "move", positions }, "*");
  });
  el.append(frame);
  return () => window.removeEventListener("message", hear);
}
export default { render };
"""


def widget(runs: Run | Path | str, *, height: int = 900) -> Any:
    """The page about a run as a widget. `positions` are those of its sliders, read and set from Python; `codes` follow.

    >>> view = widget(run)          # doctest: +SKIP
    >>> view                        # doctest: +SKIP
    >>> view.positions = [0.5] * 10 # doctest: +SKIP
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise InputError("the widget needs anywidget; pip install 'unbraid[notebook]' brings it") from error
    chosen = runs_of(runs)
    contents = contents_of(chosen)
    sliders = contents[0].sliders

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = SCRIPT
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(900).tag(sync=True)
        positions = traitlets.List(traitlets.Float()).tag(sync=True)

        @property
        def codes(self) -> Any:
            """The code at the sliders' positions, float32 (d,)."""
            import torch

            return sliders.codes(torch.tensor([self.positions]))[0]

    page = page_of(contents, labels=[html.escape(run.folder.name) for run in chosen])
    return ExplorerWidget(page=page, height=height, positions=[0.0] * len(sliders.sliders))
