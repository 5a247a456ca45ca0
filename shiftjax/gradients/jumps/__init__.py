"""Where forces jump, and what the shift of such an instant adds to a derivative."""
