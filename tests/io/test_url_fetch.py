from __future__ import annotations

import contextlib
import http.server
import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from revise_captions.errors import BadRecord, Reason
from revise_captions.io import url_fetch as module
from revise_captions.io.images import load_image
from revise_captions.io.url_fetch import FetchLimits, fetch, is_public
from revise_captions.records import ImageRef

BODY = b"\x89PNG pretend" * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))
        what = self.path.split("?")[0].strip("/")
        with contextlib.suppress(OSError):
            match what.split("/"):
                case ["ok", *_]:
                    self.reply(200, BODY)
                case ["chunked"]:
                    self.chunked()
                case ["to", kind]:
                    self.reply(302, Location=self.server.targets[kind])
                case ["loop"]:
                    self.reply(301, Location="/loop")
                case ["drip"]:
                    self.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + b"x" * 9999)
                case ["dripbody"]:
                    self.reply(200, b"", Content_Length="9999")
                    self.drip(b"x" * 9999)
                case ["short"]:
                    self.reply(200, b"abc", Content_Length="99")
                    self.close_connection = True
                case ["liar"]:
                    self.reply(200, b"", Content_Length=str(1 << 40))
                case ["gzip"]:
                    self.reply(200, b"abc", Content_Encoding="gzip")
                case _:
                    self.reply(404)

    def drip(self, data: bytes) -> None:
        for byte in data:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.02)

    def chunked(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(64):
            self.wfile.write(b"400\r\n" + b"z" * 0x400 + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")


@contextlib.contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen, server.targets = [], {}
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with serving() as running:
        yield running


def url(server: http.server.HTTPServer, path: str, host: str = "127.0.0.1") -> str:
    return f"http://{host}:{server.server_port}/{path}"


def open_fetch(address: str, **options: object) -> bytes:
    """`fetch` that may reach loopback, and finds every name there."""
    options = {"resolve": lambda host, port: ["127.0.0.1"], "allowed": lambda ip: True, **options}
    return fetch(address, **options)


def refused(call, *arguments: object, **options: object) -> BadRecord:
    with pytest.raises(BadRecord) as caught:
        call(*arguments, **options)
    return caught.value


# --- Addresses ----------------------------------------------------------------------------------


NOT_PUBLIC = """
    127.0.0.1 127.9.9.9 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 0.0.0.0
    0.1.2.3 100.64.0.1 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 224.0.1.1
    239.255.255.255 240.0.0.1 255.255.255.255 192.88.99.1
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 fe80::1 fe80::1%eth0
    fc00::1 fd00:ec2::254 fec0::1 ff02::1 ff0e::1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1
    2002:7f00:1:: 2001:0:7f00:1:: 2001:db8::1 100::1
"""


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_addresses_that_are_not_public(address):
    assert not is_public(address)


#: IANA's special-purpose registries (IPv4 and IPv6, 2024-12): what is not globally reachable, with
#: multicast, and what reaches other addresses. Not the few hosts that are reachable by exception.
NOT_GLOBAL = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
    224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
    ::1/128 ::/128 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32
    2001:2::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 3fff::/20 5f00::/16
    fc00::/7 fe80::/10 ff00::/8
"""


@pytest.mark.parametrize("network", NOT_GLOBAL.split())
def test_no_special_purpose_range_is_public(network):
    found = ipaddress.ip_network(network)
    for number in {0, 1, found.num_addresses // 2, found.num_addresses - 1}:
        if number < found.num_addresses:
            assert not is_public(str(found[number])), found[number]
            if found.version == 4:
                assert not is_public(f"::ffff:{found[number]}")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"]
)
def test_public_addresses(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]", "0.0.0.0",
     "[::ffff:127.0.0.1]", "169.254.169.254"],
)  # fmt: skip
def test_the_default_refuses_this_machine(server, host):
    error = refused(fetch, url(server, "ok", host), limits=FetchLimits(seconds=5))
    assert error.reason is Reason.URL_NOT_ALLOWED
    assert server.seen == []


def test_one_private_address_among_several_is_enough_to_refuse(server):
    error = refused(
        fetch, url(server, "ok", "x.test"), resolve=lambda h, p: ["8.8.8.8", "10.0.0.1"]
    )
    assert error.reason is Reason.URL_NOT_ALLOWED
    assert "10.0.0.1" in error.detail


def test_a_name_is_resolved_once_and_the_checked_address_is_used(server):
    answers = iter([["127.0.0.1"], ["10.255.255.1"]])  # a rebinding name server's two answers
    checked: list[str] = []

    def allowed(address: str) -> bool:
        checked.append(address)
        return address == "127.0.0.1"

    resolver = lambda host, port: next(answers)  # noqa: E731
    body = fetch(url(server, "ok", "rebind.test"), resolve=resolver, allowed=allowed)
    assert body == BODY
    assert checked == ["127.0.0.1"]
    assert next(answers) == ["10.255.255.1"]  # never asked for
    assert server.seen[0][1]["Host"] == f"rebind.test:{server.server_port}"


def test_the_environments_proxy_is_not_used(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert open_fetch(url(server, "ok")) == BODY


@pytest.mark.parametrize(
    "bad",
    ["ftp://example.org/a", "file:///etc/passwd", "http:///a", "http://u:p@example.org/a",
     "http://user@example.org/", "gopher://x/", "http://[::1", "http://example.org:99999/",
     "http://example.org:0/", "//example.org/a", "http://"],
)  # fmt: skip
def test_urls_that_are_refused_unseen(bad):
    def resolver(host: str, port: int) -> list[str]:
        raise AssertionError("looked up")

    assert refused(fetch, bad, resolve=resolver).reason is Reason.URL_NOT_ALLOWED


# --- Answers ------------------------------------------------------------------------------------


def test_bodies(server):
    assert open_fetch(url(server, "ok")) == BODY
    assert open_fetch(url(server, "chunked")) == b"z" * 65_536


def test_paths_are_quoted(server):
    open_fetch(url(server, "ok/a b/é%20?q=ü x"))
    assert server.seen[0][0] == "/ok/a%20b/%C3%A9%20?q=%C3%BC%20x"


def test_redirects_are_followed_and_capped(server):
    server.targets["ok"] = url(server, "ok", "other.test")
    assert open_fetch(url(server, "to/ok")) == BODY
    error = refused(open_fetch, url(server, "loop"))
    assert error.reason is Reason.URL_FAILED
    assert "redirects" in error.detail
    assert [path for path, _ in server.seen].count("/loop") == 6


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/meta", "http://private.test/", "file:///etc/passwd", "http://a@b/"],
)
def test_each_hop_is_checked(server, target):
    server.targets["x"] = target
    error = refused(
        fetch,
        url(server, "to/x", "public.test"),
        resolve=lambda host, port: ["127.0.0.1" if host == "public.test" else host],
        allowed=lambda address: address == "127.0.0.1",
    )
    assert error.reason is Reason.URL_NOT_ALLOWED
    assert len(server.seen) == 1


@pytest.mark.parametrize("target", ["http://[", "//[x", "http://a:b/", "http://\u2100.test/"])
def test_a_redirect_to_no_url_is_the_records_reason(server, target):
    server.targets["x"] = target.encode().decode("latin-1")
    error = refused(open_fetch, url(server, "to/x"))
    assert error.reason in (Reason.URL_FAILED, Reason.URL_NOT_ALLOWED)
    assert len(server.seen) == 1


def test_size(server):
    small = FetchLimits(max_bytes=10_000)
    for path in ("ok", "chunked", "liar"):
        error = refused(open_fetch, url(server, path), limits=small)
        assert error.reason is Reason.IMAGE_TOO_LARGE
    assert open_fetch(url(server, "ok"), limits=FetchLimits(max_bytes=len(BODY))) == BODY


@pytest.mark.parametrize("path", ["drip", "dripbody"])
def test_time_is_limited_as_a_whole(server, path):
    start = time.monotonic()
    error = refused(open_fetch, url(server, path), limits=FetchLimits(seconds=0.5))
    assert error.reason is Reason.URL_FAILED
    assert "0.5 s" in error.detail
    assert time.monotonic() - start < 10


def test_slow_name_servers_count(server):
    def resolver(host: str, port: int) -> list[str]:
        time.sleep(3)
        return ["127.0.0.1"]

    start = time.monotonic()
    error = refused(
        open_fetch, url(server, "ok"), resolve=resolver, limits=FetchLimits(seconds=0.3)
    )
    assert error.reason is Reason.URL_FAILED
    assert time.monotonic() - start < 2.7


@pytest.mark.parametrize(
    ("path", "said"), [("none", "HTTP 404"), ("short", "3 of 99 bytes"), ("gzip", "gzip")]
)
def test_failures_say_why(server, path, said):
    error = refused(open_fetch, url(server, path))
    assert error.reason is Reason.URL_FAILED
    assert said in error.detail


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert refused(open_fetch, f"http://a.test:{port}/").reason is Reason.URL_FAILED


def test_unknown_host():
    def resolver(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    error = refused(fetch, "http://nowhere.test/", resolve=resolver)
    assert error.reason is Reason.URL_FAILED
    assert "no such host" in error.detail


def test_load_image_goes_through_the_check(server):
    error = refused(load_image, ImageRef(url=url(server, "ok")), allow_urls=True)
    assert error.reason is Reason.URL_NOT_ALLOWED
    assert server.seen == []


# --- TLS ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_tls_verifies_the_name_not_the_address(tmp_path, monkeypatch):
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=good.test", "-addext",
         "subjectAltName=DNS:good.test", "-keyout", key, "-out", pem],
        check=True, capture_output=True,
    )  # fmt: skip
    serve = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serve.load_cert_chain(pem, key)
    names: list[str | None] = []
    serve.sni_callback = lambda sock, name, context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(pem))
    with serving(serve) as server:
        address = f":{server.server_port}/ok"
        untrusted = refused(open_fetch, "https://good.test" + address)
        assert untrusted.reason is Reason.URL_FAILED  # self-signed, under the default context
        monkeypatch.setattr(module, "_tls", lambda: trusting)
        assert open_fetch("https://good.test" + address) == BODY
        assert names[-1] == "good.test"
        assert refused(open_fetch, "https://evil.test" + address).reason is Reason.URL_FAILED
