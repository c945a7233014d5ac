"""Frames with exact boxes, data sets, detector training."""
