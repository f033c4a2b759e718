"""What the OCR holds of memory: bounded over threads, and given back."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from revise_captions.charts.ocr_engine import ocr_engine
from revise_captions.process_memory import SharedRoom


def test_threads_take_no_more_than_there_is():
    """Nine of four in ten units: never more than two at once, and more than one."""
    room, inside, most = SharedRoom(10), [], []

    def work(_: int) -> None:
        with room.taking(4):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(work, range(9)))
    assert max(most) == 2
    assert room.peak == 8


def test_what_is_larger_than_all_room_gets_it_alone():
    room, came = SharedRoom(10), threading.Event()

    def small() -> None:
        with room.taking(1):
            came.set()

    with room.taking(10**9):
        thread = threading.Thread(target=small)
        thread.start()
        assert not came.wait(0.05)
    assert came.wait(10)
    thread.join()


def test_room_is_left_where_the_work_fails():
    room = SharedRoom(1)
    with pytest.raises(ZeroDivisionError), room.taking(1):
        1 / 0  # noqa: B018
    with room.taking(1):
        assert room.peak == 1


def test_the_detector_is_given_what_rapidocr_computes():
    """To the bit, and in one piece, of a size that is no multiple of 32."""
    pytest.importorskip("rapidocr")
    image = np.random.default_rng(0).integers(0, 256, (500, 801, 3), dtype=np.uint8)
    with ocr_engine() as engine:
        detector = engine.text_det
        found = detector.get_preprocess()(image)
        wanted = type(detector).get_preprocess(detector)(image)
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)
    assert found.flags.c_contiguous


def test_threads_share_networks_and_nothing_that_a_call_changes():
    pytest.importorskip("rapidocr")
    with ocr_engine() as one, ocr_engine() as other:
        for a, b in ((one.text_det, other.text_det), (one.text_rec, other.text_rec)):
            assert a.session is b.session
        one.update_params(box_thresh=0.125, use_rec=False)
        assert other.text_det.postprocess_op.box_thresh != 0.125
        assert other.use_rec


_DETECTED = """
import re
import numpy as np
from revise_captions.charts.ocr import seen_and_unread

def held(name):
    return int(re.search(name + r":\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024

seen_and_unread(np.full((64, 64, 3), 255, dtype=np.uint8))
before = held("VmRSS")
seen_and_unread(np.full((1500, 1500, 3), 255, dtype=np.uint8))
print(held("VmHWM") - before, held("VmRSS") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_large_image_took_is_given_back():
    pytest.importorskip("rapidocr")
    done = subprocess.run(
        [sys.executable, "-c", _DETECTED], capture_output=True, text=True, check=True, timeout=300
    )
    peak, kept = map(int, done.stdout.split())
    assert kept < 0.4 * peak
