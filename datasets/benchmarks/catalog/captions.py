"""Captions with references, facts or graphs, and captions to be judged."""

from __future__ import annotations

from revise_captions.benchmarks.catalog import decapbench
from revise_captions.benchmarks.catalog.benchmark import Benchmark

DOCCI = Benchmark(
    name="docci",
    title="DOCCI: long human captions of photographs taken for it",
    citation="Onoe et al. 2024, DOCCI: Descriptions of Connected and Contrasting Images, ECCV, "
    "arXiv:2404.19753",
    licence="CC BY 4.0",
    source="storage.googleapis.com/docci/data/docci_descriptions.jsonlines, or Hugging Face "
    "dataset google/docci",
    files=("docci_descriptions.json*",),
    reader="revise_captions.benchmarks.readers.docci:read_docci",
    labels="none: captions by people",
)

PIXELPROSE = Benchmark(
    name="pixelprose",
    title="PixelProse: 16 million captions by Gemini 1.0 Pro Vision",
    citation="Singla et al. 2024, From Pixels to Prose: A Large Dataset of Dense Image "
    "Captions, arXiv:2406.10328",
    licence="CC BY 4.0",
    source="Hugging Face dataset tomg-group-umd/pixelprose",
    files=("**/*.parquet",),
    reader="revise_captions.benchmarks.readers.docci:read_pixelprose",
    labels="none",
    note="images are URLs; many are gone",
)

DETAILCAPS = Benchmark(
    name="detailcaps",
    title="DetailCaps-4870: three captioners' captions, three models' references",
    citation="Dong et al. 2024, Benchmarking and Improving Detail Image Caption, arXiv:2405.19092",
    licence="CC BY-NC-SA 4.0",
    source="Hugging Face dataset foundation-multimodal-models/DetailCaps-4870",
    files=("**/*.parquet",),
    reader="revise_captions.benchmarks.readers.docci:read_detailcaps",
    labels="scores: by GPT-4, not by people",
    expected={"published": {"images": 4870, "captions": 14_610, "references": 43_830}},
    note="references and scores are models' own",
)

DECAPBENCH = Benchmark(
    name="decapbench",
    title="DeCapBench: ImageInWords' captions as primitive facts",
    citation="Ye et al. 2025, Painting with Words: Elevating Detailed Image Captioning with "
    "Benchmark and Alignment Learning, ICLR, arXiv:2503.07906",
    licence="captions: CC BY 4.0",
    source="github.com/MAGAer13/DeCapBench",
    files=("human_annotated_oracle_facts.jsonl|oracle_facts.jsonl",),
    reader="revise_captions.benchmarks.readers.graphs:read_decapbench",
    labels="facts: all that a person's caption says",
    expected={
        "published": {"images": 400, "captions": 400},
        "212 images": {"images": 212, "captions": 212, "facts": 11_175},
    },
    published=decapbench.published(),
    note="all published figures have GPT-4o as judge; `run decapbench` scores captions files",
)

FACTUAL = Benchmark(
    name="factual",
    title="FACTUAL: descriptions of regions with scene graphs",
    citation="Li et al. 2023, FACTUAL: A Benchmark for Faithful and Consistent Textual Scene "
    "Graph Parsing, Findings of ACL, arXiv:2305.17497",
    licence="MIT; Visual Genome: CC BY 4.0",
    source="github.com/zhuang-li/FactualSceneGraph",
    files=("*.csv",),
    reader="revise_captions.benchmarks.readers.graphs:read_factual",
    labels="graphs",
    expected={
        "train and dev": {
            "captions": 38_861,
            "graphs": 38_861,
            "captions[train]": 37_861,
            "captions[dev]": 1000,
        },
    },
)

DISCOSG = Benchmark(
    name="discosg",
    title="DiscoSG: multi-sentence captions with discourse-level scene graphs",
    citation="Lin et al. 2025, DiscoSG: Towards Discourse-Level Text Scene Graph Parsing "
    "through Iterative Graph Refinement, EMNLP, arXiv:2506.15583",
    licence="none stated",
    source="github.com/ShaoqLin/DiscoSG",
    files=("*.json|*.jsonl",),
    reader="revise_captions.benchmarks.readers.graphs:read_discosg",
    labels="graphs",
    expected={"300 captions": {"captions": 300, "graphs": 300}},
)
