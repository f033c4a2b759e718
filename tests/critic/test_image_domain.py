"""The domain gate: its arithmetic, its file, its fitting, and what the bundled one lets pass."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from revise_captions.critic.gates.image_domain import DomainGate, read_gate
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.world.sample import sample_scene
from scripts.research.domain_gate.fit import (
    Patches,
    basis_of,
    gate_of,
    limit_of,
    mosaics,
    train,
)
from scripts.research.domain_gate.ood_generators.families import (
    FAMILIES,
    family_of,
    outlier,
)

sys.path.insert(0, str(Path(__file__).parent))
from foreign_drawings import PROGRAMS

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def random_gate(gen: np.random.Generator) -> DomainGate:
    def normal(*shape: int) -> np.ndarray:
        return gen.normal(size=shape).astype(np.float32)

    # 2 members of 3 channels and 4 units, 9 patches of 5 features
    return DomainGate(
        embed=normal(5, 6),
        place=normal(9, 6),
        hidden=normal(2, 9, 4),
        bias=normal(2, 4),
        out=normal(2, 4),
        offset=normal(2),
        limit=0.25,
    )


def slow_score(gate: DomainGate, image: np.ndarray) -> float:
    """One image's score, written out member by member in double precision."""
    votes = []
    for m in range(2):
        rows = []
        for patch, place in zip(image.astype(float), gate.place.astype(float), strict=True):
            rows.append([
                max(0.0, patch @ gate.embed[:, 3 * m + c].astype(float) + place[3 * m + c])
                for c in range(3)
            ])  # fmt: skip
        columns = list(zip(*rows, strict=True))
        means = [sum(c) / 9 for c in columns]
        spread = [
            (sum((v - a) ** 2 for v in c) / 9) ** 0.5 for c, a in zip(columns, means, strict=True)
        ]
        pooled = np.array([*means, *(max(c) for c in columns), *spread])
        units = np.maximum(pooled @ gate.hidden[m] + gate.bias[m], 0)
        votes.append(float(units @ gate.out[m] + gate.offset[m]))
    return sum(votes) / 2


def test_score_equals_the_sum_written_out() -> None:
    gen = np.random.default_rng(0)
    gate = random_gate(gen)
    images = gen.normal(size=(70, 9, 5)).astype(np.float32)
    expected = [slow_score(gate, image) for image in images]
    np.testing.assert_allclose(gate.score(images), expected, rtol=1e-4, atol=1e-4)
    assert gate.inside(images).tolist() == [score >= 0.25 for score in expected]


def test_no_images_no_scores() -> None:
    assert random_gate(np.random.default_rng(0)).inside(np.zeros((0, 9, 5), np.float32)).size == 0


def test_written_and_read_back_it_decides_the_same(tmp_path: Path) -> None:
    assert read_gate(tmp_path) is None
    gen = np.random.default_rng(1)
    gate, images = random_gate(gen), gen.normal(size=(20, 9, 5)).astype(np.float32)
    gate.write(tmp_path)
    back = read_gate(tmp_path)
    assert back is not None
    np.testing.assert_array_equal(back.score(images), gate.score(images))
    assert back.limit == gate.limit


def test_features_of_another_tower_are_refused_with_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"\(4, 5\).*\(9, 5\)"):
        random_gate(np.random.default_rng(0)).score(np.zeros((1, 4, 5), np.float32))


def test_folding_the_basis_into_the_gate_changes_nothing() -> None:
    gen = np.random.default_rng(2)
    features = gen.normal(3.0, 2.0, (40, 9, 12)).astype(np.float32)
    basis = basis_of(features, components=12)
    flat = basis(features).astype(np.float64).reshape(-1, 12)
    np.testing.assert_allclose(np.cov(flat.T), np.eye(12), atol=0.05)
    weights = train(Patches(basis(features), basis(features[::-1])), steps=3, batch=8)
    folded = gate_of(basis, weights, 0.0)
    plain = DomainGate(**weights, limit=0.0)
    np.testing.assert_allclose(
        folded.score(features), plain.score(basis(features).astype(np.float32)), atol=0.02
    )


@pytest.mark.slow
def test_a_gate_learns_one_foreign_patch_region() -> None:
    """Home: every patch like its neighbour. Foreign: other directions; mosaics of the two too."""
    gen = np.random.default_rng(3)

    def home(n: int) -> np.ndarray:
        return (gen.normal(size=(n, 1, 8)) + 0.1 * gen.normal(size=(n, 64, 8))).astype(np.float16)

    def foreign(n: int) -> np.ndarray:
        return gen.normal(size=(n, 64, 8)).astype(np.float16)

    weights = train(Patches(home(800), foreign(800)), steps=250)
    gate = DomainGate(**weights, limit=0.0)
    assert gate.inside(home(300).astype(np.float32)).mean() > 0.95
    assert gate.inside(foreign(300).astype(np.float32)).mean() < 0.02
    half = mosaics(home(300), foreign(300), gen)
    assert gate.inside(half.astype(np.float32)).mean() < 0.1


def test_mosaics_keep_home_around_a_rectangle_of_foreign() -> None:
    home, foreign = np.zeros((200, 64, 1), np.float16), np.ones((200, 64, 1), np.float16)
    grids = mosaics(home, foreign, np.random.default_rng(4))[..., 0].reshape(200, 8, 8)
    for grid in grids:
        rows, columns = np.flatnonzero(grid.any(1)), np.flatnonzero(grid.any(0))
        assert grid.sum() == len(rows) * len(columns)
        assert (np.diff(rows) == 1).all()
        assert (np.diff(columns) == 1).all()
        assert 9 <= grid.sum() <= 49


def test_the_limit_lies_halfway_and_refuses_at_most_the_promised_share() -> None:
    gen = np.random.default_rng(5)
    home = gen.normal(5, 1, 4000).astype(np.float32)
    far = gen.normal(-15, 1, 1500).astype(np.float32)
    limit = limit_of(home, far)
    lowest, highest = np.quantile(home, 0.01), np.quantile(far, 0.998)
    assert limit == pytest.approx((lowest + highest) / 2, abs=1e-3)
    near = gen.normal(4, 1, 1500).astype(np.float32)  # no room: home goes first
    assert (home < limit_of(home, near)).mean() == pytest.approx(0.003, abs=0.0005)


@pytest.mark.parametrize("family", FAMILIES)
def test_outliers_come_from_their_seed_and_differ(family: str) -> None:
    first, again, other = outlier(3, family), outlier(3, family), outlier(4, family)
    assert first.mode == "RGB"
    assert min(first.size) >= 60
    assert first.tobytes() == again.tobytes()
    assert first.size != other.size or first.tobytes() != other.tobytes()


def test_every_family_is_drawn_and_left_out_ones_never() -> None:
    assert {family_of(i) for i in range(2000)} == set(FAMILIES)
    assert "chart" not in {family_of(i, ("chart",)) for i in range(2000)}


# ---- the bundled gate: on images of which it was fitted on none


def bundled_gate_passes(images: list[Image.Image]) -> np.ndarray:
    from revise_captions.critic.locate import BUNDLED
    from revise_captions.critic.paligemma.load import load_paligemma

    if not (BUNDLED / "domain.safetensors").exists():
        pytest.skip("no bundled critic with a domain gate in this checkout")
    critic = load_paligemma("bundled")
    assert critic.gate is not None
    return critic.gate.inside(critic.features(images).numpy())


#: How many pictures each is asked about: some at every run of the tests, more in the slow ones.
PICTURES = pytest.mark.parametrize("number", [100, pytest.param(300, marks=pytest.mark.slow)])


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


@PICTURES
@pytest.mark.parametrize(
    "program",
    ["simple", *(pytest.param(name, marks=pytest.mark.slow) for name in ("distance", "paper"))],
)
def test_bundled_gate_refuses_drawings_of_other_programs(program: str, number: int) -> None:
    passed = bundled_gate_passes([PROGRAMS[program](seed) for seed in range(number)])
    assert passed.mean() <= 0.01


@PICTURES
@pytest.mark.parametrize("split", ["test", pytest.param("compositional", marks=pytest.mark.slow)])
def test_bundled_gate_lets_held_out_pictures_pass(split: str, number: int) -> None:
    pictures = [draw(sample_scene(880_000 + i, split), 256) for i in range(number)]
    assert (~bundled_gate_passes(pictures)).mean() <= 0.01


@pytest.mark.slow
def test_bundled_gate_lets_compressed_and_rescaled_pictures_pass() -> None:
    rng = random.Random(6)
    pictures = []
    for i in range(300):
        side = round(256 * 2 ** rng.uniform(-1, 1))
        small = draw(sample_scene(890_000 + i, "test"), 256).resize((side, side))
        pictures.append(jpeg(small, 75))
    assert 1 - bundled_gate_passes(pictures).mean() <= 0.05


@PICTURES
@pytest.mark.parametrize("folder", ["flickr8k_expert", "chocolate"])
def test_bundled_gate_refuses_photographs_and_charts(folder: str, number: int) -> None:
    files = sorted((SHARED / folder / "images").glob("*"))[:number]
    if not files:
        pytest.skip(f"needs {folder}/images of the shared data, which is not here")
    images = []
    for file in files:
        with Image.open(file) as opened:
            opened.draft("RGB", (256, 256))
            images.append(opened.convert("RGB"))
    assert bundled_gate_passes(images).mean() <= 0.01
