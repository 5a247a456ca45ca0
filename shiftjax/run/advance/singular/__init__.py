"""Steps at singular poses: moved off them, across them, or ended at them."""
