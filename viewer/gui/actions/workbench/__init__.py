"""Actions on a mechanism itself: drawn, changed, posed, pulled, turned."""
