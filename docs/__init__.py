"""The documentation: pages as Markdown and notebooks, which the wheel carries, and what makes HTML of them."""
