"""What a person decides about rewrites, as training data and as answers of a rater.

A decision makes one or two lines of JSON. Each is a row for captions finetune (a caption with one
labeled sentence) and an answer for `captions annotate import RUN` (it names its `item`):

    accept    the sentence is wrong, and its rewrite, or its removal, is right
    reject    the sentence is right as it came
    edit      the sentence is wrong, and `text` is right instead; "" takes it out
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revise_captions.io.writing import check_writable, in_turn, write_json_lines
from revise_captions.pipelines.annotate.tasks.decided import DECISIONS, decision_rows
from revise_captions.pipelines.annotate.tasks.units import Unit
from revise_captions.pipelines.apply.captions import UNDECIDED, Undecided
from revise_captions.pipelines.apply.people import stored_decisions
from revise_captions.runs.paths import quarantine_path

_MARK = b'"decision": '


def decisions_path(out: str) -> Path:
    """`out.decisions.jsonl` for `out.jsonl`."""
    beside = str(quarantine_path(out))
    return Path(beside.removesuffix(".quarantine.jsonl") + ".decisions.jsonl")


@dataclass(slots=True)
class Decisions:
    """The decisions in a file, which is written anew, whole, with each of them.

    Attributes:
        path: The file. What other processes write to it, at the same time or between, is kept.
        reviewer: Who decides.
        rows: Lines of the file by the sentence that they are about.
    """

    path: Path
    reviewer: str
    rows: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, path: Path, reviewer: str, reads: list[Path | str]) -> Decisions:
        """The decisions made so far. Raises `UserError` for a file that holds something else."""
        check_writable(path, reads, force=None, ours=lambda head: not head or _MARK in head)
        found = cls(path, reviewer)
        found._refresh()
        return found

    def _refresh(self) -> None:
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for stored, row in stored_decisions(self.path) if self.path.exists() else ():
            rows.setdefault(stored.sentence_id, []).append(row)
        self.rows = rows

    def of(self, sentence: str) -> tuple[str, str] | None:
        """The decision about a sentence, with its text; None where there is none."""
        rows = self.rows.get(sentence)
        return (rows[0]["decision"], rows[0].get("rewrite") or "") if rows else None

    def decide(self, unit: Unit, decision: str, text: str) -> None:
        """Keeps a decision; "" takes an earlier one back. Raises `UserError`."""
        with self._lock, in_turn(self.path):
            self._refresh()
            self.rows.pop(unit.id, None)
            if decision:
                rows = decision_rows(unit, decision, text)
                self.rows[unit.id] = [{"annotator": self.reviewer} | row for row in rows]
            write_json_lines(self.path, (row for rows in self.rows.values() for row in rows))

    def as_bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def counts(self) -> dict[str, int]:
        made = [rows[0]["decision"] for rows in self.rows.values()]
        return {name: made.count(name) for name in DECISIONS}


def parse_decision(body: bytes) -> tuple[int, int, str, str]:
    """Caption, sentence, decision and text of a request. Raises `ValueError`."""
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    caption, sentence = found["caption"], found["sentence"]
    decision, text = found["decision"], found.get("text", "")
    if type(caption) is not int or type(sentence) is not int or sentence < 0:
        raise ValueError("caption and sentence are numbers")
    if decision not in ("", *DECISIONS) or not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError("not a decision")
    return caption, sentence, decision, text


def parse_undecided(body: bytes) -> Undecided:
    """What becomes of undecided sentences, of a request. Raises `ValueError`."""
    found = json.loads(body)
    if not isinstance(found, dict) or found.get("undecided") not in UNDECIDED:
        raise ValueError(f"expected undecided to be one of {', '.join(UNDECIDED)}")
    chosen: Undecided = found["undecided"]
    return chosen


#: Characters of an edited sentence.
LONGEST = 20_000
