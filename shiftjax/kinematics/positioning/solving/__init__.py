"""The damped solver of levels: what must not change, steps within it, when it ends."""
