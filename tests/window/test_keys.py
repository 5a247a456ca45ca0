"""The table of keys and mouse gestures: complete, unambiguous, told in the help (M55)."""

import ast
from pathlib import Path

import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.keys import ACTIONS, MAPS, Action, KeyTable
from shiftjax.viewer.scene.camera import VIEWS

ONE_MAP = ("Editing",)  # groups of the workbench alone
GUI = Path(actions.__file__).parents[1]


def rows() -> list[tuple[str, str, Action]]:
    """Map, binding and action of every binding."""
    return [(map, text, action) for map in MAPS for action in ACTIONS for text in action.bindings(map)]


def test_every_action_of_the_table_does_something() -> None:
    held = [name for name in actions.HOLD if name not in ("draw_bar", "turn_body")]  # which take gestures of others
    done = [*actions.PLAIN, *actions.AT, *actions.BY, *held]
    assert sorted(done) == sorted(action.name for action in ACTIONS)


def test_no_binding_has_two_actions() -> None:
    pairs = [(map, text) for map, text, _ in rows()]
    assert len(pairs) == len(set(pairs))


def test_every_binding_is_written_as_the_table_writes_it() -> None:
    assert [text for _, text, _ in rows() if keys.canonical(text) != text] == []


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_actions_are_reached_in_both_maps_or_say_where(action: Action) -> None:
    missing = [map for map in MAPS if not action.bindings(map)]
    if action.only:
        assert missing == [map for map in MAPS if map != action.only]
        assert action.group in ONE_MAP
    else:
        assert missing == []


def test_gestures_go_with_actions_that_take_them() -> None:
    """A drag or the wheel moves by something, a click is at something; keys bring nothing along."""
    for _, text, action in rows():
        gesture = text.split("+")[-1] if len(text) > 1 else text
        if gesture.endswith("drag") or gesture == "Wheel":
            assert action.name in {*actions.BY, *actions.HOLD}, text
        elif gesture.endswith("click"):
            assert action.name in actions.AT, text
        else:
            assert action.name in actions.PLAIN, text


def test_lookup_by_key_and_modifiers() -> None:
    table = keys.table()

    def name(map: str, text: str) -> str:
        found = table.find(map, text)
        return found.name if found else ""

    assert name("playback", keys.binding("Space")) == "play"
    assert name("workbench", keys.binding("Space")) == "mode"
    assert name("playback", keys.binding("N", shift=True)) == "previous_member"
    assert name("workbench", keys.binding("Left drag", ctrl=True)) == "pan"
    assert name("workbench", "?") == name("workbench", "H") == "help"
    assert name("workbench", "Delete") == "remove"
    assert name("playback", "Ctrl+Alt+Shift+Q") == ""


@pytest.mark.parametrize("map", MAPS)
def test_escape_never_closes_and_ctrl_q_does(map: str) -> None:
    table = keys.table()
    escape, close = table.find(map, "Escape"), table.find(map, "Ctrl+Q")
    assert escape is not None and escape.name == "escape"
    assert close is not None and close.name == "quit"
    assert [text for m, text, action in rows() if m == map and action.name == "quit"] == ["Ctrl+Q"]


@pytest.mark.parametrize("map", MAPS)
def test_help_tells_every_binding(map: str) -> None:
    told = [text for _, lines in keys.table().help(map) for bindings, _ in lines for text in bindings.split(" or ")]
    assert sorted(told) == sorted(text for m, text, _ in rows() if m == map)


def test_the_dump_tells_every_action_and_binding_of_both_maps() -> None:
    lines = keys.table().dump().splitlines()[1:]
    assert len(lines) == len(ACTIONS)
    for line, action in zip(lines, ACTIONS, strict=True):
        assert line.split()[0] == action.name and line.endswith(action.words)
        for map in MAPS:
            assert ", ".join(action.bindings(map)) in line


def test_the_keys_of_the_workbench() -> None:
    """The bindings that mechanism modellers know."""
    wanted = {"Delete": "remove", "S": "select", "Shift+S": "deselect", "Ctrl+Escape": "clear_selection",
              "PageUp": "cycle_up", "PageDown": "cycle_down", "Ctrl+H": "dump_keys", "N": "arrows",
              "Shift+W": "add_shape", "Alt+W": "pick_shapes", "Shift+J": "add_joint", "<": "reattach_parent",
              ">": "reattach_child", "T": "make_tree", "C": "make_closure", "R": "root", "G": "ground", "*": "split",
              "/": "merge", "%": "invert", "L": "lock"}  # fmt: skip
    table = keys.table()
    assert {text: action.name for text in wanted if (action := table.find("workbench", text))} == wanted
    assert table.find("workbench", "M") is None  # free for the value of a joint, which sliders and the wheel set


def test_standard_views_have_keys() -> None:
    assert set(VIEWS) <= {action.name for action in ACTIONS}


def test_bindings_are_read_as_people_write_them() -> None:
    assert keys.canonical("shift+ctrl+n") == "Ctrl+Shift+N"
    assert keys.canonical("ctrl+left drag") == "Ctrl+Left drag"
    assert keys.canonical("+") == "+"


@pytest.mark.parametrize("text", ["", "Ctrl", "Hyper+N", "Ctrl++", "F13", "Left swipe", "n n"])
def test_a_binding_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="key binding"):
        keys.canonical(text)


def test_a_user_gets_a_free_key_only() -> None:
    table, called = keys.table(), []
    table.add("ctrl+shift+j", "count", called.append)
    for map in MAPS:
        found = table.find(map, "Ctrl+Shift+J")
        assert found is not None and found.call is not None
        assert ("Added by the user", [("Ctrl+Shift+J", "count")]) in table.help(map)
    with pytest.raises(ModelError, match="taken in the playback map: play or pause"):
        table.add("Space", "mine", called.append)
    with pytest.raises(ModelError, match="taken in the workbench map"):
        table.add("V", "mine", called.append)
    with pytest.raises(ModelError, match="a second one"):
        table.add("Ctrl+Shift+J", "again", called.append)
    assert keys.table().find("playback", "Ctrl+Shift+J") is None, "another window's table was changed"


def test_a_table_that_contradicts_itself_cannot_be_made() -> None:
    one = Action("one", "first", ("A",), ("A",), "Time")
    with pytest.raises(ModelError, match="taken in the playback map: first"):
        KeyTable([one, Action("two", "second", ("A",), ("B",), "Time")])
    with pytest.raises(ModelError, match="taken in the workbench map"):
        KeyTable([Action("one", "first", ("A",), ("B", "B"), "Time")])
    with pytest.raises(ModelError, match="Ctrl\\+Shift\\+N"):
        KeyTable([Action("one", "first", ("Shift+Ctrl+N",), (), "Time")])


def test_what_is_pure_imports_no_window() -> None:
    """State, keys, tree and pointer work where there is neither GL nor a GUI library."""
    rooms = [path for room in ("state", "actions", "picture") for path in (GUI / room).glob("*.py")]
    pure = [path for path in rooms if path.stem != "renderers"]  # which draws what the others say
    assert len(pure) > 30
    for path in (*pure, GUI / "pointer.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        banned = [m for m in found if m.split(".")[0] in ("OpenGL", "glfw", "imgui_bundle") or "viewer.gl" in m]
        assert not banned and not any("gui.widgets" in m or m.endswith(".screen") for m in found), path.name
