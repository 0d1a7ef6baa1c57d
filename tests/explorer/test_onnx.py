"""Models as ONNX files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.explorer.made import trained
from unbraid.errors import InputError
from unbraid.explorer.onnx import export_onnx


@pytest.mark.parametrize(("method", "files"), [
    ("beta_vae", ["encoder", "decoder"]), ("infogan_cr", ["encoder", "decoder"]), ("multitask", ["encoder"]),
    ("frozen_decoder", ["decoder"]),
])  # fmt: skip
def test_onnx_files_give_the_same_numbers(method: str, files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    run, _ = trained(tmp_path / "run", method)
    assert [path.stem for path in export_onnx(run, tmp_path)] == files
    if "decoder" in files:
        session = runtime.InferenceSession(str(tmp_path / "decoder.onnx"))
        codes = torch.randn(7, run.representation().codes.shape[1])
        with torch.inference_mode():
            expected = run.method().decode(codes).numpy()
        assert session.run(None, {"codes": codes.numpy()})[0] == pytest.approx(expected, abs=1e-3)


def test_without_the_extra_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = trained(tmp_path / "run", "autoencoder")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"unbraid\[onnx\]"):
        export_onnx(run)
