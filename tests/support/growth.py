"""Whether a function's time grows linearly with its input: seconds alone are the machine's."""

import gc
import time
from collections.abc import Callable


def is_linear(call: Callable[[int], object], small: int, large: int) -> bool:
    """Whether `call(large)` takes about `large / small` times as long as `call(small)`.

    Up to three tries, each side's best: others may use the machine. A square takes the factor's
    square, and twice the factor is the limit. Garbage is not collected meanwhile: what else the
    process holds decides how long that takes.
    """
    gc.disable()
    try:
        return _is_linear(call, small, large)
    finally:
        gc.enable()


def _is_linear(call: Callable[[int], object], small: int, large: int) -> bool:
    best = {small: float("inf"), large: float("inf")}
    for _ in range(3):
        for size in best:
            began = time.thread_time()
            call(size)
            best[size] = min(best[size], time.thread_time() - began)
        if best[large] < 2 * (large / small) * max(best[small], 1e-4):
            return True
    return False
