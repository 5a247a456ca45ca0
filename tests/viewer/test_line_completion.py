"""Completion of a line of the console: steps, their arguments, paths of a model by what an argument is. M50."""

from __future__ import annotations

import pytest

import shiftjax
from shiftjax.editing.workbench import STEPS, steps_in_words
from shiftjax.viewer.gui.state.typed.line_completion import OFFERED, completed, paths_of, step_at, steps_of
from shiftjax.viewer.gui.state.typed.typed_line import TypedLine
from shiftjax.viewer.motion.live_run import SHELL_WORDS

WORDS = steps_of(steps_in_words())
NOTHING: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def paths() -> dict[str, list[str]]:
    bench = shiftjax.Workbench("excavator")
    return paths_of(bench.model, bench.values, ["mine", "other"])


def after_tab(text: str, paths: dict[str, list[str]]) -> tuple[str, tuple[str, ...]]:
    """The line after Tab at the mark |, with the cursor as a mark, and all that fits."""
    cursor = text.index("|")
    result = completed(text.replace("|", ""), cursor, WORDS, SHELL_WORDS, paths)
    return f"{result.text[: result.cursor]}|{result.text[result.cursor :]}", result.choices


def test_every_step_of_the_workbench_is_known() -> None:
    """What is offered for an argument is of one that there is; signatures are those that Python reads."""
    assert tuple(WORDS) == STEPS
    arguments = {name for step in WORDS.values() for name in (*step.named, step.repeated)}
    for key in OFFERED:
        step, _, argument = key.rpartition(".")
        assert argument in ({*WORDS[step].named, WORDS[step].repeated} if step else arguments), key
    assert WORDS["drag"].signature == "drag(body: str, point: Numbers, target: Numbers)"
    assert WORDS["drag"].says.startswith("A body with a point of it")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dr|", "drag(|"), ("lock('cab'); unl|", "lock('cab'); unlock(|"), ("und|", "undo(|"),
        ("dr|('x')", "drag|('x')"),
        ("keep(le|", "keep(level=|"), ("drag('cab', po|", "drag('cab', point=|"),
        ('drag("buck|', 'drag("bucket|'), ('drag("bucket_b|', 'drag("bucket_barrel"|'),
        ("drag('bucket_b|', [0, 0, 0])", "drag('bucket_barrel|', [0, 0, 0])"),
        ("drag(body='excavator:ca|", "drag(body='excavator:cab'|"), ("turn('boom_|", "turn('boom_pivot'|"),
        ("lock('cab', 'sl|", "lock('cab', 'slew'|"), ("set({'bucket.ma|", "set({'bucket.mass'|"),
        ("set({'cab.mass': 3, 'bucket.ma|", "set({'cab.mass': 3, 'bucket.mass'|"),
        ("reattach('slew', parent=('boom', 'stick_c|", "reattach('slew', parent=('boom', 'stick_cylinder'|"),
        ("split('boom', 'half', ['ti|", "split('boom', 'half', ['tip'|"), ("stand({'boom_|", "stand({'boom_pivot'|"),
        ("sublinkage('arm', ['slew', 'boom_p|", "sublinkage('arm', ['slew', 'boom_pivot'|"),
        ("sublinkage('arm', disposition='drivi|", "sublinkage('arm', disposition='driving'|"),
        ("sublinkage('arm', disp|", "sublinkage('arm', disposition=|"),
        ("abstract('cab', 'bo|", "abstract('cab', 'boom'|"),
        ("abstract('cab', ('stick', 'ti|", "abstract('cab', ('stick', 'tip'|"),
        ("release('m|", "release('mine'|"), ("add_joint('new', 'revo|", "add_joint('new', 'revolute'|"),
    ],
)  # fmt: skip
def test_tab_writes_what_fits(line: str, expected: str, paths: dict[str, list[str]]) -> None:
    assert after_tab(line, paths)[0] == expected


@pytest.mark.parametrize(
    "line",
    [
        "|",
        "drag('nobody|",
        "nothing('ca|",
        "set({'cab.mass': 'buc|",
        "add_body('ca|",
        "drag('cab', [|",
        "drag('cab')|",
        ")|",
    ],
)
def test_nothing_is_written_where_nothing_fits(line: str, paths: dict[str, list[str]]) -> None:
    """Names of new things are one's own; values are none of the paths; an empty line has all steps."""
    text, choices = after_tab(line, paths)
    assert text == line and choices == ((*STEPS, *SHELL_WORDS) if line == "|" else NOTHING)


def test_several_that_fit_are_told(paths: dict[str, list[str]]) -> None:
    assert after_tab("drag('bucket|", paths)[1] == ("bucket", "bucket_barrel", "bucket_rod")
    assert set(after_tab("drag('|", paths)[1]) == set(paths["body"])
    assert after_tab("drag('ex|", paths)[0] == "drag('excavator:|", "the common part of all in full"


def test_an_end_that_several_have_is_written_in_full() -> None:
    """What is written is a path of one thing; one with a quote in its name is written so that it is read again."""
    paths = {"body": ["left:arm", "right:arm", "it's"]}
    one, two = after_tab("drag('a|", paths), after_tab("drag('l|", paths)
    assert one == ("drag('a|", ("left:arm", "right:arm")) and two[0] == "drag('left:arm'|"
    assert after_tab("drag('i|", paths)[0] == "drag('it\\'s'|"


def test_the_step_that_is_written_is_said() -> None:
    for line, step in (
        ("drag('a', [", "drag"),
        ("lock('a'); turn(", "turn"),
        ("drag", "drag"),
        ("drag('a')", ""),
        ("", ""),
    ):
        assert step_at(line, len(line), WORDS) is WORDS.get(step), line


def test_earlier_lines_come_back() -> None:
    typed = TypedLine()
    assert typed.walk(1, "new") == "new"
    for line in ("one", "two", "two"):
        typed.give(line)
    assert [typed.walk(by, "new") for by in (1, 1, 1, -1, -1, -1)] == ["two", "one", "one", "two", "new", "new"]
