"""Writing what is shown to a file: an animated glTF, or a page that plays in any browser. No GL."""

from __future__ import annotations

from pathlib import Path

from shiftjax.errors import ModelError, one_of
from shiftjax.viewer.export import gltf, web_page
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.recording import new_file

KINDS = (".html", ".glb")


def export(state: WindowState, kind: str, folder: Path | None = None) -> Path | None:
    """Writes the current member, and the ghosts where they are drawn, to a new file; errors become messages.

    Args:
        kind: one of KINDS. folder: where; the working directory if left out.
    """
    one_of("kind of export", kind, KINDS)
    choice, study = state.choice, state.study
    members = [choice.member, *(map(int, drawn(choice.others)) if choice.ghosts_on else ())]
    path: Path | None = None
    try:
        path = new_file(folder or Path.cwd(), kind)
        tracks = {k: study.track(k) for k in members}
        scenes = {k: state.scenes.scene(k) for k in members} | {choice.member: state.scene}
        if kind == ".glb":
            remarks = gltf.write_glb(state.scene, study.time, tracks, path, scenes=scenes)
        else:
            title = study.model.name or study.where
            remarks = web_page.write_html(state.scene, study.time, tracks, path, title, scenes=scenes)
    except (ModelError, OSError) as error:
        if path is not None:
            path.unlink(missing_ok=True)
        state.say(str(error), "export")
        return None
    state.panels.solved("export")
    state.say(" ".join([f"written: {path}", *dict.fromkeys(remarks)]))
    return path
