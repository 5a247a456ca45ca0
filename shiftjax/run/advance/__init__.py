"""The lanes of an ensemble on their way: table, driver, schedule, singular steps, accuracy."""
