"""What is measured about a run: scores, timing, detections. Pure functions on the caller's thread."""
