"""A run of the story book's captions on disk, with pictures, for the explorer's tests."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import storybook

from revise_captions.pipelines.explore.index import RunFile
from revise_captions.pipelines.explore.server import ExploreServer
from revise_captions.pipelines.explore.session import ExploreOptions, open_session

SIGNATURE = "critic:storybook|reviser:storybook|threshold:{threshold}"


def write_run(
    folder: Path,
    records: int = 30,
    *,
    name: str = "revised.jsonl",
    threshold: float = 0.5,
    start: int = 1,
    pictures: bool = True,
) -> Path:
    """Writes `name` and the images of its rows."""
    (folder / "images").mkdir(exist_ok=True)
    out = folder / name
    with out.open("w", encoding="utf-8") as file:
        for number in range(start, start + records):
            caption, row = storybook.story(number)
            row["revision"] |= {
                "signature": SIGNATURE.format(threshold=threshold),
                "threshold": threshold,
            }
            image = f"images/{number}.png"
            if pictures and not (folder / image).exists():
                storybook.picture(number).save(folder / image)
            model = storybook.MODELS[number % 3]
            head = {"id": f"r{number}", "image": image, "model": model, "caption": caption}
            file.write(json.dumps(head | row) + "\n")
    return out


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@contextmanager
def serving(run, **options):
    session = open_session(ExploreOptions(RunFile(str(run)), **options))
    server = ExploreServer(session)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def ask(server, path, method="GET", body=None, **headers):
    """A request's status, headers and body; `Content_Type` names a header."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()
