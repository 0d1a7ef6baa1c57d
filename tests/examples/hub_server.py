"""A server that speaks the few endpoints of the Hugging Face Hub that are used: list, fetch, make, upload, commit."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Repository:
    files: dict[str, bytes] = field(default_factory=dict)
    sha: str = "0" * 40
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the listing says of a file in place of the truth."""

    def listing(self, name: str) -> dict[str, Any]:
        siblings = [{"rfilename": file, **_described(content)} for file, content in self.files.items()]
        siblings = [{**one, **self.listed.get(one["rfilename"], {})} for one in siblings]
        siblings += [{"rfilename": file, **more} for file, more in self.listed.items() if file not in self.files]
        return {"id": name, "modelId": name, "sha": self.sha, "private": False, "tags": [], "siblings": siblings}

    def commit(self) -> None:
        digests = {name: hashlib.sha1(content).hexdigest() for name, content in self.files.items()}
        self.sha = hashlib.sha1(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _described(content: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    large = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return {"size": len(content), "blobId": blob, **({"lfs": large} if _is_large(content) else {})}


def _is_large(content: bytes) -> bool:
    return len(content) > 10_000


class HubServer(ThreadingHTTPServer):
    """`repositories` by name; what was asked for in `requests`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.stored: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[HubServer]:
    with HubServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        self.server.requests.append(format % args)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _answer(self, content: Any, code: int = 200, **headers: str) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _missing(self, code: str) -> None:
        self._answer({"error": code}, 404, X_Error_Code=code, X_Error_Message=code)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            repository = self.server.repositories.get(match[1])
            if repository is None:
                self._missing("RepoNotFound")
            elif match[2] not in (None, "main", repository.sha):
                self._missing("RevisionNotFound")
            else:
                self._answer(repository.listing(match[1]))
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            repository = self.server.repositories[match[1]]
            content = repository.files.get(match[3])
            if content is None:
                self._missing("EntryNotFound")
            else:
                etag = hashlib.sha256(content).hexdigest()
                self._answer(content, ETag=f'"{etag}"', X_Repo_Commit=repository.sha)
        else:
            self._missing("EntryNotFound")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self._body()
        if self.path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'somebody'}/{asked['name']}"
            if self.headers.get("Authorization") != "Bearer secret":
                self._answer({"error": "who are you?"}, 401)
            elif name in self.server.repositories:
                self._answer({"error": "exists", "url": f"{self.server.address}/{name}"}, 409)
            else:
                self.server.repositories[name] = Repository()
                self._answer({"url": f"{self.server.address}/{name}", "name": name, "id": name})
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/preupload/main", self.path.partition("?")[0]):
            modes = [
                {"path": one["path"], "uploadMode": "lfs" if one["size"] > 10_000 else "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            self._answer({"files": modes})
        elif self.path.endswith(".git/info/lfs/objects/batch"):
            objects = [
                {
                    **one,
                    "authenticated": True,
                    "actions": {"upload": {"href": f"{self.server.address}/lfs/{one['oid']}"}},
                }
                for one in json.loads(body)["objects"]
            ]
            self._answer({"transfer": "basic", "objects": objects}, Content_Type="application/vnd.git-lfs+json")
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/main", self.path.partition("?")[0]):
            repository = self.server.repositories[match[1]]
            for line in body.splitlines():
                part = json.loads(line)
                value = part["value"]
                if part["key"] == "file":
                    repository.files[value["path"]] = base64.b64decode(value["content"])
                elif part["key"] == "lfsFile":
                    repository.files[value["path"]] = self.server.stored[value["oid"]]
            repository.commit()
            url = f"{self.server.address}/{match[1]}/commit/{repository.sha}"
            self._answer({"success": True, "commitOid": repository.sha, "commitUrl": url, "hookOutput": ""})
        else:
            self._missing("EntryNotFound")

    def do_PUT(self) -> None:
        self.server.stored[self.path.rpartition("/")[2]] = self._body()
        self._answer({})
