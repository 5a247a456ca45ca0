"""Fonts of the panes: one of the GUI library with Latin, Greek and Cyrillic, and one of the system for more.

The library rasterizes a glyph when it is first drawn, so a font of all Chinese characters costs nothing until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import imgui_bundle

from shiftjax.viewer.gui.widgets.bundle import imgui

OWN = Path(imgui_bundle.__file__).parent / "assets" / "fonts" / "DroidSans.ttf"
SYSTEM = tuple(map(Path, (  # fonts with Chinese, Japanese and Korean; the first one found is used
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/System/Library/Fonts/PingFang.ttc",
    "/System/Library/Fonts/Hiragino Sans GB.ttc",
    "C:/Windows/Fonts/msyh.ttc",
)))  # fmt: skip
SIZE = 15.0  # points


def load(system: Sequence[Path] = SYSTEM) -> imgui.ImFont:
    """Loads the font of the current GUI context; the default of the library where the bundle has none."""
    fonts = imgui.get_io().fonts
    font = fonts.add_font_from_file_ttf(str(OWN), SIZE) if OWN.is_file() else fonts.add_font_default()
    more = next((path for path in system if path.is_file()), None)
    if more is not None:
        merged = imgui.ImFontConfig()
        merged.merge_mode = True
        fonts.add_font_from_file_ttf(str(more), SIZE, merged)
    return font


def missing(font: imgui.ImFont, texts: Iterable[str]) -> str:
    """A message on characters of texts that the font lacks; "" if it has all."""
    letters = sorted({letter for text in texts for letter in text if letter.isprintable()})
    lacking = [letter for letter in letters if not font.is_glyph_in_font(ord(letter))]
    if not lacking:
        return ""
    codes = " ".join(f"U+{ord(letter):04X}" for letter in lacking[:8]) + (" ..." if len(lacking) > 8 else "")
    return f"{len(lacking)} letters have no font here and show as a mark: {codes}. Install one, as Noto Sans CJK."
