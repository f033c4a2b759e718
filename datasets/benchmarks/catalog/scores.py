"""Benchmarks with scores of whole captions, or with preferences between two."""

from __future__ import annotations

from revise_captions.benchmarks.catalog import longcap_arena
from revise_captions.benchmarks.catalog.benchmark import Benchmark

_POLOS = "Wada et al. 2024, Polos: Multimodal Metric Learning from Human Feedback for Image "
_POLOS += "Captioning, CVPR, arXiv:2402.18091"

FLICKR8K_EXPERT = Benchmark(
    name="flickr8k-expert",
    title="Flickr8k-Expert: candidate captions, three experts each",
    citation="Hodosh, Young, Hockenmaier 2013, Framing Image Description as a Ranking Task, "
    "JAIR 47",
    licence="research only",
    source="github.com/aimagelab/pacscore (its Flickr8k data)",
    files=("flickr8k_expert.json|flickr8k.json",),
    reader="revise_captions.benchmarks.readers.flickr8k:read_expert",
    labels="scores: 1 to 4, three experts",
    expected={
        "published": {"images": 1000, "scores": 16_992},
        "518 images": {"images": 518, "captions": 2912, "scores": 8736, "references": 14_560},
    },
    published={"CLIPScore, τ-c": "51.2", "CIDEr, τ-c": "43.9", "BLEU-4, τ-c": "30.8"},
    note="τ-c is published over all ratings, not over their means",
)

FLICKR8K_CF = Benchmark(
    name="flickr8k-cf",
    title="Flickr8k-CF: candidate captions, crowd's share of yes",
    citation="Hodosh, Young, Hockenmaier 2013, Framing Image Description as a Ranking Task, "
    "JAIR 47",
    licence="research only",
    source="github.com/aimagelab/pacscore (its Flickr8k data)",
    files=("crowdflower_flickr8k.json",),
    reader="revise_captions.benchmarks.readers.flickr8k:read_crowd",
    labels="scores: share of yes",
    published={"CLIPScore, τ-b": "34.4", "CIDEr, τ-b": "24.6", "BLEU-4, τ-b": "16.9"},
)

COMPOSITE = Benchmark(
    name="composite",
    title="Composite: captions of Flickr8k, Flickr30k and COCO",
    citation="Aditya et al. 2018, Image Understanding using Vision and Reasoning through Scene "
    "Description Graph, CVIU",
    licence="not stated",
    source="Hugging Face dataset yuwd/Composite, or Polos's en_test_composite_da*.csv",
    files=("**/*.csv|**/*.parquet",),
    reader="revise_captions.benchmarks.readers.polos:read",
    labels="scores: correctness, 1 to 5",
    published={"CLIPScore, τ-c": "53.8", "CIDEr, τ-c": "37.7"},
)

POLARIS = Benchmark(
    name="polaris",
    title="Polaris: captions by ten models and people",
    citation=_POLOS,
    licence="see the source",
    source="Hugging Face dataset yuwd/Polaris, or polaris.zip from github.com/keio-smilab24/Polos",
    files=("**/*.csv|**/*.parquet",),
    reader="revise_captions.benchmarks.readers.polos:read",
    labels="scores: averaged",
    published={"CIDEr, τ-c": "52.1", "BLEU-4, τ-c": "46.3"},
)

NEBULA = Benchmark(
    name="nebula",
    title="Nebula: captions with averaged scores",
    citation="Matsuda et al. 2024, DENEB: A Hallucination-Robust Automatic Evaluation Metric "
    "for Image Captioning, ACCV, arXiv:2409.19255",
    licence="see the source",
    source="Hugging Face dataset Ka2ukiMatsuda/Nebula",
    files=("**/*.csv|**/*.parquet",),
    reader="revise_captions.benchmarks.readers.polos:read",
    labels="scores: averaged",
    published={"CIDEr, τ-c": "48.8", "BLEU, τ-c": "44.1"},
)

LONGCAP_ARENA = Benchmark(
    name="longcap-arena",
    title="LongCap-Arena: long captions by ten models, three perspectives",
    citation="Matsuda et al. 2025, VELA: An LLM-Hybrid-as-a-Judge Approach for Evaluating Long "
    "Image Captions",
    licence="see the source",
    source="Hugging Face dataset Ka2ukiMatsuda/LongCap-Arena",
    files=("**/*.parquet|**/*.csv",),
    reader="revise_captions.benchmarks.readers.polos:read_longcap",
    labels="scores: descriptiveness, relevance, fluency, averaged",
    expected={"published": {"images": 7805}},
    published=longcap_arena.published(),
)

THUMB = Benchmark(
    name="thumb",
    title="THumB 1.0: rubric scores of MSCOCO captions",
    citation="Kasai et al. 2022, Transparent Human Evaluation for Image Captioning, NAACL, "
    "arXiv:2111.08940",
    licence="see the repository; images: COCO",
    source="github.com/jungokasai/THumB (mscoco)",
    files=("mscoco_THumB-1.0.jsonl",),
    reader="revise_captions.benchmarks.readers.thumb:read",
    labels="scores: precision, recall, three penalties, overall",
    expected={"published": {"images": 500, "captions": 2500, "captioners": 5}},
)

DOCENT_COARSE = Benchmark(
    name="docent-coarse",
    title="DOCENT, coarse: pairs of descriptions of art",
    citation="Ananthram et al. 2025, PoSh: Using Scene Graphs To Guide LLMs-as-a-Judge For "
    "Detailed Image Descriptions",
    licence="see the source",
    source="Hugging Face dataset amitha/docent-eval-coarse",
    files=("**/*.parquet|**/*.jsonl",),
    reader="revise_captions.benchmarks.readers.docent:read_coarse",
    labels="preferences: mistakes, omissions, overall quality; five steps",
)

DOCENT_GRANULAR = Benchmark(
    name="docent-granular",
    title="DOCENT, granular: marked mistakes and omissions",
    citation="Ananthram et al. 2025, PoSh: Using Scene Graphs To Guide LLMs-as-a-Judge For "
    "Detailed Image Descriptions",
    licence="see the source",
    source="Hugging Face dataset amitha/docent-eval-granular",
    files=("**/*.parquet|**/*.jsonl",),
    reader="revise_captions.benchmarks.readers.docent:read_granular",
    labels="spans: mistakes in the caption, omissions in the reference",
    expected={"published": {"images": 75, "captions": 300, "captioners": 4}},
    published={"POSH, macro-F1 (mistakes / omissions)": "0.580 / 0.680"},
)

CAPARENA = Benchmark(
    name="caparena",
    title="CapArena: battles of detailed captions",
    citation="Cheng et al. 2025, CapArena: Benchmarking and Analyzing Detailed Image "
    "Captioning in the LLM Era, Findings of ACL, arXiv:2503.12329",
    licence="see the repository; images: DOCCI, CC BY 4.0",
    source="github.com/njucckevin/CapArena (annotation results)",
    files=("caparena_annots_eval.json",),
    reader="revise_captions.benchmarks.readers.caparena:read",
    labels="preferences: which is better",
    expected={"published": {"preferences": 6523}},
    note="metrics with references leave out the battles with the human caption",
)

IMAGEINWORDS = Benchmark(
    name="imageinwords",
    title="ImageInWords: long captions compared side by side",
    citation="Garg et al. 2024, ImageInWords: Unlocking Hyper-Detailed Image Descriptions, "
    "EMNLP, arXiv:2405.02793",
    licence="CC BY 4.0",
    source="github.com/google/imageinwords (datasets)",
    files=("IIW-400.jsonl|DOCCI_Test.jsonl",),
    reader="revise_captions.benchmarks.readers.imageinwords:read",
    labels="preferences: five axes, five steps",
    expected={
        "IIW-400 and DOCCI_Test": {
            "images": 500,
            "captions": 700,
            "preferences": 1500,
            "captions[IIW-400]": 500,
            "captions[DOCCI_Test]": 200,
        },
    },
    note="GPT-4V's captions are not in the file: its preferences have no second example",
)

CONTEXTUAL_DESCRIPTIONS = Benchmark(
    name="contextual-descriptions",
    title="Descriptions of Wikipedia's images in several articles",
    citation="Kreiss et al. 2022, Context Matters for Image Descriptions for Accessibility, "
    "EMNLP, arXiv:2205.10646",
    licence="MIT; photographs: licences of Wikimedia Commons",
    source="github.com/elisakreiss/contextual-description-evaluation (behavioral_data)",
    files=(
        "all_descriptions.csv",
        "sighted_data_criticaltrials.csv",
        "blv_data_criticaltrials.csv",
    ),
    reader="revise_captions.benchmarks.readers.contextual:read",
    labels="scores: five questions, by sighted and by blind or low-vision readers",
    expected={
        "whole": {
            "images": 18,
            "captions": 270,
            "scores": 10_234,
            "scores[sighted: overall, postimg]": 986,
            "scores[BLV: overall]": 272,
        },
    },
)

CONTEXTREF = Benchmark(
    name="contextref",
    title="ContextRef: alt texts in context, rated before and after the image",
    citation="Kreiss et al. 2024, ContextRef: Evaluating Referenceless Metrics for Image "
    "Description Generation, ICLR, arXiv:2309.11710",
    licence="see the repository",
    source="github.com/elisakreiss/contextref (its README links the folder `data`)",
    files=("*.csv|train_data/csvs/df_metric_gold.csv|model_input_data/df_metric_gold.csv",),
    reader="revise_captions.benchmarks.readers.contextref:read",
    labels="scores: six questions, 1 to 5",
    expected={"published": {"captions": 204, "scores[overall, after]": 768}},
    note="data_chunk0-1_anon.csv to data_chunk0-5_anon.csv of that folder, or df_metric_gold.csv",
)

TIFA = Benchmark(
    name="tifa",
    title="TIFA's correlation data: two raters, scores of eleven metrics",
    citation="Hu et al. 2023, TIFA: Accurate and Interpretable Text-to-Image Faithfulness "
    "Evaluation with Question Answering, ICCV, arXiv:2303.11897",
    licence="Apache-2.0",
    source="github.com/Yushi-Hu/tifa (human_annotations)",
    files=("human_annotations_with_scores.json",),
    reader="revise_captions.benchmarks.readers.tifa:read",
    labels="scores: 1 to 5, two raters",
    expected={"whole": {"captions": 800, "scores": 1600}},
    published={"METEOR, τ-b": "0.27407599432086477", "TIFA-GIT-large, τ-b": "0.4255"},
    note="what the source prints as Spearman's is Pearson's",
)
