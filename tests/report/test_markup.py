"""Tables as HTML: plain text, in which only names between backticks are marked."""

from __future__ import annotations

import pandas as pd

from unbraid.report import markup


def test_a_cell_is_plain_text_with_names_set_as_such() -> None:
    frame = pd.DataFrame({"claim": ["`intervention` *loses* less", "<b>`<i>`</b>", "a ` alone", "holds"]})
    table = markup.data_table(frame, "claims")
    assert "<td><code>intervention</code> *loses* less</td>" in table
    assert "<td>&lt;b&gt;<code>&lt;i&gt;</code>&lt;/b&gt;</td>" in table
    assert "<td>a ` alone</td>" in table
    assert '<span class="verdict v0">holds</span>' in table
