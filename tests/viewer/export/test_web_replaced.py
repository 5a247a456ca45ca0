"""A server whose store is replaced by another one, and notes that two threads take."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiftjax
from shiftjax.ensembles.store import store
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.web.served_study import REPLACED, ServedStudy
from tests.support.served_pages import asked, error_of, serving, unpacked
from tests.viewer.export.test_views import read


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three pendulums, and two of another mass with a metric."""
    folder = tmp_path_factory.mktemp("stores")
    three = shiftjax.simulate("pendulum", 0.02, output_step=0.01, vary={"link.mass": [1.0, 1.5, 2.0]}, keep="all")
    two = shiftjax.simulate(
        "pendulum", 0.02, output_step=0.01, vary={"link.mass": [3.0, 4.0]}, keep="all",
        metrics={"swing": "peak_to_peak(pivot.q)"},
    )  # fmt: skip
    return store.write(three, folder / "three.zarr"), store.write(two, folder / "two.zarr")


@pytest.mark.parametrize("way", ["renamed", "copied"])
def test_a_store_that_is_replaced_is_read_anew(stores: tuple[Path, Path], tmp_path: Path, way: str) -> None:
    """A page of the one before is told to reload; the new one has all of the new store, and says so."""
    place = tmp_path / "bars.zarr"
    shutil.copytree(stores[0], place)
    with serving(place) as server:
        page = f"/?token={server.site.token}"
        assert asked(server, page, token=False)[0] == asked(server, "/members/2?of=0")[0] == 200
        if way == "renamed":
            shutil.copytree(stores[1], tmp_path / "draft")
            place.rename(tmp_path / "old")
            (tmp_path / "draft").rename(place)
        else:  # its folder may have the number of the one before
            shutil.rmtree(place)
            shutil.copytree(stores[1], place)
        for path in ("/members/0?of=0", "/members/2?of=0", "/study?of=0", "/state?of=0"):
            status, _, content = asked(server, path)
            assert status == 409 and "found a page of the study that was there before" in error_of(content), path
            assert "Reload the page." in error_of(content)
        status, _, content = asked(server, page, token=False)
        data, _ = read(content.decode())
        assert status == 200 and REPLACED in data["remarks"] and data["served"]["revision"] == 1
        told = unpacked(asked(server, "/study?of=1")[2])[0]["study"]
        assert told["total"] == 2 and "swing" in {column["name"] for column in told["columns"]}
        assert asked(server, "/members/1?of=1")[0] == 200 and asked(server, "/members/2?of=1")[0] == 404
        again = read(asked(server, page, token=False)[2].decode())[0]
        assert again["remarks"] == data["remarks"], "the note stays"


def test_a_store_that_is_taken_away_or_spoilt_meanwhile(stores: tuple[Path, Path], tmp_path: Path) -> None:
    """What was read of it stays; what stands there unreadable is an error, until it is whole."""
    place = tmp_path / "bars.zarr"
    shutil.copytree(stores[0], place)
    with serving(place) as server:
        place.rename(tmp_path / "old")
        assert asked(server, "/state?of=0")[0] == 200
        shutil.copytree(stores[1], place)
        whole = (place / "zarr.json").read_bytes()
        (place / "zarr.json").write_bytes(whole[:-40])
        status, _, content = asked(server, "/study?of=0")
        assert status == 409 and "zarr.json" in error_of(content)
        (place / "zarr.json").write_bytes(whole)
        assert "Reload the page." in error_of(asked(server, "/study?of=0")[2])
        assert asked(server, "/study")[0] == 200


def test_a_store_that_is_replaced_while_a_member_is_awaited(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another page finds the new one meanwhile: the page of the one before is given nothing of it."""
    place = tmp_path / "bars.zarr"
    shutil.copytree(stores[0], place)
    with serving(place) as server:
        served = server.site.served
        ask, refuse = served.ask, served.refuse_outdated

        def replaced() -> None:
            shutil.rmtree(place)
            shutil.copytree(stores[1], place)
            served.renew()

        monkeypatch.setattr(served, "ask", lambda member: (ask(member), replaced()))
        status, _, content = asked(server, "/members/2?of=0")
        assert status == 409 and "Reload the page." in error_of(content)
        monkeypatch.undo()
        assert asked(server, "/members/1?of=1")[0] == 200
        looks = []

        def replaced_after(revision: int | None) -> None:
            refuse(revision)
            looks.append(revision)
            if len(looks) == 1:
                shutil.rmtree(place)
                shutil.copytree(stores[0], place)
                served.renew()

        monkeypatch.setattr(served, "refuse_outdated", replaced_after)
        status, _, content = asked(server, "/study?of=1")
        assert status == 409 and "Reload the page." in error_of(content)
        assert asked(server, f"/study?of={'9' * 5000}")[0] == 200, "a number of no revision is none"


def test_a_note_is_told_once_whatever_threads_ask(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread asks how far a member is while another gives a page: the note of the one is in one answer only."""
    served = ServedStudy(ViewedStudy.open(stores[0]), [0])
    others, taken = list[threading.Thread](), list[str]()

    class Notes(list[str]):
        """While they are taken over, another thread gives all that there are."""

        def __iter__(self) -> Iterator[str]:
            yield "first"
            monkeypatch.setattr(served.study.lacking, "news", lambda: ("", []))
            others.append(threading.Thread(target=lambda: taken.extend(served._news())))
            others[0].start()
            others[0].join(0.2)
            yield "second"

    monkeypatch.setattr(served.study.lacking, "news", lambda: ("", Notes()))
    served.progress()
    others[0].join()
    assert sorted(taken + served._news()) == ["first", "second"]
    served.close()
