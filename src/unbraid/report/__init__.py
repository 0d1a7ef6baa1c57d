"""Reports: sections of text, figures, tables and verdicts, written as one page that needs nothing else."""

from unbraid.report.markdown import put_into, verdicts
from unbraid.report.overview import overview
from unbraid.report.page import write
from unbraid.report.parts import VERDICTS, Claim, Figure, Picture, Section, Table

__all__ = ["VERDICTS", "Claim", "Figure", "Picture", "Section", "Table", "overview", "put_into", "verdicts", "write"]
