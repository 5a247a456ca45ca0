"""The page of a study from a server: what is answered to whom, over real HTTP; every member on demand; a study that
grows; what a browser shows of it.
"""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.viewer.export.quantised import quantised
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.web import notebook, served_study
from shiftjax.viewer.web.served_study import ServedStudy
from shiftjax.viewer.web.server import PageServer
from tests.support.browser import Browser
from tests.support.served_pages import PATIENCE, an_array, asked, error_of, serving, unpacked, waited
from tests.viewer.export.test_export_page import CHROMIUM, needs_chromium
from tests.viewer.export.test_views import read

SWING, COUPLER = "swing", "four_bar:coupler:tip.T[0]"
MEMBERS, KEPT = 24, (0, 12)
SHARD = 8
SINGLE = 1e-5  # positions of about 1 m and times of 0.1 s in single precision, at speeds of up to 50 m/s
DESKTOP, PHONE = (1280, 800), (390, 800)


def definition() -> shiftjax.Definition:
    """Four-bars, some of which cannot be assembled; of every twelfth the motion is kept."""
    return shiftjax.Definition(
        model="four_bar", span=0.1, step=1e-3, output_step=0.02, samples=MEMBERS, keep="every 12",
        vary={"coupler:tip.T[0]": "0.4:1.4~sobol", "coupler.mass": "0.6:2.4~sobol"},
        channels=["rocker_pivot.q"], metrics={SWING: "peak_to_peak(rocker_pivot.q)"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The study, complete, and stopped after its first shard."""
    folder, calls = tmp_path_factory.mktemp("served"), list[float]()

    def stop(progress: Any) -> None:
        calls.append(progress.members)
        if (folder / "half.zarr" / "shards" / "done" / "c" / "0").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shiftjax.sweep(definition(), folder / "half.zarr", shard=SHARD, progress=stop)
    shutil.copytree(folder / "half.zarr", folder / "bars.zarr")
    return shiftjax.sweep(definition(), folder / "bars.zarr", resume=True).path, folder / "half.zarr"


@pytest.fixture(scope="module")
def stored(stores: tuple[Path, Path]) -> Path:
    return stores[0]


@pytest.fixture(scope="module")
def study(stored: Path) -> ViewedStudy:
    return ViewedStudy.open(stored)


@pytest.fixture(scope="module")
def server(stored: Path) -> Iterator[PageServer]:
    with serving(stored) as page_server:
        yield page_server


def same_motion(data: dict[str, Any], block: bytes, study: ViewedStudy, member: int) -> None:
    """The poses of a block are those of the study, quaternions up to their sign."""
    elapsed = an_array(block, data["time"], "<f4")
    poses = an_array(block, data["members"][0]["poses"], "<f4").reshape(len(elapsed), len(study.nodes), 7)
    expected = study.poses(member, elapsed.astype(float))
    np.testing.assert_allclose(poses[:, :, :3], expected[:, :, :3], atol=SINGLE)
    alike = np.abs((poses[:, :, 3:] * expected[:, :, 3:]).sum(2))
    np.testing.assert_allclose(alike, 1.0, atol=SINGLE)


# -- what is given ---------------------------------------------------------------------------------------------------


def test_the_page_is_given_with_its_first_member(server: PageServer) -> None:
    status, headers, content = asked(server, f"/?token={server.site.token}", token=False)
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    data, _ = read(content.decode())
    assert [member["name"] for member in data["members"]] == ["0"] and "study" not in data
    assert data["served"] == {"revision": 0, "growing": False}
    assert server.site.token not in content.decode(), "whoever saves the page has no token in it"


def test_the_numbers_are_those_of_all_members(server: PageServer, study: ViewedStudy) -> None:
    status, _, content = asked(server, "/study")
    data, block = unpacked(content)
    told = data["study"]
    assert status == 200 and told["total"] == MEMBERS == len(an_array(block, told["members"], "<u4"))
    column = next(c for c in told["columns"] if c["name"] == SWING)
    expected = quantised(study.metrics[SWING])
    np.testing.assert_array_equal(an_array(block, column["codes"], "<u2"), expected.codes)
    assert (column["low"], column["high"]) == (expected.low, expected.high)


def test_more_members_than_a_page_holds_are_given(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page in a file has a sample of many; that of a server has all."""
    monkeypatch.setattr("shiftjax.viewer.export.study_numbers.ROWS", 5)
    served = ServedStudy(ViewedStudy.open(stored), [0])
    data, block = unpacked(served.numbers())
    assert len(an_array(block, data["study"]["members"], "<u4")) == MEMBERS and data["remarks"] == []


def test_a_kept_member_is_given_as_it_is_stored(server: PageServer, study: ViewedStudy) -> None:
    status, content, texts = waited(server, KEPT[1])
    data, block = unpacked(content)
    assert status == 200 and not texts and [m["name"] for m in data["members"]] == [str(KEPT[1])]
    same_motion(data, block, study, KEPT[1])
    assert data["sheets"]["plots"][0]["name"].endswith("rocker_pivot.q")
    assert data["meshes"] and data["casts"][0], "it has shapes of its own"


def test_any_other_member_is_simulated_again(server: PageServer, study: ViewedStudy) -> None:
    """A member whose motion nobody kept comes as soon as it was simulated, by another process."""
    good = [k for k in np.flatnonzero(study.status <= 0).tolist() if k not in KEPT]
    status, content, texts = waited(server, good[0])
    assert status == 200 and all(text.startswith((f"Simulating member {good[0]} again", "Its")) for text in texts)
    data, block = unpacked(content)
    same_motion(data, block, server.site.served.study, good[0])
    assert int(study.status[good[0]]) <= 0 and good[0] in server.site.served.study.simulated


def test_a_failed_member_tells_its_status(server: PageServer, study: ViewedStudy) -> None:
    failed = int(np.flatnonzero(study.status == shiftjax.Outcome.not_assembled)[0])
    status, content, _ = waited(server, failed)
    assert status == 409 and study.message(failed) in error_of(content)
    assert f"member {failed}: found no motion; allowed: a member that started" in error_of(content)


def test_nothing_is_written(server: PageServer, stored: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in stored.parent.rglob("*")}
    asked(server, f"/?token={server.site.token}", token=False)
    asked(server, "/study")
    waited(server, KEPT[0])
    assert {path: path.stat().st_mtime_ns for path in stored.parent.rglob("*")} == before


# -- what can go wrong ----------------------------------------------------------------------------------------------


def test_an_interrupted_request_leaves_the_others(server: PageServer, study: ViewedStudy) -> None:
    """Somebody leaves while a member is simulated, and while the page comes: both times the next one is answered."""
    good = [k for k in np.flatnonzero(study.status <= 0).tolist() if k not in KEPT]
    for path in (f"/members/{good[-1]}", "/study"):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        words = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.site.token}\r\n\r\n"
        connection.sendall(words.encode())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # at once, by a reset
    assert asked(server, "/state")[0] == 200
    assert waited(server, good[-1])[0] == 200


def test_a_server_ends_while_somebody_waits(
    stored: Path, study: ViewedStudy, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """For a member that is being simulated: the process that does it ends, too, and nothing is said of either."""
    good = [k for k in np.flatnonzero(study.status <= 0).tolist() if k not in KEPT]
    with serving(stored) as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        words = (
            f"GET /members/{good[1]} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.site.token}\r\n\r\n"
        )
        connection.sendall(words.encode())
        until = time.monotonic() + PATIENCE
        while not server.site.served.awaited(good[1]):
            assert time.monotonic() < until
            time.sleep(0.01)
        server.stop()
        assert not connection.recv(100).startswith(b"HTTP/1.1 200")
    assert capfd.readouterr() == ("", "") and not caplog.records


def test_nothing_that_was_asked_for_starts_after_the_end(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the thread of a server still does while it is stopped comes before its processes are ended."""
    acts, begun = list[str](), threading.Event()
    served = ServedStudy(ViewedStudy.open(stored), [0], place=stored)
    ending = served.close

    def ask(member: int) -> None:
        begun.set()
        time.sleep(0.3)
        acts.append("asked")

    def close() -> None:
        acts.append("closed")
        ending()

    monkeypatch.setattr(served, "ask", ask)
    monkeypatch.setattr(served, "close", close)
    server = PageServer(served)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        words = f"GET /members/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.site.token}\r\n\r\n"
        connection.sendall(words.encode())
        assert begun.wait(PATIENCE)
        server.stop()
    assert acts[-2:] == ["asked", "closed"]


def test_a_port_in_use_is_refused(server: PageServer, stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--web", str(stored), "--port", str(server.port)]) == 2
    said = capsys.readouterr().err
    assert f"port {server.port}: found that it cannot be listened on (Address already in use" in said
    with pytest.raises(ModelError, match="allowed: a free port from 1024"):
        PageServer(server.site.served, server.port)


def test_a_damaged_store_is_told(stored: Path, tmp_path: Path) -> None:
    """A lost file of a motion, and of the numbers: each its own error, and all else is given."""
    place = tmp_path / "bars.zarr"
    shutil.copytree(stored, place)
    with serving(place) as server:
        for chunk in (place / "trajectories" / "pose" / "c" / "1").rglob("*"):
            chunk.unlink() if chunk.is_file() else None
        for name in (SWING,):
            for chunk in (place / "members" / name / "c").iterdir():
                chunk.write_bytes(chunk.read_bytes()[:-3])
        status, content, _ = waited(server, KEPT[1])
        assert status == 409 and "trajectories/pose" in error_of(content)
        status, _, content = asked(server, "/study")
        assert status == 500 and SWING in error_of(content)
        assert asked(server, f"/?token={server.site.token}", token=False)[0] in (200, 500)
        shutil.rmtree(place)
        assert asked(server, "/state")[0] == 200


# -- a study that grows ----------------------------------------------------------------------------------------------


def test_a_study_that_grows_is_read_again(stores: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "half.zarr"
    shutil.copytree(stores[1], place)
    with serving(place) as server:
        state = json.loads(asked(server, "/state")[2])
        assert state["growing"] and state["revision"] == 0
        assert state["text"] == f"{SHARD} of {MEMBERS} members have run"
        status, content, _ = waited(server, MEMBERS - 1)
        assert status == 409 and f"member {MEMBERS - 1}: found one that has not run" in error_of(content)
        told = unpacked(asked(server, "/study")[2])[0]["study"]
        assert {o["name"]: o["count"] for o in told["outcomes"]}["interrupted"] == MEMBERS - SHARD
        assert served_study.WAITING in told["forms"] and all(row < SHARD for row in told["unstarted"])
        shiftjax.sweep(definition(), place, resume=True)
        state = json.loads(asked(server, "/state")[2])
        assert state == {"revision": 1, "growing": False, "text": ""}
        data = unpacked(asked(server, "/study")[2])[0]
        assert data["revision"] == 1 and "interrupted" not in {o["name"] for o in data["study"]["outcomes"]}
        assert waited(server, KEPT[1])[0] == 200


def test_a_study_without_any_member_is_waited_for(stores: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "half.zarr"
    shutil.copytree(stores[1], place)
    (place / "shards" / "done" / "c" / "0").unlink()
    assert served_study.state_of(place) == served_study.StoreState(True, 0)
    assert main(["view", "--web", str(place)]) == 2


# -- the command and the notebook ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--web", "--live", "four_bar"], "--live: found with --web; allowed: the window"),
        (["--web", "four_bar", "--no-shadows"], "--no-shadows: found with --web"),
        (["--web", "four_bar", "--size", "300x300"], "--size: found with --web"),
        (["--web", "four_bar", "--view", "a.json"], "--view a.json: found with --web"),
        (["--web"], "view --web: found no study"),
        (["--web", "nothing.zarr"], "nothing.zarr: found nothing there"),
        (["four_bar", "--port", "8000"], "--port 8000: found without --web"),
        (["--web", "four_bar", "--port", "70000"], "'70000' is not a port"),
    ],
)
def test_what_says_nothing_of_a_page_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["view", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2 and problem in capsys.readouterr().err


@contextmanager
def a_command(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`shiftjax view --web` as a process, and the address that it printed."""
    refuse = "import sys\nfor name in ('glfw', 'OpenGL', 'imgui_bundle', 'jax'):\n    sys.modules[name] = None\n"
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's job ignores it
    called = "from shiftjax.cli import entry\nsys.argv = ['shiftjax', 'view', '--web', *sys.argv[1:]]\nentry()"
    process = subprocess.Popen(
        [sys.executable, "-c", refuse + heard + called, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def fetched(address: str, path: str = "") -> tuple[int, bytes]:
    """By the address that was printed, the page, or something else with its token."""
    place, _, token = address.partition("#")[0].partition("/?token=")
    with closing(http.client.HTTPConnection(place.removeprefix("http://"), timeout=PATIENCE)) as connection:
        headers = {"Authorization": f"Bearer {token}"} if path else {}
        connection.request("GET", path or f"/?token={token}", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_command_serves_until_ctrl_c_without_graphics(stored: Path) -> None:
    """Neither GL nor jax is loaded by the process that serves; it ends with what it gave, and with code 0."""
    with a_command(str(stored), "--member", str(KEPT[1]), "--view", "front") as (process, address):
        assert address.startswith("http://127.0.0.1:") and address.endswith(f"#member={KEPT[1]}&view=front")
        assert fetched(address)[0] == 200 and fetched(address, "/members/0")[0] == 200
        assert fetched(address, "/nothing")[0] == 404
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "For a browser on another machine, run there first: ssh -L" in said
        assert said.splitlines()[-1] == "served 1 page, the motion of 1 member"


def test_the_page_of_a_model_is_that_of_its_run() -> None:
    with a_command("four_bar", "--span", "0.1") as (process, address):
        status, content = fetched(address)
        data, _ = read(content.decode())
        assert status == 200 and len(data["members"]) == 1
        assert unpacked(fetched(address, "/study")[1])[0]["study"] is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 143


def test_without_tornado_the_cure_is_told(stored: Path) -> None:
    code = (
        "import sys\nsys.modules['tornado'] = None\nfrom shiftjax.cli import entry\nsys.argv[0] = 'shiftjax'\nentry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "view", "--web", str(stored)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "shiftjax view --web: found no Python package 'tornado" in done.stderr
    assert "pip install -e '.[web]'" in done.stderr


def test_a_notebook_shows_the_page_of_a_server(stored: Path) -> None:
    opened = shiftjax.Study(stored)
    view = opened.view(server=True, height=500)
    assert isinstance(view, notebook.ServedView)
    assert f'src="{view.address}"' in view._repr_html_() and 'height="500"' in view._repr_html_()
    assert "ssh -L" in view._repr_html_() and 'sandbox="allow-scripts allow-same-origin"' in view._repr_html_()
    status, headers, _ = asked(view.server, f"/?token={view.server.site.token}", token=False)
    assert (
        status == 200 and "frame-ancestors http://localhost:* http://127.0.0.1:*" in headers["Content-Security-Policy"]
    )
    assert "X-Frame-Options" not in headers
    again = opened.view([12, 0], server=True)
    assert not view.server.running, "a store has one server"
    _, content = fetched(again.address)
    assert [member["name"] for member in read(content.decode())[0]["members"]] == ["12", "0"]
    again.stop()
    again.stop()
    assert not again.server.running
    with pytest.raises(ModelError, match=r"rows=5: found with server=True"):
        opened.view(rows=5, server=True)
    with pytest.raises(ModelError, match=r"view: server.*True or False"):
        opened.view(server=1)  # type: ignore[arg-type]


# -- in a browser ----------------------------------------------------------------------------------------------------

PLACE = """(() => { const b = document.getElementById("scatter-plot").getBoundingClientRect();
  return [b.left, b.top, b.width, b.height]; })()"""


def clicked(browser: Browser, study: ViewedStudy, member: int) -> None:
    """A click on the point of a member in the scatter plot: where the plot marks it, read from its own frame."""
    left, top, wide, high = browser.value(PLACE)
    columns = [np.asarray(study.design[name]) for name in study.design]
    part = [(c[member] - c.min()) / (c.max() - c.min()) for c in columns]
    inner = wide - 62 - 74 - 12, high - 12 - 40 - 12  # of the axes, in which points keep 6 pixels from the edges
    browser.click(left + 62 + 6 + part[0] * inner[0], top + 12 + 6 + (1 - part[1]) * inner[1])


@needs_chromium
def test_a_click_on_any_point_plays_that_member(server: PageServer, study: ViewedStudy) -> None:
    """Of the scatter plot: a member that nobody kept is simulated and moves, a failed one tells its status."""
    assert CHROMIUM
    again = next(k for k in np.flatnonzero(study.status <= 0).tolist() if k not in KEPT)
    failed = int(np.flatnonzero(study.status == shiftjax.Outcome.not_assembled)[0])
    with Browser(CHROMIUM, DESKTOP) as browser:
        browser.open(f"{server.address}#t=0.02")
        browser.until("document.getElementById('study-total')?.textContent")
        assert browser.text("study-total") == f"{MEMBERS} members"
        clicked(browser, study, again)
        browser.until(f"document.getElementById('name').textContent === 'Member {again}'")
        assert browser.text("current").startswith(f"Member {again}, ") and "imulating" not in browser.text("current")
        still = browser.picture()[100:380, 20:620]
        browser.value("document.getElementById('play').click()")
        browser.until("Number(document.getElementById('time').value) > 0.04")
        browser.value("document.getElementById('play').click()")
        assert (browser.picture()[100:380, 20:620] != still).any(), "it plays"
        clicked(browser, study, failed)
        browser.until(f"document.getElementById('current').textContent.startsWith('Member {failed}, not_assembled')")
        assert study.message(failed).rstrip(".") in browser.text("current")
        assert browser.text("name") == f"Member {again}", "the picture stays"
        browser.until(f"location.hash.includes('member={failed}')")
        assert browser.value("location.search") == f"?token={server.site.token}"
        browser.resize(PHONE)
        browser.until("document.getElementById('table').clientHeight === 0")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert len(np.unique(browser.picture()[400:780].reshape(-1, 3), axis=0)) > 200, "coloured points below"
        assert [text for text in browser.problems if "favicon" not in text and "409" not in text] == []


@needs_chromium
def test_a_page_shows_what_has_run_since(stores: tuple[Path, Path], tmp_path: Path) -> None:
    """The counts, the table and a brush of a study that goes on follow by themselves."""
    assert CHROMIUM
    place = tmp_path / "half.zarr"
    shutil.copytree(stores[1], place)
    with serving(place) as server, Browser(CHROMIUM, DESKTOP) as browser:
        browser.open(f"{server.address}#brush={COUPLER}~0.5~1.0")
        browser.until("document.getElementById('outcomes')?.textContent.includes('interrupted')")
        chips = browser.until("document.getElementById('chips').textContent")
        browser.until(
            f"document.getElementById('remarks').textContent.includes('{SHARD} of {MEMBERS} members have run')"
        )
        shiftjax.sweep(definition(), place, resume=True)
        browser.until("!document.getElementById('outcomes').textContent.includes('interrupted')")
        browser.until("!document.getElementById('remarks').textContent.includes('members have run')")
        study = ViewedStudy.open(place)
        assert f"{int((study.status == 0).sum())} ok" in browser.text("outcomes")
        lengths = np.asarray(study.design[COUPLER])
        assert browser.text("chips") == chips and "0.5 ≤ coupler:tip.T[0] ≤ 1" in chips, "the brush stays"
        assert browser.text("chosen") == f"{int(((lengths >= 0.5) & (lengths <= 1.0)).sum())} chosen"
        assert not browser.problems
        server.stop()
        other = next(k for k in np.flatnonzero(study.status <= 0).tolist() if k not in KEPT)
        browser.value(f"document.querySelector('#table tr[data-row=\"{other}\"]').click()")
        browser.until("document.getElementById('current').textContent.includes('does not answer')")
        assert browser.problems and all("ERR_CONNECTION_REFUSED" in text for text in browser.problems)
