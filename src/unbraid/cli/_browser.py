"""Opening a page in a browser."""

from __future__ import annotations

import os
import sys
import webbrowser


def open_page(address: str) -> None:
    """Open a browser where there is a screen for one."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    webbrowser.open(address)
