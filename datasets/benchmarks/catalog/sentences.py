"""Benchmarks with labels of sentences, of parts of them, or of atomic facts."""

from __future__ import annotations

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.published import sentence_factuality

DOCCI_CRITIQUE = Benchmark(
    name="docci-critique",
    title="DOCCI-Critique: sentences of paragraph captions by 14 captioners, five raters each",
    citation="Gordon et al. 2025, Unblocking Fine-Grained Evaluation of Detailed Captions, "
    "arXiv:2506.07631",
    licence="CC BY 4.0",
    source="Hugging Face dataset google/DOCCI-Critique",
    files=("annotations.jsonl",),
    reader="revise_captions.benchmarks.annotation_protocol:read_plain",
    labels="sentences: five raters' votes and rationales",
    expected={
        "published": {"images": 100, "captions": 1400, "captioners": 14, "sentences": 10_216}
    },
    published=sentence_factuality("docci-critique"),
    note="annotations.jsonl holds the rows that protocol.py describes, one for each rater and "
    "sentence: turn the published file into them (its own format is not read)",
)

ANNOTATIONS = Benchmark(
    name="annotations",
    title="Your own annotations by DOCCI-Critique's protocol",
    citation="Gordon et al. 2025, arXiv:2506.07631, section 3",
    licence="yours",
    source="your raters: rows as protocol.py describes them",
    files=("annotations.jsonl",),
    reader="revise_captions.benchmarks.annotation_protocol:read_plain",
    labels="sentences: raters' votes and rationales",
)

PLAIN = Benchmark(
    name="plain",
    title="Your own human data: labels of sentences, scores, marked spans, preferences",
    citation="this repository, datasets/benchmarks/plain.py",
    licence="yours",
    source="your own captions.jsonl and preferences.jsonl, as plain.py describes them",
    files=("captions.jsonl",),
    reader="revise_captions.benchmarks.plain:read",
    labels="whatever there is",
)

LABEL_STUDIO = Benchmark(
    name="label-studio",
    title="Your own annotations by DOCCI-Critique's protocol, as Label Studio exports them",
    citation="Gordon et al. 2025, arXiv:2506.07631, section 3",
    licence="yours",
    source="Label Studio: export as JSON; protocol.py says what a task holds",
    files=("*.json",),
    reader="revise_captions.benchmarks.annotation_protocol:read_label_studio",
    labels="sentences: raters' votes and rationales",
)

M_HALDETECT = Benchmark(
    name="m-haldetect",
    title="M-HalDetect: segments of descriptions by InstructBLIP",
    citation="Gunjal, Yin, Bas 2024, Detecting and Preventing Hallucinations in Large Vision "
    "Language Models, AAAI, arXiv:2308.06394",
    licence="see the repository; images: COCO",
    source="github.com/hendryx-scale/mhal-detect",
    files=("*.json|*.jsonl",),
    reader="revise_captions.benchmarks.readers.mhaldetect:read",
    labels="segments: accurate, inaccurate, analysis, unsure",
    published=sentence_factuality("m-haldetect"),
)

CHOCOLATE = Benchmark(
    name="chocolate",
    title="CHOCOLATE: sentences of chart captions",
    citation="Huang et al. 2024, Do LVLMs Understand Charts? Analyzing and Correcting Factual "
    "Errors in Chart Captioning, Findings of ACL, arXiv:2312.10160",
    licence="Apache-2.0",
    source="Hugging Face dataset khhuang/CHOCOLATE",
    files=("chocolate.json",),
    reader="revise_captions.benchmarks.readers.chocolate:read",
    labels="sentences: types of errors; none is factual",
    expected={
        "five captioners": {
            "images": 866,
            "captions": 989,
            "captioners": 5,
            "sentences": 3706,
            "factual": 1844,
            "nonfactual": 1862,
        },
    },
    published=sentence_factuality("chocolate"),
    note="three records occur twice and are read once; sentences whose only error is of "
    "grammar count as wrong, as published",
)

FAITHSCORE = Benchmark(
    name="faithscore",
    title="FaithScore: sub-sentences and atomic facts of VLMs' answers",
    citation="Jing et al. 2023, FAITHSCORE: Evaluating Hallucinations in Large "
    "Vision-Language Models, arXiv:2311.01477",
    licence="MIT; captions and boxes: COCO, CC BY 4.0",
    source="github.com/bcdnlp/FAITHSCORE",
    files=("annotation.jsonl",),
    reader="revise_captions.benchmarks.readers.faithscore:read",
    labels="sub-sentences: descriptive or not; facts: supported or not",
    expected={
        "14 images": {"images": 14, "captions": 84, "facts": 653, "supported_facts": 531},
    },
    note="the source's README says the reverse of what its 0 and 1 mean",
)

PICTURE_BOOK = Benchmark(
    name="picture-book",
    title="The picture-book world: exact labels, and simulated raters",
    citation="this repository, datasets/picturebook",
    licence="Apache-2.0",
    source="python -m revise_captions.picturebook.generate OUT --split test --raters",
    files=("*.jsonl",),
    reader="revise_captions.benchmarks.readers.picture_book:read",
    labels="sentences: true or false, type of error, rationale",
    note="no person labelled it: what is true follows from the scene that was drawn",
)
