"""Every model as a page with sliders: `explore(run)` writes it."""

from unbraid.explorer.page import explore

__all__ = ["explore"]
