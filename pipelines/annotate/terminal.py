"""What `captions annotate` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from revise_captions.outside_text import plain
from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
from revise_captions.text.formatting import plural

if TYPE_CHECKING:
    from revise_captions.pipelines.annotate.answers.import_answers import Imported
    from revise_captions.pipelines.annotate.data.convert import Converted
    from revise_captions.pipelines.annotate.data.matching import Matched
    from revise_captions.pipelines.annotate.options import (
        ConvertOptions,
        ExportOptions,
        ImportOptions,
        MatchOptions,
    )
    from revise_captions.pipelines.annotate.tasks.export import Exported
    from revise_captions.training_data.folder import SplitCounts


def exported_text(options: ExportOptions, found: Exported) -> str:
    sentences = sum(stratum["sentences"] for stratum in found.strata)
    drawn = sum(stratum["with_image"] for stratum in found.strata)
    names = [plain(stratum["name"])[:60] for stratum in found.strata]
    width = max(map(len, names))
    lines = [
        f"{drawn:,} of {sentences:,} sentences in {len(found.strata)} strata, "
        f"{found.images:,} images",
        "",
        f"{'':{width}}  sentences  drawn",
    ]
    for name, stratum in zip(names, found.strata, strict=True):
        none = "  none sampled: the figures say nothing about these"
        lines.append(
            f"{name:{width}}  {stratum['sentences']:>9,}  {stratum['with_image']:>5,}"
            + ("" if stratum["with_image"] else none)
        )
    lines.append("")
    lines += [
        f"{options.out / name}: {number:,} items, {options.raters} raters each"
        if number
        else f"{name}: nothing to ask"
        for name, number in found.items.items()
    ]
    if found.without_image:
        lines += _named("left out, no image", found.without_image)
    if found.unreadable_rows:
        lines.append(f"{plural(found.unreadable_rows, 'row')} of the run could not be read")
    return "\n".join([*lines, "", *_next(options)])


def _named(what: str, names: list[str], most: int = 5) -> list[str]:
    more = [f"  … and {len(names) - most:,} more"] if len(names) > most else []
    return [f"{what}: {len(names):,}", *(f"  {plain(name)}" for name in names[:most]), *more]


def _next(options: ExportOptions) -> list[str]:
    lines = [
        "Label Studio: a project for each folder, with config.xml as labeling interface and",
        f"{options.raters} annotations per task; import tasks.json. Sheets: a copy for each rater.",
        "The last columns of a sheet take answers, and annotator takes the rater's name:",
    ]
    for interface in INTERFACES.values():
        takes = (f"{name}: {', '.join(c) or 'text'}" for name, c in interface.controls.items())
        lines.append(f"  {interface.name}: {'; '.join(takes)}")
    if options.images == "copy" and not options.image_prefix:
        lines += [
            "Label Studio shows the images as local files: start it with",
            "  LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true",
            f"  LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={options.out.resolve().parent}",
            "and add local files as source storage to each project:",
            f"  {options.out.resolve() / 'images'}",
        ]
    keep = f"Keep {options.out / 'key.jsonl'} from the raters. When they are done:"
    return [*lines, keep, f"  captions annotate import {options.out} ANSWERS… --out data"]


def converted_text(options: ConvertOptions, found: Converted) -> str:
    command = f"captions finetune {options.out} --base MODEL --out my-critic"
    lines = [found.about.title, f"license: {found.about.licence}", ""]
    lines += _splits(found.counts)
    if found.about.benchmark:
        lines += ["", "THE BENCHMARK ITSELF: a critic trained on it cannot be measured by it."]
    for kind, number in sorted(found.left_out.items()):
        if number:
            lines.append(f"left out: {number:,} {kind}")
    if found.examples:
        lines += [f"  {plain(text)}" for text in found.examples[:3]]
    if not any(counts.with_rationale for counts in found.counts.values()):
        lines.append("no rationales: these data teach what is wrong, but not to explain it")
        command += " --rationale-weight 0"
    return "\n".join([*lines, "", command])


def matched_text(options: MatchOptions, found: Matched) -> str:
    lines = [
        "does a sentence belong to the image? Unlabeled: `wrong` are other images' sentences",
        "",
    ]
    lines += _splits(found.counts)
    for kind, number in sorted(found.left_out.items()):
        if number:
            lines.append(f"left out: {number:,} {kind}")
    command = f"captions finetune {options.out} --base bundled --out first --preset match"
    return "\n".join([*lines, "", command])


def _splits(counts: Mapping[str, SplitCounts]) -> list[str]:
    lines = [f"{'':12}{'images':>9}{'captions':>10}{'sentences':>11}{'wrong':>8}{'explained':>11}"]
    for side, of in counts.items():
        lines.append(
            f"{side:12}{len(of.images):>9,}{of.captions:>10,}{of.sentences:>11,}"
            f"{of.nonfactual:>8,}{of.with_rationale:>11,}"
        )
    return lines


def imported_text(options: ImportOptions, found: Imported) -> str:
    lines = [f"{found.answers:,} answers to {found.items:,} of {found.asked:,} items"]
    if found.problems:
        lines += ["", f"not used, or used with a reservation ({options.out / 'problems.jsonl'}):"]
        lines += [f"  {number:>7,}  {plain(kind)}" for kind, number in found.problems.items()]
    lines += _tables(found.figures["figures"])
    lines += _agreement(found.figures)
    lines += ["", *(_splits(found.training) if found.training else ["no training data"])]
    if found.training:
        lines += ["", f"captions finetune {options.out} --base MODEL --out my-critic"]
    return "\n".join(lines)


_TITLES = {
    "critic": "the critic, against people",
    "5": "rationales that people call correct (the paper's Table 5)",
    "6": "flagged sentences that are factual (the paper's Table 6)",
    "run": "factual sentences of the run",
    "preference": "original against rewrite",
}


#: Tables with a line for each row and a column for each figure, as the paper prints Table 6.
_WIDE = ("6", "run")


def _tables(shares: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for table, group in groupby(shares, key=lambda one: str(one["table"])):
        lines += ["", f"{_TITLES[table]}, %"]
        rows = list(group)
        lines += _wide(rows) if table in _WIDE else [_line(one) for one in rows]
    return lines


def _line(one: Mapping[str, Any]) -> str:
    name = f"{one['row']}: {one['column']}"
    return f"  {name:<50}{percent(one):<26}{_base(one)}".rstrip()


def _wide(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = list(dict.fromkeys(str(one["column"]) for one in rows))
    lines = [f"  {'':<28}" + "".join(f"{name:<26}" for name in columns).rstrip()]
    for row, group in groupby(rows, key=lambda one: str(one["row"])):
        cells = list(group)
        shown = "".join(f"{percent(one, change=one['column'] == 'change'):<26}" for one in cells)
        lines.append(f"  {row:<28}{shown}{_base(cells[0])}")
    return lines


def percent(one: Mapping[str, Any], *, change: bool = False) -> str:
    """`61.0 (52.3 to 69.1)`, in percent; a change has its sign."""
    sign = "+" if change else ""
    if one["value"] is None:
        return "none"
    text = f"{100 * one['value']:{sign}.1f}"
    if one["low"] is None:
        return text
    return f"{text} ({100 * one['low']:{sign}.1f} to {100 * one['high']:{sign}.1f})"


def _base(one: Mapping[str, Any]) -> str:
    """What a figure is of; where weights differ much, how many of one weight it is worth."""
    if not one["rows"]:
        return ""
    worth = f" (worth {one['effective']:.0f})" if one["effective"] < 0.8 * one["rows"] else ""
    return f"{one['rows']:,} sentences{worth}, {one['images']:,} images"


def _agreement(figures: Mapping[str, Any]) -> list[str]:
    lines = ["", "agreement between raters"] if figures["agreement"] else []
    for one in figures["agreement"]:
        said = "none" if one["value"] is None else f"{one['value']:.3f}"
        between = "" if one["low"] is None else f"({one['low']:.3f} to {one['high']:.3f})"
        name = f"{one['name']}, {one['axis']}"
        lines.append(f"  {name:<54}{said:>6} {between:<18} {one['note']}".rstrip())
    for rater, group in groupby(figures["annotators"], key=lambda one: str(one["rater"])):
        said = ", ".join(_by_interface(one) for one in group)
        lines.append(f"  {plain(rater)[:30]}: {said}")
    return lines


def _by_interface(one: Mapping[str, Any]) -> str:
    with_others = one["with_the_others"]
    text = f"{one['answers']:,} {one['interface']}"
    return text if with_others is None else f"{text} ({100 * with_others:.0f} % with the others)"
