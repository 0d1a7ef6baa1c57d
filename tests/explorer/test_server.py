"""The page on a server of this machine."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch

from tests.explorer.made import trained
from unbraid.explorer.content import content_of
from unbraid.explorer.page import page_of
from unbraid.explorer.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    run, data = trained(tmp_path_factory.mktemp("runs") / "run", "beta_vae")
    content = content_of(run, data, served=True)
    with Server(page_of([content], labels=["run"], served=True), [content]) as serving:
        thread = Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def status(address: str, data: bytes | None = None, host: str | None = None) -> int:
    request = urllib.request.Request(address, data, {"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_it_listens_on_this_machine_alone_below_a_token(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert status(server.address) == 200
    assert len(server.token) >= 32
    root = server.address.removesuffix(f"{server.token}/")
    for address in (root, f"{root}x{server.token[1:]}/", f"{server.address}../", f"{server.address}other/x"):
        assert status(address) == 404
    assert status(server.address, host="evil.example") == 404


def test_it_decodes_and_encodes_as_pytorch_does(server: Server) -> None:
    [content] = server.contents.values()
    positions = torch.randn(3, 4)
    body = positions.numpy().astype("<f4").tobytes()
    with urllib.request.urlopen(f"{server.address}decode?run={content.id}", body) as answer:
        pixels = np.frombuffer(answer.read(), np.uint8).reshape(3, 16, 16, 4)
    with torch.inference_mode():
        expected = (content.method.decode(content.sliders.codes(positions)) * 255).round().permute(0, 2, 3, 1).numpy()
    assert np.array_equal(pixels[..., :3], expected)
    assert (pixels[..., 3] == 255).all()
    image = torch.randint(0, 256, (1, 3, 16, 16), dtype=torch.uint8)
    with urllib.request.urlopen(f"{server.address}encode?run={content.id}", image.numpy().tobytes()) as answer:
        found = np.frombuffer(answer.read(), "<f4")
    with torch.inference_mode():
        assert found == pytest.approx(content.sliders.positions(content.method.encode(image))[0].numpy(), abs=1e-5)


def test_bad_requests_are_refused(server: Server) -> None:
    [id] = server.contents
    assert status(f"{server.address}decode?run={id}", b"123") == 400
    assert status(f"{server.address}decode?run=other", b"") == 404
    assert status(f"{server.address}other?run={id}", b"") == 404


def test_a_page_of_its_own_reaches_nothing(tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "autoencoder")
    content = content_of(run, data)
    assert "connect-src 'none'" in page_of([content], labels=["run"])
