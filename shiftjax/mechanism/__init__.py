"""The data model of a mechanism: records of names and numbers, the model, paths to every number."""
