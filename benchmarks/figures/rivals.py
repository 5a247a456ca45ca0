"""The table of other codes of docs/benchmarks.md, from the newest race in benchmarks/results."""

from __future__ import annotations

from itertools import groupby

from figures.newest import ROOT, filled, markdown, newest

from shiftjax.bench.tables import rate, small

PAGE = ROOT / "docs" / "benchmarks.md"
HEAD = ("code", "setting", "what it is", "steps/cpu-s", "we are faster by", "gap [m]", "energy error", "off by [rad]")


def with_rivals(page: str) -> str:
    """The page with its tables made anew between their marks, one for each span."""
    file, lines = newest("rivals")
    parts = []
    for span, run in groupby(lines, lambda line: line["span"]):
        shown = [*run]
        rows = [
            (
                f"{line['code']} {line['version']}".strip(), line["setting"], line["words"],
                rate(line["steps_per_cpu_s"]), rate(line["times_cpu"]), small(line["gap"]),
                small(line["energy_error"]), small(line["difference"]) if "difference" in line else "",
            )
            for line in shown
            if "skipped" not in line
        ]  # fmt: skip
        without = [line for line in shown if "skipped" in line]
        reasons = "; ".join(f"{line['code']} {line['setting']}".strip() + f": {line['skipped']}" for line in without)
        first = shown[0]
        about = f"`{first['model']}`, {span:g} s in steps of {first['step']:g} s, {first['cpu']}"
        parts.append(f"{markdown(HEAD, rows)}\n\n{about}." + (f" Left out: {reasons}." if reasons else ""))
    return filled(page, {"rivals": "\n\n".join(parts) + f"\n\nFile: `{file}`."})


def rivals() -> None:
    PAGE.write_text(with_rivals(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


PICTURES = (rivals,)
