"""The command with scripted models, as a process of its own: `python scripted_run.py IN OUT …`.

Everything but the two models is the real thing. P(factual) is a hash of context and sentence, so
that it changes with the context as a real critic's does. From the environment:

    SCRIPTED_CALLS    file that gets a line for every caption that is judged
    SCRIPTED_DIES     the engine dies at this call of the critic
    SCRIPTED_STALLS   this call of the critic takes ten minutes
    SCRIPTED_LIMIT    bytes that any file may grow to (a disk that is full)
    SCRIPTED_FAST     no hash, no rewrites, no image read: what everything else costs
    SCRIPTED_SLOW     seconds that each call of the critic takes
    SCRIPTED_KILLS    file that the first process to get to its third call makes, and then dies by
                      SIGKILL
    SCRIPTED_POISON   every process dies so at this call of the critic
    SCRIPTED_PEAK     file that gets the run's highest resident memory in KiB
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.errors import EngineDead
from revise_captions.pipelines.job import models
from revise_captions.pipelines.options import ModelOptions
from revise_captions.process_memory import peak_memory
from revise_captions.records import Rationale, Unscored, Verdict
from revise_captions.reviser.protocol import RewriteRequest


def p_factual(context: str, sentence: str) -> float:
    """From 0 to 1, two thirds of them above one half."""
    digest = hashlib.sha256(f"{context}\0{sentence}".encode("utf-8", "surrogatepass")).digest()
    return round((int.from_bytes(digest[:4], "big") / 2**32) ** 0.6, 4)


@dataclass
class HashCritic:
    """Flags about a third of all sentences; knows no other script than the Latin one."""

    threshold: float = 0.5
    settings: Mapping[str, str] = field(
        default_factory=lambda: {"critic": os.environ.get("SCRIPTED_CRITIC", "hash")}
    )
    calls: int = 0

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        self.calls += 1
        if str(self.calls) == os.environ.get("SCRIPTED_DIES"):
            raise EngineDead("the engine stopped answering")
        if str(self.calls) == os.environ.get("SCRIPTED_STALLS"):
            time.sleep(600)
        time.sleep(float(os.environ.get("SCRIPTED_SLOW", 0)))
        if self.calls == 3 and (mark := os.environ.get("SCRIPTED_KILLS")):
            with suppress(FileExistsError):
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        if str(self.calls) == os.environ.get("SCRIPTED_POISON"):
            os.kill(os.getpid(), signal.SIGKILL)
        if path := os.environ.get("SCRIPTED_CALLS"):
            with open(path, "a", encoding="utf-8", errors="surrogatepass") as file:
                file.writelines(f"{paragraph.text[:40]!r}\n" for paragraph in paragraphs)
        return [self._verdicts(paragraph) for paragraph in paragraphs]

    def _verdicts(self, asked: JudgeRequest) -> list[Verdict]:
        if os.environ.get("SCRIPTED_FAST"):
            return [Verdict(0.9, assessable=True)] * (len(asked.spans) - asked.first)
        return [
            _verdict(asked.text[: span.start], span.of(asked.text))
            for span in asked.spans[asked.first :]
        ]

    def explain(self, claims: Sequence[ExplainRequest]) -> list[Rationale]:
        return [Rationale(f"Not so: {c.spans[c.index].of(c.text)[:40]}") for c in claims]


def _verdict(context: str, sentence: str) -> Verdict:
    letters = [c for c in sentence if c.isalpha()]
    if letters and sum(ord(c) > 0x24F for c in letters) > len(letters) / 2:
        return Verdict(None, Unscored.LANGUAGE)
    p = p_factual(context, sentence)
    return Verdict(p, assessable=p < 0.97)


@dataclass
class WordReviser:
    """Another word at the end of the sentence with every try; deletes one sentence in ten."""

    settings: Mapping[str, str] = field(default_factory=lambda: {"reviser": "word"})
    strict: bool = False

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        return [_rewrite(request) for request in requests]


def _rewrite(request: RewriteRequest) -> str | None:
    chance = p_factual("reviser", request.sentence)
    if chance < 0.05:
        return None
    if chance < 0.15:
        return ""
    body = request.sentence.rstrip(".!? ")
    words = ("here", "there", "again", "today")
    return f"{body} {words[len(request.failed) % len(words)]}."


def install(replace: Callable[[object, str, object], None] = setattr) -> None:
    """Has the command load these models, whatever it is asked for."""

    def critic(options: ModelOptions) -> HashCritic:
        return HashCritic(0.5 if options.threshold is None else options.threshold)

    replace(models, "load_critic_of", critic)
    replace(models, "check_reviser", lambda *given: None)
    replace(models, "load_reviser_of", lambda models, critic=None, earlier=None: WordReviser())


def main(arguments: list[str] | None = None) -> None:
    from revise_captions.pipelines import cli

    if os.environ.get("SCRIPTED_FAST"):
        from PIL import Image

        from revise_captions.runs import inputs

        picture = Image.new("RGB", (8, 8))
        inputs.load_image = lambda *given, **options: picture  # type: ignore[assignment]
    if limit := os.environ.get("SCRIPTED_LIMIT"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    install()
    if arguments is None and "ray" in sys.argv:
        from revise_captions.pipelines.job import ray_runner

        scripted = {name: value for name, value in os.environ.items() if "SCRIPTED" in name}
        ray_runner.RUNTIME_ENV = {
            "worker_process_setup_hook": "scripted_run.install",
            "env_vars": {**scripted, "PYTHONPATH": os.path.dirname(__file__)},
        }
    if path := os.environ.get("SCRIPTED_PEAK"):
        atexit.register(_write_peak, path)
    cli.main(arguments)


def _write_peak(path: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(str(peak_memory() // 1024))


def serve(of: str) -> None:
    """Forks a run for each line of standard input, `{"arguments": …, "folder": …, "change": …,
    "environment": …}`: where it runs, and null or what `killed_runs.die_at_change` takes.

    Answers with its process id, then with its exit status (minus the signal that ended it) and the
    seconds of processor time that it took. What it prints goes to `printed` and `printed.err`.
    Without imports and dictionaries, which are there from `_warm` on, a run's length is its work.

    Args:
        of: `revise-captions`, with these models, or `captions`.
    """
    from killed_runs import die_at_change

    from revise_captions.command_line import captions

    _warm(of)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(request["folder"])
            os.environ.update(request["environment"])
            for stream, name in ((1, "printed"), (2, "printed.err")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            if request["change"] is not None:
                die_at_change(request["change"])
            (captions.main if of == "captions" else main)(request["arguments"])
            os._exit(0)
        print(child, flush=True)
        _, status, used = os.wait4(child, 0)
        print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)


def _warm(of: str) -> None:
    """A small run, so that each that is forked off has what the first of a process loads."""
    import contextlib
    import gc
    import io
    import tempfile

    from PIL import Image

    from revise_captions.command_line import captions

    words = "A dog sits beside two red boats. The cars are parked here. It rains on the houses."
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        Image.new("RGB", (8, 8)).save(f"{folder}/a.png")
        lines = [json.dumps({"image": "a.png", "caption": words[n:]}) for n in range(0, 40, 4)]
        with open(f"{folder}/in.jsonl", "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        out = f"{folder}/out.jsonl"
        with contextlib.redirect_stderr(io.StringIO()) as said:
            statuses = [_status(main, [f"{folder}/in.jsonl", out])]
            if of == "captions":
                asked = ["--rest", f"{folder}/rest.jsonl", "--where", "factual_after >= 0.9"]
                statuses.append(
                    _status(captions.main, ["select", out, f"{folder}/kept.jsonl", *asked])
                )
    assert not any(statuses), said.getvalue()
    if of == "captions":
        from revise_captions.layouts import arrow_output  # noqa: F401
        from revise_captions.pipelines.apply import in_place  # noqa: F401
    gc.collect()
    gc.freeze()  # a forked run's collector would copy every page


def _status(command: Callable[[list[str]], None], arguments: list[str]) -> object:
    try:
        command(arguments)
    except SystemExit as end:
        return end.code
    return 0


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["serve"] else main()
