"""The same page on a server of this machine, which decodes and encodes with PyTorch: for layers a page cannot run."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import torch

from unbraid.errors import InputError
from unbraid.explorer.content import Content, shown

LARGEST_REQUEST = 64_000_000  # bytes


class Server(ThreadingHTTPServer):
    """Serves one page to anyone who has its address: only on this machine, and only below a random token."""

    daemon_threads = True

    def __init__(self, page: str, contents: Sequence[Content], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(24)
        self.page, self.contents = page.encode(), {content.id: content for content in contents}
        self.lock = Lock()  # one network at a time: threads of a forward pass would fight for the cores

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self._action() == "":
            self._answer(200, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        action = self._action()
        if action is None:
            return
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_REQUEST:
            self._answer(413, b"too large", "text/plain")
            return
        body = self.rfile.read(length)
        content = self.server.contents.get(parse_qs(urlsplit(self.path).query).get("run", [""])[0])
        if content is None or action not in ("decode", "encode"):
            self._answer(404, b"not found", "text/plain")
            return
        try:
            with self.server.lock, torch.inference_mode():
                result = (_decode if action == "decode" else _encode)(content, body)
        except (InputError, ValueError, RuntimeError) as error:
            self._answer(400, str(error).encode(), "text/plain; charset=utf-8")
            return
        self._answer(200, result, "application/octet-stream")

    def _action(self) -> str | None:
        """What is asked for below the token; None, answered, where the token or the host is another."""
        parts = urlsplit(self.path).path.split("/")
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        known = self.headers.get("Host") in hosts  # not a foreign name that was made to point here
        if not known or len(parts) != 3 or not hmac.compare_digest(parts[1].encode(), self.server.token.encode()):
            self._answer(404, b"not found", "text/plain")
            return None
        return parts[2]

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """A page asks thirty times a second; nothing is printed."""


def _decode(content: Content, body: bytes) -> bytes:
    """Positions as float32 -> RGBA pixels."""
    width = len(content.sliders.sliders)
    positions = torch.from_numpy(np.frombuffer(body, "<f4").copy()).reshape(-1, width)
    images = content.method.decode(content.sliders.codes(positions)).clamp(0, 1)
    pixels = shown((images * 255).round().byte()).cpu()
    n, _, height, side = pixels.shape
    rgba = torch.full((n, height, side, 4), 255, dtype=torch.uint8)
    rgba[..., :3] = pixels.permute(0, 2, 3, 1)  # one channel goes into all three
    return rgba.numpy().tobytes()


def _encode(content: Content, body: bytes) -> bytes:
    """The bytes of a picture, channels first -> its positions as float32."""
    image = torch.from_numpy(np.frombuffer(body, np.uint8).copy()).reshape(1, *content.values["image"])
    positions = content.sliders.positions(content.method.encode(image).float().cpu())
    return positions.numpy().astype("<f4").tobytes()
