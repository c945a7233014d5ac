"""The embedded game: rules, course, state and drawing. Knows nothing of who plays it."""
