"""Changes of a mechanism as values: `Editor`, which keeps where bodies stand and can take everything back."""
