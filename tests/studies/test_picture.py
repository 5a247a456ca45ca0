"""A picture is drawn of every kind of result, and refused before a run where it cannot be."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shiftjax import errors
from shiftjax.ensembles import picture
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.run.results.result import CERTIFICATE, Result

pytest.importorskip("matplotlib")
COUPLER, LENGTH = "four_bar:coupler", "four_bar:coupler:tip.T[0]"


def made_up(members: int = 5) -> Result:
    rng = np.random.default_rng(1)
    kept = np.arange(0, members, 2)
    turned = np.tile([0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0], (len(kept), 4, 1))
    return Result(
        time=np.linspace(0.0, 1.0, 4),
        channels={"four_bar:crank_pivot.q": rng.normal(size=(members, 4)), "p": rng.normal(size=(members, 4, 3))},
        units={"four_bar:crank_pivot.q": "rad", "p": "m"},
        certificate={name: 1e-12 * np.arange(members) for name in CERTIFICATE},
        status=np.zeros(members, np.int64),
        messages=("",) * members,
        poses={COUPLER: turned},
        kept=kept,
        design={LENGTH: np.linspace(0.3, 0.7, members)},
        model=load("four_bar"),
        report={},
        settings={},
    )


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str) -> None:
    picture.draw(made_up(), picture.check_target(tmp_path / f"a{suffix}", force=False))
    assert (tmp_path / f"a{suffix}").stat().st_size > 10_000


def test_frames_are_drawn_where_each_member_has_them() -> None:
    """A quarter turn about -y takes a point on +x to +z; the varied length is each member's own."""
    (points,) = picture.points(made_up())
    np.testing.assert_allclose(points[:, 0, 1], [[0, 0, 0.3], [0, 0, 0.5], [0, 0, 0.7]], atol=1e-15)


def test_nothing_kept_and_failed_members_are_no_disaster(tmp_path: Path) -> None:
    bare = dataclasses.replace(made_up(), poses={}, channels={}, kept=np.zeros(0, np.int64), design={})
    picture.draw(bare, tmp_path / "bare.png")
    failed = made_up()
    failed.poses[COUPLER][...] = np.nan
    failed.certificate["gap"][...] = np.nan
    picture.draw(failed, tmp_path / "failed.png")


def test_places_that_cannot_be_drawn_to(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    for name, match in [("a.gif", "suffix"), ("no/a.png", "folder"), ("a.png", "--force")]:
        with pytest.raises(ModelError, match=match):
            picture.check_target(tmp_path / name, force=False)
    assert picture.check_target(tmp_path / "a.png", force=True)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install"):
        picture.check_target(tmp_path / "a.png", force=False)
