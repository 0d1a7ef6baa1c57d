"""Downloads against a server of our own that misbehaves in every way we know of."""

from __future__ import annotations

import errno
import gzip
import hashlib
import multiprocessing
import re
import shutil
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from unbraid.data import files
from unbraid.data.files import RemoteFile
from unbraid.data.sets import (
    cars3d,
    dsprites_official,
    flowers102,
    mnist,
    mpi3d,
    scream_dsprites,
    shapes3d_official,
    small_norb,
    stl10,
)
from unbraid.errors import InputError

DATA = bytes(range(256)) * 400
SHA = hashlib.sha256(DATA).hexdigest()


@dataclass
class Page:
    """What the server answers, and how it misbehaves."""

    data: bytes = DATA
    breaks: list[int] = field(default_factory=list)  # bytes after which each of the first answers breaks off
    ranges: bool = True
    tag: str | None = '"one"'
    claims: int | None = None  # a false Content-Length
    status: int = 200
    kind: str = "application/octet-stream"
    wait: float = 0.0
    location: str = ""
    after_break: bytes | None = None  # the file after the first break
    after_tag: str | None = None
    asked: list[str | None] = field(default_factory=list)  # the Range header of each request


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages: dict[str, Page] = {}

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        page = self.pages[self.path]
        wanted = self.headers.get("Range")
        page.asked.append(wanted)
        if page.location:
            self.send_response(302)
            self.send_header("Location", page.location)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if page.status != 200:
            self.send_error(page.status)
            return
        if self.headers.get("If-Range") not in (None, page.tag):
            wanted = None
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and page.ranges else 0  # type: ignore[index]
        if start and start >= len(page.data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(page.data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = page.data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(page.data) - 1}/{len(page.data)}")
        if page.tag:
            self.send_header("ETag", page.tag)
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(page.claims if page.claims is not None else len(body)))
        self.end_headers()
        time.sleep(page.wait)
        if page.breaks:
            self.wfile.write(body[: page.breaks.pop(0)])
            if page.after_break is not None:
                page.data, page.after_break = page.after_break, None
                page.tag = page.after_tag
        else:
            self.wfile.write(body)
        self.close_connection = True


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(files, "PAUSE", 0.0)
    monkeypatch.setattr(files, "TIMEOUT", 5.0)
    monkeypatch.setattr(files, "TRIES", 2)
    monkeypatch.setattr(Handler, "pages", {})


def serve(server: str, path: str = "/a.bin", **how: Any) -> Page:
    page = Page(**how)
    Handler.pages[path] = page
    return page


def remote(server: str, *paths: str, sha256: str | None = SHA, **how: Any) -> RemoteFile:
    return RemoteFile("set/a.bin", tuple(server + path for path in paths or ("/a.bin",)), sha256=sha256, **how)


def left_over(file: RemoteFile) -> list[str]:
    """What lies in the data set's folder, by name."""
    return sorted(path.name for path in files._path(file).parent.iterdir())


def test_a_good_download_leaves_only_the_file(server: str) -> None:
    page = serve(server)
    file = remote(server, size=len(DATA))
    assert files.stored(file) is None
    path = files.get(file)
    assert path == files.stored(file)
    assert path.read_bytes() == DATA
    assert left_over(file) == ["a.bin"]
    assert files.get(file) == path
    assert len(page.asked) == 1  # the second time it is there


def test_a_broken_download_resumes_where_it_stopped(server: str) -> None:
    page = serve(server, breaks=[1000, 5000])
    assert files.get(remote(server)).read_bytes() == DATA
    assert page.asked == [None, "bytes=1000-", "bytes=6000-"]


def test_progress_is_not_counted_as_failure(server: str) -> None:
    page = serve(server, breaks=[100] * 10)  # far more breaks than TRIES
    assert files.get(remote(server)).read_bytes() == DATA
    assert len(page.asked) == 11


def test_a_second_run_resumes_the_first(server: str) -> None:
    page = serve(server, breaks=[1000, 0, 0])
    file = remote(server)
    with pytest.raises(InputError, match=r"broke off after 1,000 of 102,400 bytes"):
        files.get(file)
    assert left_over(file) == ["a.bin.part", "a.bin.part.json"]
    assert files.stored(file) is None
    page.asked.clear()
    assert files.get(file).read_bytes() == DATA
    assert page.asked == ["bytes=1000-"]
    assert left_over(file) == ["a.bin"]


def test_a_server_that_ignores_ranges_is_read_from_the_start(server: str) -> None:
    page = serve(server, breaks=[1000], ranges=False)
    assert files.get(remote(server)).read_bytes() == DATA
    assert page.asked == [None, "bytes=1000-"]


@pytest.mark.parametrize("sha256", [SHA, None])
def test_a_file_that_changes_between_attempts_is_read_from_the_start(server: str, sha256: str | None) -> None:
    page = serve(server, data=b"old" * 40000, breaks=[5000], after_break=DATA, after_tag='"two"')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert files.get(remote(server, sha256=sha256)).read_bytes() == DATA
    assert page.asked[:2] == [None, "bytes=5000-"]


def test_a_change_without_a_tag_shows_in_the_checksum(server: str) -> None:
    serve(server, data=b"x" * len(DATA), breaks=[5000], tag=None, after_break=DATA)
    assert files.get(remote(server)).read_bytes() == DATA


def test_without_tag_and_checksum_nothing_is_pieced_together(server: str) -> None:
    page = serve(server, breaks=[5000], tag=None)
    with pytest.warns(UserWarning, match="no checksum"):
        assert files.get(remote(server, sha256=None)).read_bytes() == DATA
    assert page.asked == [None, None]


def test_a_part_that_is_already_whole_is_only_verified(server: str) -> None:
    page = serve(server)
    file = remote(server)
    part = files._part(files._path(file))
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA)
    assert files.get(file).read_bytes() == DATA
    assert page.asked == [f"bytes={len(DATA)}-"]


def test_a_foreign_part_is_thrown_away(server: str) -> None:
    serve(server)
    file = remote(server)
    part = files._part(files._path(file))
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something longer than the file" * 10000)
    assert files.get(file).read_bytes() == DATA


def test_a_slow_answer_is_waited_for(server: str) -> None:
    serve(server, wait=0.3)
    assert files.get(remote(server)).read_bytes() == DATA


def test_silence_is_an_error(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "TIMEOUT", 0.1)
    monkeypatch.setattr(files, "TRIES", 1)
    serve(server, wait=0.6)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:\d+ was silent for 0\.1 seconds"):
        files.get(remote(server))


def test_wrong_bytes_are_refused_with_both_checksums(server: str) -> None:
    page = serve(server, data=b"no" * 1000)
    file = remote(server)
    found = hashlib.sha256(b"no" * 1000).hexdigest()
    with pytest.raises(InputError, match=f"sent other bytes: SHA-256 expected {SHA}, found {found}"):
        files.get(file)
    assert left_over(file) == []
    assert len(page.asked) == 1  # a whole wrong file is not asked for again


def test_md5_is_used_where_there_is_nothing_better(server: str) -> None:
    serve(server)
    assert files.get(remote(server, sha256=None, md5=hashlib.md5(DATA).hexdigest())).read_bytes() == DATA
    serve(server, data=b"no")
    with pytest.raises(InputError, match="MD5 expected 0000, found"):
        files.get(RemoteFile("set/b.bin", (f"{server}/a.bin",), md5="0000"))


@pytest.mark.parametrize(("too_much", "reason"), [(5, "broke off after"), (-5, "SHA-256 expected")])
def test_a_false_content_length_is_noticed(server: str, too_much: int, reason: str) -> None:
    serve(server, claims=len(DATA) + too_much, ranges=False)
    with pytest.raises(InputError, match=reason):
        files.get(remote(server))
    assert files.stored(remote(server)) is None


def test_a_file_of_another_size_is_not_even_read(server: str) -> None:
    serve(server, data=b"short")
    with pytest.raises(InputError, match="offers 5 bytes; expected 102,400"):
        files.get(remote(server, size=len(DATA)))


def test_the_next_mirror_is_tried(server: str) -> None:
    gone = serve(server, "/gone", status=404)
    serve(server, "/page", kind="text/html")
    serve(server, "/good")
    assert files.get(remote(server, "/gone", "/page", "/good")).read_bytes() == DATA
    assert len(gone.asked) == 1  # 404 will not get better


def test_all_mirrors_failing_says_why_each(server: str) -> None:
    serve(server, "/gone", status=404)
    busy = serve(server, "/busy", status=503)
    serve(server, "/page", kind="text/html")
    with pytest.raises(InputError) as caught:
        files.get(remote(server, "/gone", "/busy", "/page"))
    message = str(caught.value)
    for part in ("cannot download a.bin", "404 Not Found", "503 Service Unavailable", "a web page", "--from PATH"):
        assert part in message
    assert "\n" not in message
    assert len(busy.asked) == 2


def test_an_unreachable_network_is_one_line() -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1 cannot be reached .*refused"):
        files.get(remote("http://127.0.0.1:1"))


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/a", "file:///etc/passwd", "data:,x", "a.bin"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="only http and https"):
        files.get(RemoteFile("a.bin", (url,)))


def test_other_schemes_are_refused_behind_a_redirect(server: str) -> None:
    serve(server, location="ftp://127.0.0.1:1/a.bin")
    with pytest.raises(InputError, match="unknown url type: ftp"):
        files.get(remote(server))
    serve(server, location="file:///etc/passwd")
    with pytest.raises(InputError, match="302"):
        files.get(remote(server))


def test_a_redirect_is_followed(server: str) -> None:
    serve(server, location="/b.bin")
    serve(server, "/b.bin")
    assert files.get(remote(server)).read_bytes() == DATA


def test_without_a_checksum_later_damage_is_still_noticed(server: str) -> None:
    serve(server)
    file = remote(server, sha256=None)
    with pytest.warns(UserWarning, match=f"no checksum of a.bin is published.*{SHA}"):
        path = files.get(file)
    assert left_over(file) == ["a.bin", "a.bin.sha256"]
    assert path.with_name("a.bin.sha256").read_text() == f"{SHA}  a.bin\n"
    assert files.checked("set", file) == path
    path.write_bytes(DATA[:-1] + b"?")
    with pytest.raises(InputError, match=r"a\.bin is damaged: SHA-256 expected .* run 'unbraid data get set'"):
        files.checked("set", file)
    with pytest.warns(UserWarning, match="no checksum"):
        assert files.get(file).read_bytes() == DATA  # damage is mended by another download


def test_what_is_missing_says_how_to_get_it(server: str) -> None:
    expected = "set is not on this machine; run 'unbraid data get set' or 'unbraid data get set --from PATH'"
    with pytest.raises(InputError) as caught:
        files.checked("set", remote(server))
    assert str(caught.value) == expected


def test_no_room_is_said_before_the_download(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = serve(server)
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"no room for a\.bin in .*set: 0\.1 MB needed, 0\.0 MB free"):
        files.get(remote(server, size=len(DATA)))
    assert page.asked == []
    with pytest.raises(InputError, match=r"no room for a\.bin"):
        files.get(remote(server))  # the size is what the server says
    assert left_over(remote(server)) == []


def test_a_disk_that_fills_up_is_said(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server)

    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_receive", full)
    with pytest.raises(InputError, match=r"no room for a\.bin in"):
        files.get(remote(server))


def test_a_folder_that_cannot_be_written_is_said(server: str, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(InputError, match=r"cannot store a\.bin"):
        files.get(remote(server))


def test_a_killed_download_leaves_only_a_part_and_is_resumed(server: str) -> None:
    page = serve(server, claims=len(DATA))
    file = remote(server)
    stop = threading.Event()
    original = Handler.do_GET

    def half(self: Handler) -> None:
        self.send_response(200)
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(DATA)))
        self.end_headers()
        self.wfile.write(DATA[:70000])
        stop.wait(10)

    Handler.do_GET = half  # type: ignore[method-assign]
    try:
        process = multiprocessing.get_context("fork").Process(target=files.get, args=(file,))
        process.start()
        part = files._part(files._path(file))
        deadline = time.monotonic() + 10
        while files._length(part) == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(InputError, match=r"another process is fetching a\.bin"):
            files.get(file)
        process.kill()
        process.join()
    finally:
        stop.set()
        Handler.do_GET = original  # type: ignore[method-assign]
    reached = files._length(part)
    assert 0 < reached <= 70000
    assert files.stored(file) is None
    page.claims = None
    assert files.get(file).read_bytes() == DATA
    assert page.asked == [f"bytes={reached}-"]


def test_take_copies_a_file_or_from_a_folder(tmp_path: Path) -> None:
    file = RemoteFile("set/a.bin", (), sha256=SHA)
    for place in (tmp_path / "x" / "renamed.bin", tmp_path / "y" / "a.bin", tmp_path / "z" / "deeper" / "a.bin"):
        place.parent.mkdir(parents=True)
        place.write_bytes(DATA)
        given = place if place.name == "renamed.bin" else place.parents[0 if place.parent.name == "y" else 1]
        path = files.take(file, given)
        assert path.read_bytes() == DATA
        assert left_over(file) == ["a.bin"]
        path.unlink()


def test_take_of_what_is_stored_already_verifies_it(tmp_path: Path) -> None:
    file = RemoteFile("set/a.bin", (), sha256=SHA)
    (tmp_path / "a.bin").write_bytes(DATA)
    path = files.take(file, tmp_path)
    assert files.take(file, path) == path
    path.write_bytes(b"?")
    with pytest.raises(InputError, match="is damaged"):
        files.take(file, path)
    assert files.take(file, tmp_path).read_bytes() == DATA


def test_take_refuses_what_is_not_the_file(tmp_path: Path) -> None:
    file = RemoteFile("set/a.bin", (), sha256=SHA)
    (tmp_path / "a.bin").write_bytes(b"no")
    with pytest.raises(InputError, match=rf"a\.bin is not the published a\.bin: SHA-256 expected {SHA}, found"):
        files.take(file, tmp_path)
    assert left_over(file) == []
    with pytest.raises(InputError, match="does not exist"):
        files.take(file, tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty does not hold a\.bin"):
        files.take(file, tmp_path / "empty")


def test_take_without_a_checksum_notes_one(tmp_path: Path) -> None:
    file = RemoteFile("set/a.bin", ())
    (tmp_path / "a.bin").write_bytes(DATA)
    with pytest.warns(UserWarning, match="no checksum"):
        files.take(file, tmp_path)
    assert left_over(file) == ["a.bin", "a.bin.sha256"]


def test_take_says_when_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.bin").write_bytes(DATA)
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"no room for a\.bin"):
        files.take(RemoteFile("set/a.bin", (), sha256=SHA), tmp_path)


def test_a_gzip_packed_again_is_as_good(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(DATA, 1))
    published = gzip.compress(DATA, 9)
    sha256 = hashlib.sha256(published).hexdigest()
    strict = RemoteFile("set/a.gz", (), sha256=sha256, size=len(published))
    with pytest.raises(InputError, match="is not the published"):
        files.take(strict, tmp_path)
    file = RemoteFile("set/a.gz", (), sha256=sha256, size=len(published), contents=SHA)
    files.take(file, tmp_path)
    files.checked("set", file)
    (tmp_path / "a.gz").write_bytes(gzip.compress(DATA, 1)[:-20])
    with pytest.raises(InputError, match="is not the published"):
        files.take(file, tmp_path)


def test_every_declared_file_has_a_plausible_address_and_checksum() -> None:
    modules = (cars3d, dsprites_official, flowers102, mnist, shapes3d_official, small_norb, stl10)
    declared = [file for module in modules for file in module.FILES]
    unverified = [file for variant in mpi3d.FILES.values() for file in variant] + [scream_dsprites.SCREAM]
    for file in declared:
        assert file.verifiable, file.name
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "0" * 64)
        assert re.fullmatch(r"[0-9a-f]{32}", file.md5 or "0" * 32)
    for file in declared + unverified:
        assert file.urls, file.name
        assert all(url.startswith(("http://", "https://")) for url in file.urls)
    names = [file.name for file in declared + unverified]
    assert len(set(names)) == len(names)


def test_a_server_that_sends_more_than_it_should_is_cut_off(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "protocol_version", "HTTP/1.0")
    monkeypatch.setattr(Handler, "send_header", _without_length)
    serve(server, data=DATA * 50)
    file = remote(server, size=len(DATA))
    with pytest.raises(InputError, match=f"sends more than {len(DATA):,} bytes"):
        files.get(file)
    assert sum(path.stat().st_size for path in files._path(file).parent.iterdir()) <= len(DATA) + files._BLOCK
    monkeypatch.setattr(files, "_SPARE", 1 << 62)  # a file of unknown size leaves some of the disk free
    with pytest.raises(InputError, match=r"no room for a\.bin"):
        files.get(remote(server, sha256=None))


def _without_length(handler: Handler, name: str, value: str) -> None:
    if name != "Content-Length":
        BaseHTTPRequestHandler.send_header(handler, name, value)
