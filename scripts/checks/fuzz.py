"""A fuzzer of the command `revise-captions`: is a record ever lost?

    python -m scripts.checks.fuzz --seconds 60
    python -m scripts.checks.fuzz --seed 7 --kinds rows,server --keep found

Runs the command in this process on windows of good and hostile rows (`hostile.py`), with scripted
models or with a model's server that answers badly, and checks after each run that

    every row of the input came out exactly once, in OUT or in the quarantine, in order,
    good rows came out byte for byte as in a run without the hostile ones,
    the exit status is 0, or 2 for an archive that is damaged as a whole, and nothing printed
    a traceback.

Prints the counts as one line of JSON. Ends with 1 where a run broke this; `--keep` keeps its input.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from PIL import Image

from revise_captions.engines.openai import http, probe, server
from revise_captions.io import url_fetch
from revise_captions.pipelines.verify_revisions import cli as verify_revisions
from scripts.checks import fuzz_commands, fuzz_files, hostile, hostile_tables
from scripts.checks.fuzzing import (
    DAMAGED,
    FIELDS,
    NO_RECORD,
    Broken,
    command,
    is_element,
    lines_of,
    mixed,
    original,
    packed,
    program,
    quarantined,
    same_fields,
    sign,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))
import chat_server
import scripted_run

PICTURE = Path(__file__).parents[2] / "datasets/picturebook/examples/images/test-009.png"
#: What hostile rows of the server's runs say: only answers about them are spoiled.
MARK = "Quux"


@dataclass
class Fuzzer:
    """Runs of one seed. `counts` and `findings` are what `main` prints."""

    seed: int
    folder: Path
    keep: Path | None = None
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[tuple[str, ...], dict[bytes, bytes]] = field(default_factory=dict)
    _good: list[bytes] = field(default_factory=hostile.good_rows)

    def attempt(self, number: int, kind: str) -> None:
        """One run of this kind; its input depends on the seed, the number and the kind alone."""
        rng = random.Random(f"{self.seed} {number} {kind}")
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        Image.radial_gradient("L").resize((40, 30)).convert("RGB").save(work / "good.png")
        self.counts["runs"] += 1
        self.counts[kind] += 1
        try:
            with contextlib.chdir(work):
                KINDS[kind](self, rng)
        except Exception as error:
            where = "" if isinstance(error, Broken) else traceback.format_exc()
            found = {"seed": self.seed, "run": number, "kind": kind}
            found |= {"what": f"{type(error).__name__}: {error} {where}"}
            self.findings.append(found)
            print(json.dumps(found), file=sys.stderr, flush=True)
            if self.keep is not None:
                shutil.copytree(work, self.keep / f"{self.seed}-{number}-{kind}")

    # --- Kinds of runs --------------------------------------------------------------------------

    def corpus(self, rng: random.Random) -> None:
        """Everything that attacks have found, among good rows, as lines and as an array."""
        self._lines(rng, list(hostile.CORPUS), [*FIELDS, "--report", "r.html"])

    def rows(self, rng: random.Random) -> None:
        """Rows as lines, plain or compressed."""
        bad = [hostile.hostile_row(rng, self._good) for _ in range(rng.randint(1, 60))]
        options = rng.choice(([], ["--report", "r.html"], ["--image-root", "."]))
        options += rng.choice(([], ["--stage", "critique"], ["--on-unfixable", "drop"]))
        self._lines(rng, bad, [*FIELDS, *options])

    def array(self, rng: random.Random) -> None:
        """Rows as one array, of values that are JSON."""
        bad = [
            row
            for row in (hostile.hostile_row(rng, self._good) for _ in range(40))
            if is_element(row)
        ]
        rows = mixed(rng, self._good, bad)
        Path("in.json").write_bytes(b"[" + b",\n".join(rows) + b"]")
        command("in.json", "out.jsonl", *FIELDS)
        self._check(rows, Path("out.jsonl"), FIELDS)

    def revisions(self, rng: random.Random) -> None:
        """Rows of a critique stage whose revisions were tampered with."""
        Path("in.jsonl").write_bytes(b"\n".join(self._good))
        command("in.jsonl", "judged.jsonl", *FIELDS, "--stage", "critique")
        sign("judged.jsonl", "in.jsonl", "alone.jsonl")
        judged = Path("judged.jsonl").read_bytes().splitlines()
        bad = [hostile.hostile_revision(rng, row) for row in judged]
        options = (*FIELDS, "--stage", rng.choice(("revise", "critique")))
        self._lines(rng, bad, list(options), judged)

    def archives(self, rng: random.Random) -> None:
        """A tar of hostile members, and compressed or packed files that are damaged as a whole."""
        members: list[tuple[str, bytes]] = []
        keys = [f"k{number}" for number in range(rng.randint(1, 20))]
        for key in keys:
            members += hostile.hostile_members(rng, key)
        data = hostile.tar_of(members, rng.choice(("", "gz")))
        Path("in.tar").write_bytes(data)
        names = ["--image-field", "png", "--caption-field", "txt"]
        if command("in.tar", "out.jsonl", *names, allowed=DAMAGED) != 2:
            out, bad = lines_of(Path("out.jsonl")), quarantined(Path("out.jsonl"))
            if len(out) + len(bad) != len(keys):
                raise Broken(f"{len(keys)} rows in, {len(out)} + {len(bad)} out")
            self._count(out, bad)
        for name, whole in (("b.tar", data), ("b.jsonl", packed(rng, b"\n".join(self._good)))):
            Path(name).write_bytes(hostile.mutated(rng, whole))
            command(name, f"o.{name}", allowed=DAMAGED)

    def server(self, rng: random.Random) -> None:
        """Good answers about good rows, hostile ones about the others."""
        bad = [
            json.dumps({"image": "good.png", "caption": f"A {MARK} {k}.", "x": rng.random()})
            for k in range(5)
        ]
        salt = rng.random()

        def spoil(text: str, answer: dict[str, Any]) -> chat_server.Raw | None:
            if MARK not in text:
                return None
            seed = hashlib.sha256(f"{salt}{text}".encode("utf-8", "surrogatepass")).digest()
            return chat_server.Raw(*hostile.hostile_answer(random.Random(seed), answer))

        kind = rng.choice(("vllm", "openai"))
        manners = chat_server.Manners(kind, spoil=spoil)
        with chat_server.serving(manners) as url, _real_models():
            model = f"{chat_server.MODEL}@{url}"
            options = ["--critic", model, "--reviser", model, *FIELDS]
            rows = mixed(rng, self._good, [row.encode() for row in bad])
            Path("in.jsonl").write_bytes(b"\n".join(rows))
            command("in.jsonl", "out.jsonl", *options)
            self._check(rows, Path("out.jsonl"), (url,), lambda: self._baseline(options, rows))

    def urls(self, rng: random.Random) -> None:
        """Images from a web server that sends anything."""
        with hostile.web_server(rng) as base, _reachable():
            urls = [f"{base}/{k}" for k in range(10)]
            urls += [f"{base}{rng.choice(hostile.TARGETS)}" for _ in range(4)]
            urls += [f"http://{hostile.text(rng, 9)}", *rng.sample(hostile.NAMES, 5)]
            rows = [json.dumps({"image": url, "caption": hostile.CAPTION}).encode() for url in urls]
            self._lines(rng, rows, [*FIELDS, "--allow-urls"])

    def models(self, rng: random.Random) -> None:
        """Hostile captions and the bundled models themselves, on an image that they know."""
        shutil.copy(PICTURE, "good.png")
        texts = [hostile.text(rng, 300) for _ in range(10)] + ["A dog \ud83d stands."]
        texts += [f"A dog {rng.choice(hostile.TEXTS)[:9000]} stands." for _ in range(10)]
        rows_of = ({"image": "good.png", "caption": text, "row": k} for k, text in enumerate(texts))
        rows = mixed(rng, self._good[:2], [json.dumps(row).encode() for row in rows_of])
        Path("in.jsonl").write_bytes(b"\n".join(rows))
        with _real_models():
            command("in.jsonl", "out.jsonl", *FIELDS)
        # What is computed together may change the last digit: bytes are compared elsewhere.
        self._check(rows, Path("out.jsonl"), ("models",), dict)

    def parquet(self, rng: random.Random) -> None:
        """Tables of odd columns, and one whose bytes were changed."""
        table = hostile_tables.table(rng, self._good)
        data = hostile_tables.encoded(rng, table)
        Path("in.parquet").write_bytes(data)
        for name in ("out.parquet", "out.jsonl"):
            command("in.parquet", name, *FIELDS, allowed=(0, NO_RECORD))
        out, bad = lines_of(Path("out.jsonl")), quarantined(Path("out.jsonl"))
        self._count(out, bad)
        numbers = [json.loads(line)["n"] for line in out] + [row["line"] - 1 for row in bad]
        if sorted(numbers) != list(range(len(table))):
            raise Broken(f"{len(table)} rows in, out {numbers}")
        Path("cut.parquet").write_bytes(hostile.mutated(rng, data))
        command("cut.parquet", "cut.jsonl", *FIELDS, allowed=DAMAGED)

    def verified(self, rng: random.Random) -> None:
        """Checks of hostile captions, and of revisions that were tampered with."""
        bad = [hostile.hostile_caption(rng) for _ in range(6)]
        good = self._good[:6]
        self._lines(rng, bad, [*FIELDS, "--verify", "text,critic"], good)
        rows = [hostile.hostile_revision(rng, row) for row in lines_of(Path("out.jsonl"))]
        # a revision can be tampered with so that it stays whole: order and number are compared
        Path("judged.jsonl").write_bytes(b"\n".join([*lines_of(Path("out.jsonl"))[:1], *rows]))
        sign("out.jsonl", "judged.jsonl")
        options = [*FIELDS, "--verify", "text,critic"]
        command(
            "judged.jsonl",
            "checked.jsonl",
            *options,
            main=program(verify_revisions.verify_revisions),
        )
        out, left = lines_of(Path("checked.jsonl")), quarantined(Path("checked.jsonl"))
        self._count(out, left)
        if len(out) + len(left) != len(rows) + 1:
            raise Broken(f"{len(rows) + 1} rows in, {len(out)} + {len(left)} out")

    def other(self, name: str, rng: random.Random) -> None:
        """Another command, or another layout."""
        self.counts["rows of other commands and layouts"] += OTHERS[name](rng, self._good)

    # --- Checks ---------------------------------------------------------------------------------

    def _lines(
        self,
        rng: random.Random,
        bad: Sequence[bytes],
        options: Sequence[str],
        good: Sequence[bytes] | None = None,
    ) -> None:
        good = self._good if good is None else good
        rows = mixed(rng, good, bad)
        Path("in.jsonl").write_bytes(packed(rng, b"\n".join(rows)))
        command("in.jsonl", "out.jsonl", *options)
        rows = [row for row in rows if row and not row.isspace()]
        known = tuple(option for option in options if option not in ("--report", "r.html"))
        self._check(rows, Path("out.jsonl"), known, lambda: self._baseline(known, good))

    def _check(
        self,
        rows: Sequence[bytes],
        out: Path,
        options: tuple[str, ...],
        baseline: Callable[[], dict[bytes, bytes]] | None = None,
    ) -> None:
        """Raises `Broken` where the rows are not all there, once, in order, good ones the same."""
        written, bad = lines_of(out), quarantined(out)
        self._count(written, bad)
        if len(written) + len(bad) != len(rows):
            raise Broken(f"{len(rows)} rows in, {len(written)} + {len(bad)} out")
        if options not in self._known:
            make = baseline or (lambda: self._baseline(options, self._good))
            self._known[options] = make()
        known = self._known[options]
        lines, quarantine = iter(written), iter([*bad, None])
        next_bad = next(quarantine)
        for row in rows:
            if next_bad is not None and original(next_bad) == row:
                if row in known:
                    raise Broken(f"a good row was quarantined: {next_bad}")
                next_bad = next(quarantine)
                continue
            line = next(lines, None)
            if line is None or not same_fields(row, line):
                raise Broken(f"out of order, or lost: {row[:200]!r}")
            if row in known and known[row] != line:
                raise Broken(f"a good row changed: {row[:200]!r}")

    def _baseline(self, options: Sequence[str], rows: Sequence[bytes]) -> dict[bytes, bytes]:
        """What becomes of the good rows among these on their own."""
        good = [row for row in rows if MARK.encode() not in row]
        Path("alone.jsonl").write_bytes(b"\n".join(good))
        command("alone.jsonl", "alone.out.jsonl", *options)
        return dict(zip(good, lines_of(Path("alone.out.jsonl")), strict=True))

    def _count(self, written: Sequence[bytes], bad: Sequence[dict[str, Any]]) -> None:
        self.counts["written"] += len(written)
        self.counts["quarantined"] += len(bad)
        self.counts.update(f"reason {row['reason']}" for row in bad)


OTHERS = {**fuzz_commands.KINDS, **fuzz_files.KINDS}


def _other(name: str) -> Callable[[Fuzzer, random.Random], None]:
    return lambda fuzzer, rng: fuzzer.other(name, rng)


KINDS: dict[str, Callable[[Fuzzer, random.Random], None]] = {
    "corpus": Fuzzer.corpus,
    "rows": Fuzzer.rows,
    "array": Fuzzer.array,
    "revisions": Fuzzer.revisions,
    "archives": Fuzzer.archives,
    "server": Fuzzer.server,
    "urls": Fuzzer.urls,
    "models": Fuzzer.models,
    "parquet": Fuzzer.parquet,
    "verified": Fuzzer.verified,
    **{name: _other(name) for name in OTHERS},
}


@contextlib.contextmanager
def _real_models() -> Iterator[None]:
    """Loads the models that the options name, though the scripted ones are installed."""
    with contextlib.ExitStack() as stack:
        for name, loader in LOADERS.items():
            stack.enter_context(mock.patch.object(scripted_run.models, name, loader))
        yield


LOADERS = {
    name: getattr(scripted_run.models, name) for name in ("load_critic_of", "load_reviser_of")
}


@contextlib.contextmanager
def _reachable() -> Iterator[None]:
    """Lets the command fetch from this machine, and wait less."""
    defaults, limits = url_fetch.fetch.__kwdefaults__, url_fetch.FetchLimits(seconds=0.4)
    with (
        mock.patch.dict(defaults, allowed=lambda address: address == "127.0.0.1"),
        mock.patch.object(url_fetch, "FetchLimits", return_value=limits),
    ):
        yield


def fuzz(seed: int, seconds: float, kinds: Sequence[str], keep: Path | None = None) -> Fuzzer:
    """Runs of all these kinds in turn, each at least once, until the time is up."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, contextlib.ExitStack() as stack:
        fuzzer = Fuzzer(seed, Path(folder), keep)
        for module, name, value in (
            (http, "FIRST_PAUSE", 0.001),
            (http, "LONGEST_PAUSE", 0.001),
            (server, "DEAD_AFTER", 10**9),  # hostile rows are not a server that is gone
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        patience = {"timeout": 0.4}, {"tries": 2}
        for call, values in zip((probe.connect, http.Http.__init__), patience, strict=True):
            stack.enter_context(mock.patch.dict(call.__kwdefaults__, values))
        for name in (*LOADERS, "check_reviser"):  # what `install` replaces is put back
            stack.enter_context(mock.patch.object(scripted_run.models, name))
        scripted_run.install()
        logging.getLogger("httpx").setLevel(logging.WARNING)
        number = 0
        while number < len(kinds) or time.monotonic() < end:
            fuzzer.attempt(number, kinds[number % len(kinds)])
            number += 1
    return fuzzer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="each kind runs at least once")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of: %(default)s")
    parser.add_argument("--keep", type=Path, help="folder for the input of runs that broke")
    asked = parser.parse_args()
    begin = time.monotonic()
    done = fuzz(asked.seed, asked.seconds, asked.kinds.split(","), asked.keep)
    counts = dict(sorted(done.counts.items()))
    result = {"seed": asked.seed, "seconds": round(time.monotonic() - begin, 1), **counts}
    print(json.dumps({**result, "findings": done.findings}))
    sys.exit(bool(done.findings))


if __name__ == "__main__":
    main()
