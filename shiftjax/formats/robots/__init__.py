"""Other formats of robots as documents of the Shift format: what their readers share."""
