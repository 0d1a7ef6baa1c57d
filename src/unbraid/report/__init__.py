"""Reports: sections of text, figures, tables and verdicts, written as one page that needs nothing else."""

from unbraid.report.claims import VERDICTS, Claim, Edition, Judged, Need, Rule, judge
from unbraid.report.compared import Compared, compare
from unbraid.report.comparison import comparison
from unbraid.report.markdown import put_into, verdicts
from unbraid.report.overview import overview
from unbraid.report.page import write
from unbraid.report.parts import Figure, Picture, Section, Table

__all__ = [
    "VERDICTS", "Claim", "Compared", "Edition", "Figure", "Judged", "Need", "Picture", "Rule", "Section", "Table",
    "compare", "comparison", "judge", "overview", "put_into", "verdicts", "write",
]  # fmt: skip
