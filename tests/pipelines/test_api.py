"""`revise_captions.revise`: the main job as a function."""

from __future__ import annotations

import inspect
import io
import itertools
from pathlib import Path

import numpy as np
import pytest
from commands import read_in_full, write_input
from PIL import Image
from scripted_run import HashCritic, WordReviser, p_factual

import revise_captions
from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.api import revise
from revise_captions.pipelines.job.window import Result
from revise_captions.records import ImageRef, Record, Span

PICTURE = Image.new("RGB", (12, 8), "red")
CAPTION = "A dog stands near the tree. The sun holds a bench. Two birds."


def run(records, **options):
    options = {"critic": HashCritic(), "reviser": WordReviser(), **options}
    return revise(records, **options)


def encoded() -> bytes:
    buffer = io.BytesIO()
    PICTURE.save(buffer, "PNG")
    return buffer.getvalue()


def test_mappings_pictures_and_order(tmp_path):
    PICTURE.save(tmp_path / "a.png")
    rows = [
        {"image": PICTURE, "caption": CAPTION},
        {"image": tmp_path / "a.png", "caption": CAPTION},
        {"image": str(tmp_path / "a.png"), "caption": "Nothing here."},
        {"image": encoded(), "caption": CAPTION},
        {"image": PICTURE.convert("CMYK"), "caption": CAPTION},
    ] * 40
    results = list(run(rows))
    assert all(isinstance(result, Result) for result in results), results[:5]
    assert [result.record.line for result in results] == list(range(1, 201))
    assert [result.record.captions["caption"] for result in results] == [
        row["caption"] for row in rows
    ]
    revision = results[0].revisions["caption"]
    assert [s.span.of(CAPTION) for s in revision.sentences] == [
        "A dog stands near the tree.", "The sun holds a bench.", "Two birds.",
    ]  # fmt: skip
    for sentence in revision.sentences:
        context, text = CAPTION[: sentence.span.start], sentence.span.of(CAPTION)
        assert sentence.verdict.p_factual == p_factual(context, text)
    assert revision.signature.startswith("critic:hash|guard:warn|")
    for same in (1, 3, 4):
        assert results[same].revisions == results[0].revisions


def test_bad_rows_come_in_their_places():
    rows = [
        {"image": PICTURE, "caption": CAPTION},
        {"image": "/nowhere/a.png", "caption": CAPTION},
        {"image": PICTURE, "caption": " "},
        {"image": PICTURE},
        {"image": "http://127.0.0.1/a.png", "caption": CAPTION},
        {"image": PICTURE, "caption": CAPTION},
    ]
    results = list(run(rows))
    reasons = [getattr(result, "reason", None) for result in results]
    assert reasons == [
        None, Reason.IMAGE_NOT_FOUND, Reason.EMPTY_CAPTION, Reason.MISSING_CAPTION,
        Reason.URL_NOT_ALLOWED, None,
    ]  # fmt: skip
    bad = results[1]
    assert isinstance(bad, BadRow)
    assert (bad.source, bad.line) == ("memory", 2)


def test_an_endless_stream_is_read_a_window_at_a_time():
    taken = itertools.count()

    def endless():
        for number in taken:
            yield {"image": PICTURE, "caption": f"Dog {number} stands near the tree."}

    results = run(endless(), window=10)
    first = list(itertools.islice(results, 25))
    assert [result.record.line for result in first] == list(range(1, 26))
    assert next(taken) <= 150  # a hundred for the fields, then two windows ahead
    results.close()


def test_windows_do_not_change_results():
    rows = [{"image": PICTURE, "caption": f"{CAPTION} Number {n}."} for n in range(50)]
    one = [result.revisions for result in run(rows, window=1)]
    assert one == [result.revisions for result in run(rows, window=64)]
    assert list(run([])) == []


def test_records_and_several_captions():
    record = Record("mine", 7, ImageRef(data=encoded()), {"a": CAPTION, "b": "A cat sleeps."})
    (result,) = run([record])
    assert result.record is record
    assert list(result.revisions) == ["a", "b"]
    rows = [{"pic": PICTURE, "a": CAPTION, "b": "A cat sleeps."}]
    (same,) = run(rows, image_field="pic", caption_fields=["a", "b"])
    assert same.revisions == result.revisions


def test_critique_needs_no_reviser_and_no_model_of_it():
    rows = [{"image": PICTURE, "caption": CAPTION}]
    (result,) = revise(rows, critic=HashCritic(), reviser="no such reviser", stage="critique")
    revision = result.revisions["caption"]
    assert revision.revised_caption == CAPTION
    assert revision.rounds == 0
    assert "reviser" not in revision.signature


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stage": "revize"}, "stage='revize': expected one of all, critique, revise"),
        ({"on_unfixable": "burn"}, "expected one of keep, drop, flag"),
        ({"guard": "lax"}, "expected one of strict, warn"),
        ({"threshold": 0.4}, "brings its own threshold"),
        ({"window": 0}, "expected at least 1"),
        ({"stage": "revise"}, "run `stage` critique first"),
        ({"caption_fields": ["text"]}, 'no field "text"'),
        ({"critic": "/no/such/critic"}, "/no/such/critic"),
        ({"reviser": "/no/such/reviser"}, "`reviser` /no/such/reviser: there is no such folder"),
    ],
)
def test_mistakes_are_user_errors_before_any_work(options, expected):
    with pytest.raises(UserError) as caught:
        run([{"image": PICTURE, "caption": CAPTION}], **options)
    assert expected in str(caught.value)


def test_keywords_are_the_commands_options_with_their_types():
    from typing import get_type_hints

    from revise_captions.pipelines import keywords, options

    groups = (options.InputOptions, options.ModelOptions, options.VerifyOptions, options.RunOptions)
    groups += (options.ServerOptions,)
    hints = {name: kind for group in groups for name, kind in get_type_hints(group).items()}
    declared = get_type_hints(keywords.Options)
    declared["image_root"] = Path | None  # a text too
    assert declared == {name: hints[name] for name in declared}


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3), (8, 8, 4)])
def test_an_image_may_be_an_array(shape):
    (result,) = run([{"image": np.full(shape, 200, np.uint8), "caption": CAPTION}])
    assert result.revisions["caption"].sentences[0].verdict.p_factual is not None


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.zeros((8, 8, 3), np.float32), "an array of float32, 8 × 8 × 3; expected bytes (uint8)"),
        (np.zeros((3, 8, 8), np.uint8), "an array of uint8, 3 × 8 × 8; expected bytes (uint8)"),
        (np.float32(2), "holds one float32; expected bytes (uint8), height × width"),
        ({3}, "holds set; expected a path, a URL, bytes, a Pillow image, or a NumPy array"),
        ("http://x.example/a.png", "pass `allow_urls` to fetch"),
    ],
)
def test_what_is_no_image_names_what_is_expected(image, said):
    (bad,) = run([{"image": image, "caption": CAPTION}], image_field="image")
    assert said in bad.detail


@pytest.mark.parametrize(
    ("image", "kind"),
    [(5, "int"), (1.5, "float"), (True, "bool"), ({3}, "set"), (iter("a"), "str_ascii_iterator")],
)
def test_rows_without_any_image_name_what_their_field_holds(image, kind):
    expected = f"the image field holds {kind}; expected a path, a URL, bytes, a Pillow image"
    with pytest.raises(UserError) as caught:
        run([{"Image": image, "caption": CAPTION}])
    assert expected in caught.value.message
    assert caught.value.hint == 'the field is "Image"; `image_field=NAME` names another'
    with pytest.raises(BadRecord, match=kind):
        revise_captions.judge(image, CAPTION, critic=HashCritic())


def test_rows_without_a_field_for_images_name_those_that_are_there():
    with pytest.raises(UserError) as caught:
        run([{"photo": 5, "caption": CAPTION}])
    assert caught.value.hint == "found fields: photo, caption; pass `image_field=NAME`"


def test_an_image_may_stand_alone_in_a_tuple():
    (result,) = run([{"image": (PICTURE,), "caption": CAPTION}])
    assert result.revisions["caption"].sentences[0].verdict.p_factual is not None


def test_the_signature_shows_the_commands_options():
    """Everything that decides a result can be set in both ways, with the same defaults."""
    from revise_captions.pipelines.options import ModelOptions, option_names

    only_files = {"source", "out", "limit", "shard", "resume", "force", "dry_run", "report"}
    only_files |= {"group_by", "runner", "replicas", "ray_address"}
    only_files |= {"allow_unscored", "max_quarantine", "config", "strict", "write", "evidence"}
    only_files |= {"drop_duplicates", "drop_gray", "language", "max_ratio", "min_side"}
    rows = [{"image": PICTURE, "caption": CAPTION}]
    (plain,) = run(rows)
    for name, default in option_names().items():
        if name in only_files:
            with pytest.raises(TypeError, match=f"no option '{name}'"):
                run(rows, **{name: default})
        elif name not in ("critic", "reviser"):
            assert list(run(rows, **{name: default})) == [plain], name
    with pytest.raises(TypeError, match="did you mean 'threshold'"):
        run(rows, treshold=0.5)
    shown = inspect.signature(revise_captions.revise).parameters
    defaults = {name: p.default for name, p in shown.items() if name in option_names()}
    assert defaults == {"critic": ModelOptions().critic, "reviser": ModelOptions().reviser}


def test_options_come_as_values_or_by_name():
    from revise_captions.pipelines.options import ModelOptions, RunOptions

    rows = [{"image": PICTURE, "caption": CAPTION}]
    named = list(revise_captions.revise(rows, threshold=0.9, rounds=1, stage="critique"))
    valued = revise_captions.revise(
        rows, ModelOptions(threshold=0.9), RunOptions(rounds=1), stage="critique"
    )
    assert list(valued) == named


def test_split_and_span_are_public():
    assert revise_captions.split("One. Two.") == (Span(0, 4), Span(5, 9))


def test_the_function_and_the_command_agree(command, tmp_path):

    rows = write_input(tmp_path / "in.jsonl", 20)
    assert command("in.jsonl", "out.jsonl").code == 0
    written = read_in_full(tmp_path / "out.jsonl")
    results = run(rows, image_root=tmp_path)
    for row, result in zip(written, results, strict=True):
        revision = result.revisions["caption"]
        assert row["revised_caption"] == revision.revised_caption
        assert row["revision"]["signature"] == revision.signature
        spans = [tuple(sentence["span"]) for sentence in row["revision"]["sentences"]]
        assert spans == [sentence.span for sentence in revision.sentences]


def test_a_result_as_a_row_is_the_commands_row(command, tmp_path):
    rows = write_input(tmp_path / "in.jsonl", 20)
    flagging = ["--threshold", "0.61237", "--on-unfixable", "flag"]
    options = {"critic": HashCritic(0.61237), "on_unfixable": "flag"}
    for more, given in (([], {}), (flagging, options)):
        assert command("in.jsonl", "out.jsonl", "--force", *more).code == 0
        results = run(rows, image_root=tmp_path, **given)
        made, written = [r.to_row() for r in results], read_in_full(tmp_path / "out.jsonl")
        assert made == written


def test_one_caption_is_judged_in_one_line(tmp_path):
    Image.new("RGB", (9, 7)).save(tmp_path / "a.png")
    text = "A dog sleeps. It is grey. Two birds sit there."
    judged = revise_captions.judge(str(tmp_path / "a.png"), text, critic=HashCritic())
    found = [sentence.verdict.p_factual for sentence in judged.sentences]
    contexts = ["", "A dog sleeps. ", "A dog sleeps. It is grey. "]
    sentences = ["A dog sleeps.", "It is grey.", "Two birds sit there."]
    assert found == [p_factual(c, s) for c, s in zip(contexts, sentences, strict=True)]
    assert judged.revised_caption == text
    flagged = [s.rationale is not None for s in judged.sentences]
    assert flagged == [p < 0.5 for p in found]
    with pytest.raises(BadRecord, match=r"gone\.png does not exist"):
        revise_captions.judge("gone.png", "A dog.", critic=HashCritic())


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert revise_captions.__version__ == version("revise-captions")
    assert {"Result", "BadRow", "judge"} <= set(revise_captions.__all__)
    assert revise_captions.Result is Result
    assert revise_captions.BadRow is BadRow
