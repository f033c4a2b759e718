"""`captions annotate export`: a stratified sample of a run, as annotation tasks.

    RUN ─ sampling ─ units ─┬─ key.jsonl        what each item is; not for the raters
                            ├─ sample.json      the design, the strata and their sizes
                            ├─ images/
                            └─ factuality/, critique/, preference/
                                 tasks.json, config.xml   for Label Studio
                                 tasks.csv                for a spreadsheet

The run is read twice: once to sample, once to fetch the sampled sentences.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from revise_captions.errors import BadRecord, UserError, mended_by_user
from revise_captions.io.fields import to_record
from revise_captions.io.images import load_image
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, dumps
from revise_captions.io.source import Source
from revise_captions.io.writing import check_new_folder, replacing, write_json, write_json_lines
from revise_captions.pages.evidence import boxes_of
from revise_captions.pipelines.annotate.options import ExportOptions
from revise_captions.pipelines.annotate.tasks.interfaces import (
    INTERFACES,
    Interface,
    data_of,
)
from revise_captions.pipelines.annotate.tasks.sampling import (
    SampledLocation,
    SamplingDesign,
    SentenceLocation,
    StratifiedSampler,
    bin_names,
    name_of,
    stratum_of,
)
from revise_captions.pipelines.annotate.tasks.sheets import sheet
from revise_captions.pipelines.annotate.tasks.units import (
    ItemTarget,
    RunCaption,
    Unit,
    captions_in,
    error_types,
    unit,
)
from revise_captions.records import Box, ImageRef
from revise_captions.training_data.images import ImageFolder

KEY, SAMPLE = "key.jsonl", "sample.json"


@dataclass(slots=True)
class Exported:
    """What was written. `without_image` describes sampled sentences without readable image."""

    strata: list[dict[str, Any]]
    items: Counter[str] = field(default_factory=Counter)
    images: int = 0
    unreadable_rows: int = 0
    without_image: list[str] = field(default_factory=list)


def export(options: ExportOptions) -> Exported:
    """Writes the tasks.

    Raises:
        UserError: `options.out` is not empty, or there is nothing to annotate; nothing is written.
    """
    options.design.check()
    check_new_folder(options.out)
    source = open_source(options.run, fields=options.fields)
    draw, signature, bad = _draw(source, options.design)
    if not draw.sizes:
        raise UserError(
            f"{options.run} has no judged sentences", hint="expected the output of revise-captions"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    found, missing = _fetch(options, source, list(draw.drawn()))
    if not found:
        raise UserError(
            f"no image of the {len(missing)} sampled sentences can be read: {missing[0]}",
            hint="set --image-root to the folder that image paths start from",
        )
    units = _reweighted(found, draw)
    result = Exported(_strata(draw, units), unreadable_rows=bad, without_image=missing)
    result.images = len({unit.image for unit in units})
    write_json_lines(options.out / KEY, (unit.as_json() for unit in units))
    for name in options.interfaces:
        result.items[name] = _write_interface(options, INTERFACES[name], units)
    write_json(options.out / SAMPLE, _about(options, result, signature))
    return result


def _draw(source: Source, design: SamplingDesign) -> tuple[StratifiedSampler, str, int]:
    """The sample over all sentences, the run's signature, and the number of unreadable rows."""
    draw, bins = StratifiedSampler(design), bin_names(design.bins)
    signature, bad = "", 0
    for judged in captions_in(source):
        if isinstance(judged, BadRow):
            bad += 1
            continue
        signature = signature or str(judged.stored.get("signature", ""))
        line = judged.row.line
        with mended_by_user(
            f"{source.name}, line {line}: not a sentence that revise-captions wrote"
        ):
            for index, sentence in enumerate(judged.stored["sentences"]):
                stratum = stratum_of(sentence, error_types(judged, sentence), design, bins)
                draw.add(stratum, SentenceLocation(line, judged.field, index))
    return draw, signature, bad


def _fetch(
    options: ExportOptions, source: Source, drawn: Sequence[SampledLocation]
) -> tuple[list[Unit], list[str]]:
    """The sampled units with their images, and descriptions of those without one."""
    wanted: dict[int, list[SampledLocation]] = {}
    for one in drawn:
        wanted.setdefault(one.place.line, []).append(one)
    store = ImageFolder(options.out)
    units, missing = [], []
    for judged in captions_in(source):
        if not wanted:
            break
        if isinstance(judged, BadRow) or judged.row.line not in wanted:
            continue
        line = judged.row.line
        here = [one for one in wanted[line] if one.place.field == judged.field]
        wanted[line] = [one for one in wanted[line] if one.place.field != judged.field]
        if not wanted[line]:
            del wanted[line]
        if not here:
            continue
        try:
            image, shown = _image(options, source, judged, store)
        except BadRecord as error:
            missing += [
                f"line {line}, sentence {o.place.sentence + 1}: {error.detail}" for o in here
            ]
            continue
        for one in here:
            made = unit(judged, one, options.design.seed, source.name)
            boxes = boxes_of(judged.stored["sentences"][one.place.sentence])
            evidence = ""
            if boxes and options.images != "path":
                evidence = _in_tasks(options, _outlined(store, image, boxes))
            units.append(replace(made, image=image, shown=shown, evidence=evidence))
    return units, missing


def _outlined(store: ImageFolder, name: str, boxes: Sequence[Box]) -> str:
    """Stores a copy of a stored image with boxes, in its pixels, outlined. Returns its name."""
    from revise_captions.pages.evidence import outlined

    picture = load_image(ImageRef(data=(store.root / name).read_bytes()))
    buffer = io.BytesIO()
    outlined(picture, [(1, boxes)]).save(buffer, "PNG")
    return store.add(ImageRef(data=buffer.getvalue()))


def _image(
    options: ExportOptions, source: Source, judged: RunCaption, store: ImageFolder
) -> tuple[str, str]:
    """The image's name in the key and in the tasks."""
    ref = to_record(judged.row, source.fields, source=source.name).image
    if options.images == "path":
        return _where(options, source, ref)
    name = store.add(
        ref, image_root=options.image_root, folder=source.folder, allow_urls=options.allow_urls
    )
    return name, _in_tasks(options, name)


def _in_tasks(options: ExportOptions, name: str) -> str:
    """What tasks refer to a stored image by."""
    if options.images == "embed":
        kind = "jpeg" if name.endswith(".jpg") else name.rpartition(".")[2]
        data = base64.b64encode((options.out / name).read_bytes()).decode()
        return f"data:image/{kind};base64,{data}"
    prefix = options.image_prefix or f"/data/local-files/?d={quote(options.out.resolve().name)}/"
    return prefix + name


def _where(options: ExportOptions, source: Source, ref: ImageRef) -> tuple[str, str]:
    """A URL or path, as it is; images embedded in records have none."""
    from revise_captions.errors import Reason
    from revise_captions.io.images import resolve_path

    if ref.url is not None:
        return ref.url, ref.url
    if ref.path is None:
        raise BadRecord(Reason.MISSING_IMAGE, "the record embeds its image: use --images copy")
    real = resolve_path(ref.path, options.image_root, source.folder)
    if not real.is_file():
        raise BadRecord(Reason.IMAGE_NOT_FOUND, f"{real} does not exist")
    return str(real.resolve()), options.image_prefix + ref.path


def _reweighted(units: Sequence[Unit], draw: StratifiedSampler) -> list[Unit]:
    """Units with weights corrected for missing images, in an order that reveals nothing."""
    left = Counter(unit.stratum for unit in units)
    sizes = {name_of(stratum): size for stratum, size in draw.sizes.items()}
    again = [replace(u, weight=sizes[u.stratum] / left[u.stratum]) for u in units]
    return sorted(again, key=lambda unit: unit.id)


def _strata(draw: StratifiedSampler, units: Sequence[Unit]) -> list[dict[str, Any]]:
    left = Counter(unit.stratum for unit in units)
    rows = []
    for stratum, number in draw.allocation().items():
        name, size = name_of(stratum), draw.sizes[stratum]
        rows.append({"name": name, "sentences": size, "drawn": number, "with_image": left[name]})
    return rows


def _write_interface(options: ExportOptions, interface: Interface, units: Sequence[Unit]) -> int:
    """Writes tasks in the order of item names, so that versions are not neighbors."""
    tasks = sorted(_tasks(interface, units), key=lambda data: str(data["item"]))
    if not tasks:
        return 0
    folder = options.out / interface.name
    folder.mkdir()
    with replacing(folder / "config.xml") as file:
        file.write(interface.config.encode())
    with replacing(folder / "tasks.json") as file:
        file.write(b"[")
        for number, data in enumerate(tasks):
            file.write(b",\n" if number else b"\n")
            file.write(dumps({"data": data}).encode())
        file.write(b"\n]\n")
    columns = ("item", "image", *interface.columns, *interface.controls, "annotator")
    files = {unit.item(asked): unit.image for unit in units for asked in interface.asks}
    rows = [data | {"image": _from_sheet(files[str(data["item"])])} for data in tasks]
    with replacing(folder / "tasks.csv") as file:
        file.write(sheet(columns, rows))
    return len(tasks)


def _from_sheet(image: str) -> str:
    """The image's path relative to the sheet's folder."""
    return f"../{image}" if image.startswith("images/") else image


def _tasks(interface: Interface, units: Sequence[Unit]) -> Iterator[dict[str, object]]:
    for one in units:
        for asked in one.asked():
            if asked in interface.asks:
                marked = one.evidence if asked is ItemTarget.CRITIQUE else ""
                yield data_of(one, asked, marked or one.shown)


def _about(options: ExportOptions, result: Exported, signature: str) -> dict[str, Any]:
    return {
        "run": Path(options.run).name,
        "signature": signature,
        "raters": options.raters,
        "design": asdict(options.design),
        "strata": result.strata,
        "items": dict(result.items),
        "images": options.images,
        "unreadable_rows": result.unreadable_rows,
        "without_image": result.without_image,
    }
