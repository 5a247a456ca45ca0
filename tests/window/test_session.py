"""A run in a thread of its own, and the history that a window reads of it."""

from __future__ import annotations

import dataclasses
import threading
import time as clock
from collections.abc import Iterator

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.run.live import Live
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.motion.session import Session

CRANK, COUPLER = "four_bar:crank:tip.T[0]", "four_bar:coupler"
STILL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
PATIENCE = 20.0  # s, on a machine that has other work


def history(most: int = 1000) -> History:
    """Of the body of a pendulum without its joints, which may be anywhere."""
    model = load("pendulum")
    free = dataclasses.replace(
        model, assemblies=tuple(dataclasses.replace(a, joints=(), restraints=()) for a in model.assemblies)
    )
    (body, _), *_ = free.bodies()
    return History(free, ("fixed", body), channels={"energy.total": "J"}, max_instants=most)


def pose(x: float, sign: float = 1.0) -> np.ndarray:
    turn = sign * np.array([np.cos(x / 2), 0.0, np.sin(x / 2), 0.0])
    return np.stack([STILL, [x, 0.0, 0.0, *turn]])


# -- history -----------------------------------------------------------------------------------------------------------


def test_a_history_is_read_as_a_study_of_one_member() -> None:
    run = history()
    for k in range(11):
        run.add(0.1 * k, pose(0.2 * k, (-1.0) ** k), {"energy.total": 5.0 + k})
    assert len(run.time) == 11 and run.members == 1 and list(run.kept) == [0]
    np.testing.assert_allclose(run.poses(0, 0.25)[1], pose(0.5)[1], atol=1e-5)  # signs alternate; the motion does not
    np.testing.assert_allclose(run.poses(0, np.array([0.0, 0.55]))[:, 1, 0], [0.0, 1.1], atol=1e-12)
    assert run.poses(0, 99.0)[1, 0] == pytest.approx(2.0)
    np.testing.assert_allclose(run.channel("energy.total", 0), 5.0 + np.arange(11))
    assert run.unit("energy.total") == "J" and list(run.choose("all")) == [0]
    with pytest.raises(ModelError, match="member"):
        run.poses(1, 0.0)


def test_a_history_forgets_the_oldest_instants() -> None:
    run = history(most=600)
    for k in range(2000):
        run.add(0.1 * k, pose(0.0), {"energy.total": k}, checkpoint=k)
    assert 300 <= len(run.time) <= 600 and run.time[-1] == pytest.approx(199.9)
    assert run.channel("energy.total", 0)[0] == pytest.approx(10 * run.time[0])
    assert run.checkpoint(run.time[5]) == pytest.approx(10 * run.time[5])  # checkpoints are dropped with their instants


def test_of_two_instants_at_one_time_the_later_counts() -> None:
    """A number that changes while time stands still moves the bodies at once."""
    run = history()
    for x in (0.0, 1.0):
        run.add(0.1 * x, pose(x))
    revision = run.revision
    run.add(0.1, pose(2.0))
    assert (
        run.revision != revision and run.poses(0, 0.1)[1, 0] == 2.0 and run.poses(0, 0.05)[1, 0] == pytest.approx(0.5)
    )
    run.add(0.2, pose(3.0))
    assert run.poses(0, 0.1)[1, 0] == 2.0 and run.poses(0, 0.15)[1, 0] == pytest.approx(2.5)


def test_what_is_cut_off_is_gone_and_the_stamp_tells() -> None:
    run = history()
    for k in range(10):
        run.add(0.1 * k, pose(0.1 * k), checkpoint=f"checkpoint {k}")
    before, revision = run.time, run.revision
    assert run.checkpoint(0.55) == "checkpoint 5"
    run.truncate(0.55)
    assert run.checkpoint(9.0) == "checkpoint 5" and run.time[-1] == pytest.approx(0.5) and run.revision != revision
    run.add(0.6, pose(3.0))
    assert len(before) == 10 and before[6] == pytest.approx(0.6) and before[9] == pytest.approx(0.9)
    run.add(0.0, pose(1.0), replacing=len(run.time))
    assert list(run.time) == [0.0] and run.poses(0, 0.0)[1, 0] == 1.0


def test_a_reader_never_sees_half_an_instant() -> None:
    """Ten thousand instants are written while another thread reads; time and pose always belong together."""
    run = history(most=500)
    run.add(0.0, pose(0.0))
    wrong: list[float] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            time = run.time
            middle = float(time[len(time) // 2])  # an instant that no cut below forgets, though time may
            x = float(run.poses(0, middle)[1, 0])
            if not middle - 1e-9 <= x <= max(middle, float(run.time[0])) + 1e-9:
                wrong.append(middle)

    reader = threading.Thread(target=read)
    reader.start()
    for k in range(1, 10_000):
        if k % 1000 == 0:
            run.truncate(float(run.time[-3]))
        run.add(1e-3 * k, np.stack([STILL, [1e-3 * k, 0, 0, 1, 0, 0, 0]]))
    stop.set()
    reader.join()
    assert not wrong


# -- session -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Live("four_bar", vary=[CRANK], channels=["energy.total"]), {"crank:tip.T[0]": (0.15, 0.3)}) as made:
        yield made


def until(session: Session, time: float) -> None:
    """Waits for the run to get there."""
    end = clock.perf_counter() + PATIENCE
    while session.history.time[-1] < time:
        assert clock.perf_counter() < end and session.running, session.messages()
        clock.sleep(0.01)


def test_a_session_runs_beside_its_caller_and_stops(session: Session) -> None:
    assert list(session.history.time) == [0.0]
    session.play(0.0)
    until(session, 0.3)
    session.pause()
    session.settle()
    stood = session.history.time[-1]
    clock.sleep(0.1)
    assert session.history.time[-1] == stood and session.actual_speed > 0 and not session.messages()
    # what was seen is the run: the same state as one that nobody watches
    alone = Live("four_bar", vary=[CRANK])
    alone.advance(float(stood))
    np.testing.assert_allclose(session.history.poses(0, stood), alone.poses(), atol=1e-12)
    assert len(session.history.channel("energy.total", 0)) == len(session.history.time)


def test_a_run_goes_on_from_where_it_is_looked_at(session: Session) -> None:
    session.play(0.0)
    until(session, 0.3)
    session.pause()
    session.advance(0.1, 0.02)
    session.settle()
    assert session.history.time[-1] == pytest.approx(0.12, abs=0.02)  # from the last instant before 0.1


def test_every_single_step_counts(session: Session) -> None:
    for _ in range(3):
        session.advance(np.inf, 0.01)
    session.settle()
    np.testing.assert_allclose(session.history.time, [0.0, 0.01, 0.02, 0.03], atol=1e-12)


def test_numbers_change_or_begin_the_run_again(session: Session) -> None:
    session.advance(0.0, 0.2)
    session.change(CRANK, 0.22)
    session.settle()
    assert session.values[CRANK] == 0.22 and session.history.time[-1] == pytest.approx(0.2)
    session.restarts = True
    session.change(CRANK, 0.25)
    session.settle()
    assert session.values[CRANK] == 0.25 and list(session.history.time) == [0.0]
    session.change(CRANK, 7.0)
    session.settle()
    assert session.values[CRANK] == session.requested[CRANK] == 0.25  # the slider jumps back
    assert any("stay open" in text for text in session.messages())
    session.restart()
    session.settle()
    assert list(session.history.time) == [0.0] and not session.messages()


def test_a_run_that_cannot_go_on_stops_and_says_so_once(session: Session) -> None:
    def broken(seconds: float) -> None:
        raise FloatingPointError("out of range")

    session._engine.advance = broken  # type: ignore[method-assign]
    session.play(0.0)
    end = clock.perf_counter() + PATIENCE
    while session.running and clock.perf_counter() < end:
        clock.sleep(0.01)
    assert not session.running and list(session.messages()) == ["FloatingPointError: out of range"]


def test_a_restart_lets_go(session: Session) -> None:
    """Also while the hand still moves."""
    goal = np.array([0.0, 0.0, 1.0])
    session.grab(COUPLER, np.zeros(3), goal)
    session.restart()
    session.settle()
    assert session.pull is None
    free = Live("four_bar", vary=[CRANK])
    free.advance(0.2)
    session.advance(0.0, 0.2)
    session.settle()
    np.testing.assert_allclose(session.history.poses(0, 0.2), free.poses(), atol=1e-12)


def test_a_pull_moves_the_body_and_ends(session: Session) -> None:
    goal = session.history.poses(0, 0.0)[2, :3] + [0.05, 0.0, 0.1]
    session.grab(COUPLER, np.zeros(3), goal)
    session.advance(0.0, 3.0)
    session.settle()
    pulled = session.history.poses(0, 3.0)[2, :3]
    assert np.linalg.norm(pulled - goal) < 0.05 and session.pull is not None  # it hangs a little below
    session.let_go()
    session.advance(3.0, 0.3)
    session.settle()
    assert session.pull is None and np.linalg.norm(session.history.poses(0, 3.3)[2, :3] - pulled) > 0.05
    session.grab("four_bar:crown", np.zeros(3), goal)
    session.settle()
    assert any("crown" in text for text in session.messages())


def test_sliders_of_what_does_not_vary_are_refused() -> None:
    live = Live("four_bar", vary=[CRANK])
    with pytest.raises(ModelError, match=r"slider.*coupler.mass"):
        Session(live, {"coupler.mass": (1.0, 2.0)})
    with pytest.raises(ModelError, match="slider"):
        Session(live, {CRANK: (0.3, 0.1)})
