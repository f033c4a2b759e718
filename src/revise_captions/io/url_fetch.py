"""Fetches images from untrusted URLs without exposing this machine's network to them.

Only http and https, and only public addresses: a host name is resolved once, all its addresses are
checked, and the connection goes to a checked one, so that DNS rebinding gains nothing (TLS still
verifies the name). Each redirect is checked the same way. The total time is limited, not the time
per read, and the size is limited while streaming. The environment's proxy settings are ignored, as
a proxy would resolve names itself and bypass the check.
"""

from __future__ import annotations

import functools
import http.client
import ipaddress
import logging
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from revise_captions.errors import BadRecord, Reason, described, own_step

logger = logging.getLogger(__name__)

REDIRECTS = (301, 302, 303, 307, 308)
#: Networks in IANA's special-purpose registries that some supported Python's `ipaddress` considers
#: global.
_REFUSED_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "64:ff9b::/96",  # NAT64: reaches any IPv4 address, private ones too (RFC 6052)
        "64:ff9b:1::/48",  # local-use NAT64 (RFC 8215)
        "2002::/16",  # 6to4 (RFC 3056)
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID (RFC 2928)
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "192.0.0.0/24",  # IETF protocol assignments (RFC 6890)
        "3fff::/20",  # documentation (RFC 9637)
        "5f00::/16",  # segment routing (RFC 9602)
        "100:0:0:1::/64",  # dummy prefix (RFC 9780)
    )
)

Resolve = Callable[[str, int], list[str]]
Allowed = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`seconds` covers everything from the first lookup to the last byte, redirects included."""

    max_bytes: int = 64 << 20
    seconds: float = 30.0
    max_redirects: int = 5


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if any(ip in network for network in _REFUSED_NETWORKS):
        return False
    site_local = isinstance(ip, ipaddress.IPv6Address) and ip.is_site_local
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or site_local)


def resolve(host: str, port: int) -> list[str]:
    """All IP addresses of a host name, in the system's order of preference."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def fetch(
    url: str,
    *,
    limits: FetchLimits = FetchLimits(),
    resolve: Resolve = resolve,
    allowed: Allowed = is_public,
) -> bytes:
    """The body behind `url`.

    Args:
        url: http or https.
        limits: Bytes, seconds and redirects.
        resolve: Looks up a host's addresses.
        allowed: Whether an address may be connected to.

    Raises:
        BadRecord: URL_NOT_ALLOWED for the scheme, credentials in the URL, or an address that is not
            `allowed`; URL_FAILED for no such host, no connection, TLS, a status other than 200,
            time, or a body cut short; IMAGE_TOO_LARGE for more than `limits.max_bytes`.
    """
    with own_step(Reason.URL_FAILED):
        return _followed(url, limits, resolve, allowed)


def _followed(url: str, limits: FetchLimits, resolve: Resolve, allowed: Allowed) -> bytes:
    """`fetch`, redirects included."""
    deadline = time.monotonic() + limits.seconds
    for _ in range(limits.max_redirects + 1):
        parts = _checked(url)
        try:
            target = _get(parts, deadline, limits, resolve, allowed)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() >= deadline:
                raise _failed(url, f"not done within {limits.seconds:g} s") from None
            raise _failed(url, str(error) or type(error).__name__) from None
        if isinstance(target, bytes):
            return target
        logger.debug("%s redirects to %s", url, target)
        try:
            url = urljoin(url, target)
        except ValueError as error:
            detail = f"redirects to {target[:160]}: {described(error)}"
            raise _failed(url, detail) from None
    raise _failed(url, f"more than {limits.max_redirects} redirects")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadRecord(Reason.URL_NOT_ALLOWED, f"{url[:160]}: {error}") from None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadRecord(Reason.URL_NOT_ALLOWED, f"{url[:160]}: expected http(s)://host/…")
    if parts.username is not None or parts.password is not None:
        raise BadRecord(Reason.URL_NOT_ALLOWED, f"URL of {host} with a user name in it")
    return parts


def _get(
    parts: SplitResult, deadline: float, limits: FetchLimits, resolve: Resolve, allowed: Allowed
) -> bytes | str:
    """One hop: the body, or where it redirects to."""
    url = parts.geturl()
    host = parts.hostname or ""
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    addresses = _within(deadline, functools.partial(resolve, host, port))
    refused = [address for address in addresses if not allowed(address)]
    if refused or not addresses:
        detail = f"{host} is at {refused[0] if refused else 'no address'}, which is not public"
        raise BadRecord(Reason.URL_NOT_ALLOWED, detail)
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(host, port)
    sock = _connect(addresses, port, deadline)
    try:
        if secure:
            # The handshake comes later, under the watchdog, as a peer may stall that as well.
            sock = _tls().wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        with _cut_at(sock, deadline):
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            connection.sock = sock
            path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
            query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
            headers = {"User-Agent": "revise-captions", "Accept": "image/*,*/*;q=0.5"}
            headers["Accept-Encoding"] = "identity"
            connection.request("GET", path + ("?" + query if query else ""), headers=headers)
            return _answer(connection.getresponse(), url, limits)
    finally:
        connection.close()
        sock.close()


def _answer(response: http.client.HTTPResponse, url: str, limits: FetchLimits) -> bytes | str:
    location = response.getheader("Location")
    if response.status in REDIRECTS and location:
        return location
    if response.status != 200:
        raise _failed(url, f"HTTP {response.status} {response.reason}".strip())
    if response.getheader("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise _failed(url, f"sent as {response.getheader('Content-Encoding')}, unasked")
    announced = response.length
    if announced is not None and announced > limits.max_bytes:
        raise _too_large(url, f"{announced:,}", limits)
    body = bytearray()
    while chunk := response.read1(1 << 16):
        body += chunk
        if len(body) > limits.max_bytes:
            raise _too_large(url, f"more than {limits.max_bytes:,}", limits)
    if announced is not None and len(body) < announced:
        raise OSError(f"the connection closed after {len(body):,} of {announced:,} bytes")
    return bytes(body)


def _connect(addresses: list[str], port: int, deadline: float) -> socket.socket:
    for address in addresses[:-1]:
        try:
            # Leave time for the next address, as the first may be unreachable.
            return socket.create_connection((address, port), max(_left(deadline) / 2, 0.05))
        except OSError as error:
            logger.debug("%s does not answer, trying the next address: %s", address, error)
    return socket.create_connection((addresses[-1], port), _left(deadline))


def _within(deadline: float, call: Callable[[], list[str]]) -> list[str]:
    """`call()`, abandoned at the deadline: name lookups have no timeout of their own."""
    box: queue.SimpleQueue[list[str] | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            box.put(call())
        except Exception as error:  # for the waiting thread to report
            box.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        result = box.get(timeout=_left(deadline))
    except queue.Empty:
        raise TimeoutError("the name look-up took too long") from None
    if isinstance(result, Exception):
        raise OSError(f"no such host ({result})")
    return result


@contextmanager
def _cut_at(sock: socket.socket, deadline: float) -> Iterator[None]:
    """Ends the connection at the deadline, however slowly its bytes drip in."""

    def cut() -> None:
        try:
            # Not SSLSocket.shutdown, which would remove the TLS state from under a reading thread.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        except OSError:
            return  # already closed

    watchdog = threading.Timer(_left(deadline), cut)
    watchdog.daemon = True
    watchdog.start()
    sock.settimeout(_left(deadline))
    try:
        yield
    finally:
        watchdog.cancel()
    if time.monotonic() >= deadline:
        raise TimeoutError("timed out")


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _failed(url: str, detail: str) -> BadRecord:
    return BadRecord(Reason.URL_FAILED, f"{url[:160]}: {detail}")


def _too_large(url: str, size: str, limits: FetchLimits) -> BadRecord:
    detail = f"{url[:160]}: {size} bytes; the limit is {limits.max_bytes:,}"
    return BadRecord(Reason.IMAGE_TOO_LARGE, detail)
