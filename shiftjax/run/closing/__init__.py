"""Poses at which the loops of a mechanism close: residuals of many members on the host, and what makes them vanish."""
