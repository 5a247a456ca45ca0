"""Writing what is shown to a file: an animated glTF or COLLADA file, or a page that plays in any browser. No GL."""

from __future__ import annotations

from pathlib import Path

from shiftjax.errors import ModelError, one_of
from shiftjax.viewer.export import collada, gltf, web_page
from shiftjax.viewer.export.page_writing import PageWriting
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.recording import new_file
from shiftjax.viewer.study.study import ViewedStudy

KINDS = (".html", ".glb", ".dae")


def label(state: WindowState, kind: str) -> str:
    """What the menu calls an export: what it does now."""
    return "Cancel the page" if kind == ".html" and state.awaited.work is not None else kind[1:].upper()


def export(state: WindowState, kind: str, folder: Path | None = None) -> Path | None:
    """Writes the current member, and the ghosts where they are drawn, to a new file; errors become messages.

    The page of a stored study has the numbers of all its members, as that of `shiftjax export --html`, and without
    ghosts the motions of those kept. A thread writes it, which the status bar tells of; asked for again meanwhile, it
    is cancelled.

    Args:
        kind: one of KINDS. folder: where; the working directory if left out.

    Returns:
        the file, which a thread may still be writing; None where there is none.
    """
    one_of("kind of export", kind, KINDS)
    choice, study = state.choice, state.study
    others = [*map(int, drawn(choice.others))] if choice.ghosts_on else []
    path: Path | None = None
    try:
        if kind == ".html" and isinstance(study, ViewedStudy) and study.lacking.resimulation is not None:
            return _write_page(state, study, others, folder or Path.cwd())
        path = new_file(folder or Path.cwd(), kind)
        tracks = {k: study.track(k) for k in (choice.member, *others)}
        scenes = {k: state.scenes.scene(k) for k in tracks} | {choice.member: state.scene}
        if kind == ".glb":
            remarks = gltf.write_glb(state.scene, study.time, tracks, path, scenes=scenes)
        elif kind == ".dae":
            # what is on the workbench has locks and goals, and stands elsewhere than where its history began
            model = state.hand.model if state.hand is not None else study.model_of(choice.member)
            remarks = collada.write_dae(state.scene, study.time, tracks, path, model, scenes=scenes)
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


def _write_page(state: WindowState, study: ViewedStudy, others: list[int], folder: Path) -> Path | None:
    """Has a thread write the page of a stored study, or ends that."""
    if state.awaited.work is not None:
        state.awaited.work.cancel()
        return None
    member, path = state.choice.member, new_file(folder, ".html")
    state.awaited.work = PageWriting(study, member, [k for k in others if k != member], state.scene, path)
    state.awaited.text = state.awaited.work.text
    state.panels.solved("export")
    return path
