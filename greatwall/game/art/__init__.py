"""The game's pictures, all drawn by our own code once, when a `Painter` is made."""
