"""What is drawn in the view: symbols, overlays, snapshots, and what is under the cursor."""
