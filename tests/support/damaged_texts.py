"""Texts with parts cut out, doubled and exchanged: what a reader is to survive, whatever the format."""

import re

import numpy as np


def damaged(text: str, seed: int) -> str:
    """One to three damages of a text of tags and quoted values."""
    draw = np.random.default_rng(seed)
    words = re.split(r"(?<=[ ><\"])", text)
    for _ in range(int(draw.integers(1, 4))):
        k, n = int(draw.integers(0, len(words))), int(draw.integers(1, 4))
        words[k : k + n] = [[], words[k : k + n] * 2, [str(draw.choice(words))]][int(draw.integers(0, 3))]
    return "".join(words)
