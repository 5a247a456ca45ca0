"""What a mechanism is made of: records of names and numbers, the model they make up, paths to every number."""
