"""Open critics and revisers, and which of them fit into a machine's memory.

Names, sizes and licenses as their model cards state them; none of them was measured here.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a parameter on a GPU (bfloat16) and on a CPU (float32), as `--dtype auto` chooses.
BYTES_ON_GPU, BYTES_ON_CPU = 2, 4
#: What images, activations and caches take besides the weights: a factor, and GiB.
AROUND, BESIDES = 1.1, 1.5
SHOWN = 3


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model that can be had by its name.

    Attributes:
        name: Hugging Face model id.
        billions: Parameters, in billions.
        license: Its license.
        needs: Packages besides this one's that run it in this process.
    """

    name: str
    billions: float
    license: str = "Apache-2.0"
    needs: tuple[str, ...] = ()

    def memory(self, *, gpu: bool) -> float:
        """GiB that it takes."""
        size = BYTES_ON_GPU if gpu else BYTES_ON_CPU
        return self.billions * 1e9 * size / (1 << 30) * AROUND + BESIDES


_VISION = ("torchvision",)
#: Best first; the sizes of a family follow each other.
CRITICS = (
    OpenModel("Qwen/Qwen3-VL-8B-Instruct", 8.8, needs=_VISION),
    OpenModel("OpenGVLab/InternVL3_5-8B-HF", 8.5, needs=_VISION),
    OpenModel("Qwen/Qwen2.5-VL-7B-Instruct", 8.3, needs=_VISION),
    OpenModel("Qwen/Qwen3-VL-4B-Instruct", 4.4, needs=_VISION),
    OpenModel("Qwen/Qwen3-VL-2B-Instruct", 2.1, needs=_VISION),
)
REVISERS = (
    OpenModel("Qwen/Qwen3-14B", 14.8),
    OpenModel("Qwen/Qwen3-8B", 8.2),
    OpenModel("Qwen/Qwen3-4B", 4.0),
    OpenModel("Qwen/Qwen3-1.7B", 1.7),
)


def choices(models: tuple[OpenModel, ...], room: float, *, gpu: bool) -> list[OpenModel]:
    """Up to three that fit into `room` GiB, best first; where none does, the smallest."""
    fitting = [model for model in models if model.memory(gpu=gpu) <= room]
    return fitting[:SHOWN] or [models[-1]]
