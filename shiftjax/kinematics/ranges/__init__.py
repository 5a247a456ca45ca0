"""How far joints can go: travels, their metrics, margins of turning."""
