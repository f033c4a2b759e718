"""RapidOCR's models: loaded once for all threads, and what they compute in given back."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

#: One thread, crops as narrow as they are, one at a time: on a CPU, padding costs more than batches
#: save. Without its arena, ONNX Runtime takes twice the memory, and time to have it mapped.
_PARAMETERS = {
    "Global.log_level": "error",
    "Global.return_word_box": True,
    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Rec.rec_img_shape": [3, 48, 48],
    "Rec.rec_batch_num": 1,
}
#: Crops after which the recognizer gives back what it took: after each, it would take 6 % longer.
_CROPS = 16
#: Engines that are not in use: an engine keeps the steps of its last call in itself, so that two
#: threads cannot share one. They share the first one's networks.
_IDLE: SimpleQueue[Any] = SimpleQueue()
_FIRST: list[Any] = []
_LOADING = threading.Lock()


@contextmanager
def ocr_engine() -> Iterator[Any]:
    """An engine of RapidOCR that no other thread uses meanwhile."""
    try:
        engine = _IDLE.get_nowait()
    except Empty:
        with _LOADING:
            if not _FIRST:
                _FIRST.append(_loaded())
        engine = _twin(_FIRST[0])
    try:
        yield engine
    finally:
        _IDLE.put(engine)


def _loaded() -> Any:
    from rapidocr import RapidOCR

    engine: Any = RapidOCR(params=_PARAMETERS)
    for model, every in ((engine._load_det_model(), 1), (engine._load_rec_model(), _CROPS)):
        model.session.session = _GivesBack(model.session.session, every)
    return engine


def _twin(engine: Any) -> Any:
    """An engine with the same networks, and settings of its own."""
    own = copy(engine)
    own.text_det = copy(engine.text_det)
    own.text_det.postprocess_op = copy(engine.text_det.postprocess_op)
    own.text_det.get_preprocess = partial(_Normalized, engine.text_det.get_preprocess())
    return own


class _Normalized:
    """The detector's preprocessing, to the bit: RapidOCR computes it in float64 for every pixel,
    and hands on a transposed view, which is copied once more. Each byte has one value."""

    def __init__(self, made: Any) -> None:
        self._made = made
        levels = np.arange(256, dtype=np.uint8)[:, None, None]
        known = made.normalize(np.repeat(levels, 3, axis=2))
        self._known = known[:, 0].astype(np.float32)

    def __call__(self, image: Pixels) -> NDArray[np.float32] | None:
        resized = self._made.resize(image)
        if resized is None:
            return None
        found = np.empty((1, 3, *resized.shape[:2]), dtype=np.float32)
        for k, channel in enumerate(found[0]):
            np.take(self._known[:, k], resized[:, :, k], out=channel, mode="clip")
        return found


class _GivesBack:
    """A session of ONNX Runtime whose arena shrinks after `every` so many runs: it would keep what
    the largest of all images took."""

    def __init__(self, session: Any, every: int) -> None:
        import onnxruntime

        self._session, self._runs = session, itertools.cycle(range(every))
        self._shrinking = onnxruntime.RunOptions()
        self._shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Any]) -> Any:
        shrinks = next(self._runs) == 0
        return self._session.run(outputs, inputs, self._shrinking if shrinks else None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
