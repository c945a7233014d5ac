"""A phone behind adb: a link, a way to look at its screen and a way to touch it; any of each go together."""
