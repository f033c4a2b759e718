"""The command `captions train-vela`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.vela.training.settings import VelaJob

EPILOG = """
\b
Examples:
  captions train-vela rated/ --out my-vela --language smollm2 --pair LongCLIP-L/longclip-L.pt
  captions train-vela LONGCAP/ --benchmark longcap-arena --out my-vela \\
      --language Qwen/Qwen2.5-3B-Instruct --pair LongCLIP-L/longclip-L.pt --lora-rank 16 --seeds 5
  captions train-vela FLICKR/ --benchmark flickr8k-expert --scale 1 4 --out my-vela --pair minilm

\b
A row of DATA:
  {"id": "7", "image": "7.jpg", "caption": "…", "references": ["…"],
   "scores": {"descriptiveness": 4, "relevance": [3, 4, 4], "fluency": 5}}
"""


@command(
    VelaJob,
    name="train-vela",
    heading="Label and train",
    epilog=EPILOG,
    go_on=lambda _: "continue by the same command --resume",
)
def train_vela(job: VelaJob) -> None:
    """Train a VELA metric on people's ratings.

    Train the metric VELA on the rated captions in DATA.

    DATA is a file of rows, a folder with train.jsonl, validation.jsonl and test.jsonl, or, with
    --benchmark, the folder of a public benchmark. Images of the test split are never trained on;
    its τ-c and τ-b are printed and stored in the card, OUT/vela.json.
    """
    from revise_captions.vela.training.run import run

    run(job, lambda line: echo(line, err=not line.startswith(("validation", "test", "Test"))))
