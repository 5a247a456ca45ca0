"""From a model to a scene: shapes, materials, lights, camera. NumPy only."""
