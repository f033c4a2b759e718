"""The explorer's pages over HTTP, for this machine's browser alone.

Only 127.0.0.1 is listened to. Every address begins with a random token, and the `Host` header must
name this machine, so that neither another user nor a page from elsewhere (DNS rebinding, forged
requests) reads or decides anything. Nothing but the index, the run's images and the decisions can
be reached: no path of a request ever becomes a file's name.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from revise_captions.errors import BadRecord, UserError, described
from revise_captions.pipelines.explore.decisions import LONGEST, parse_decision, parse_undecided
from revise_captions.pipelines.explore.query import Query
from revise_captions.pipelines.explore.session import ExploreSession
from revise_captions.pipelines.explore.views import ExploreViews

logger = logging.getLogger(__name__)
HOST = "127.0.0.1"
#: Longest sides of an image in the list, and large.
SMALL, LARGE = 640, 2000
_IMAGE = re.compile(r"image/(\d{1,12})(/large)?(/marked)?")
_LENGTH = re.compile(r"[0-9]{1,9}")
_TABLES = re.compile(r"tables/(\d{1,12})")


class ExploreServer(ThreadingHTTPServer):
    """Serves a session at `url` until it is shut down."""

    daemon_threads = True

    def __init__(self, session: ExploreSession, port: int = 0) -> None:
        self.session = session
        self.views = ExploreViews(session)
        self.token = secrets.token_urlsafe(24)
        self.applying = Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error of ours."""
        logger.info("a request ended early", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "explore", ""
    timeout = 60

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def _answered(self, work: Callable[[], None]) -> None:
        """No request goes without an answer, whatever is wrong with it or with us."""
        try:
            work()
        except (ValueError, OverflowError) as error:  # a number that no index has, no such column
            logger.info("an invalid request: %s", described(error))
            self._refuse(HTTPStatus.BAD_REQUEST)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            logger.exception("a request could not be answered")
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)

    def _get(self) -> None:
        if self.path == "/favicon.ico":  # browsers ask for one, wherever the page is
            self._answer(b"", "image/x-icon", keep=True)
            return
        if (place := self._place()) is None:
            return
        path, _, query = place.partition("?")
        session, views = self.server.session, self.server.views
        try:
            if path == "":
                with session.lock:
                    page = views.captions(Query.of(parse_qs(query)))
                self._answer(page.encode(), "text/html; charset=utf-8")
            elif path == "figures":
                self._answer(views.figures().encode(), "text/html; charset=utf-8")
            elif path == "decisions.jsonl":
                self._answer(session.decisions.as_bytes(), "application/jsonl", download=path)
            elif found := _IMAGE.fullmatch(path):
                side = LARGE if found[2] else SMALL
                image = views.picture(int(found[1]), side, marked=bool(found[3]))
                self._answer(image, "image/jpeg", keep=True)
            elif found := _TABLES.fullmatch(path):
                self._answer(views.tables(int(found[1])).encode(), "text/html; charset=utf-8")
            else:
                self._refuse(HTTPStatus.NOT_FOUND)
        except (LookupError, BadRecord):
            self._refuse(HTTPStatus.NOT_FOUND)

    def _post(self) -> None:
        if (place := self._place()) is None:
            return
        length = self.headers.get("Content-Length", "")
        origin = self.headers.get("Origin")
        works = {"decide": self._decide, "apply": self._apply}
        if place not in works or not _LENGTH.fullmatch(length) or int(length) > 8 * LONGEST:
            self._refuse(HTTPStatus.BAD_REQUEST)
        elif origin is not None and urlsplit(origin).netloc != self.headers["Host"]:
            self._refuse(HTTPStatus.FORBIDDEN)
        elif self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        else:
            works[place](self.rfile.read(int(length)))

    def _decide(self, body: bytes) -> None:
        session = self.server.session
        try:
            caption, sentence, decision, text = parse_decision(body)
            with session.lock:
                session.decide(caption, sentence, decision, text)
                made = {"decided": len(session.decisions.rows), "left": session.left()}
        except (ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST)
        except (OSError, UserError) as error:
            logger.error("the decision could not be kept: %s", error)
            self._refuse(HTTPStatus.INSUFFICIENT_STORAGE)
        else:
            self._answer(json.dumps(made).encode(), "application/json")

    def _apply(self, body: bytes) -> None:
        """One at a time, without the index: pages are served meanwhile."""
        server = self.server
        undecided = parse_undecided(body)
        try:
            with server.applying:
                said = {"said": server.session.apply(undecided), "applied": True}
        except UserError as error:
            said = {"said": f"{error.message}; {error.hint}" if error.hint else error.message}
        self._answer(json.dumps(said).encode(), "application/json")

    def _place(self) -> str | None:
        """What follows the token; None where the request was refused."""
        hosts = (f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}")
        if self.headers.get("Host") not in hosts:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        _, _, rest = self.path.partition("/")
        token, slash, place = rest.partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return place

    def _answer(self, body: bytes, kind: str, *, keep: bool = False, download: str = "") -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "private, max-age=3600" if keep else "no-store")
        if download:
            self.send_header("Content-Disposition", f'attachment; filename="{download}"')
        self._finish(body)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True  # what is left of the request's body is not read
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Connection", "close")
        self._finish(f"{status.value} {status.phrase}\n".encode())

    def _finish(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)


def serve(server: ExploreServer, ready: Callable[[str], None]) -> None:
    """Serves until Ctrl-C."""
    ready(server.url)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
