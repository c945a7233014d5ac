"""Times of day and kinds of weather, as values. Three families; what is in one is in no other.

Pure; no pixels here. `art/scenery.py` draws the skies, `art/weather.py` what falls and flies.
"""

from __future__ import annotations

from dataclasses import dataclass

from greatwall.game.grades import Color, Rates


@dataclass(frozen=True)
class Sky:
    """The part that stands still. Positions are px of the frame."""

    top: Color = (168, 118, 62)
    low: Color = (196, 220, 240)
    sun: tuple[int, int] = (1290, 268)
    radius: int = 63  # 0 is no sun or moon
    disc: Color = (214, 244, 255)
    glow: Color = (176, 226, 255)
    glow_px: int = 300
    glow_share: float = 0.85
    stars: int = 0
    curtain: Color | None = None  # northern lights


@dataclass(frozen=True)
class Daylight:
    """A time of day: its sky, and what its light does to the scenery and to what is near."""

    sky: Sky = Sky()
    far: Rates = (1.0, 1.0, 1.0)
    near: Rates = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Swarm:
    """What falls or flies in front of everything but the HUD. Speeds are px a tick."""

    shape: str  # streak, flake, leaf, dust, pellet, spark
    count: int
    speed: tuple[float, float]  # of the slowest; the nearest are up to twice as fast
    size: tuple[float, float]  # px
    colors: tuple[Color, ...]
    opacity: float
    sway: float = 0.0  # px to each side
    on_wall: float = 0.35  # share of them that is still there over the wall's face


@dataclass(frozen=True)
class Weather:
    """What the air does: a veil that thickens with distance, banks that drift, a swarm."""

    veil: Color = (208, 210, 206)
    far_share: float = 0.0
    near_share: float = 0.0
    light: Rates = (1.0, 1.0, 1.0)
    bank: float = 0.0  # opacity of drifting banks of mist or dust
    swarm: Swarm | None = None


STANDARD_TIME, STANDARD_WEATHER = "day", "clear"

TRAIN_TIMES: dict[str, Daylight] = {
    "day": Daylight(),
    "dawn": Daylight(
        Sky((150, 112, 104), (150, 188, 252), (1540, 400), 56, (196, 226, 255), (120, 176, 255), 420, 0.9),
        (0.92, 0.9, 1.04),
        (0.9, 0.92, 1.03),
    ),
    "noon": Daylight(
        Sky((214, 140, 58), (244, 230, 206), (980, 96), 50, (240, 252, 255), (238, 246, 255), 240, 0.8),
        (1.05, 1.05, 1.02),
        (1.02, 1.05, 1.07),
    ),
    "dusk": Daylight(
        Sky((98, 52, 70), (72, 124, 236), (430, 430), 70, (140, 206, 255), (70, 140, 255), 460, 0.9),
        (0.74, 0.7, 0.96),
        (0.72, 0.76, 0.98),
    ),
    "night": Daylight(
        Sky((40, 20, 14), (92, 60, 42), (1420, 170), 44, (226, 234, 238), (150, 130, 110), 170, 0.6, 260),
        (0.6, 0.48, 0.4),
        (0.76, 0.66, 0.58),
    ),
}

UNSEEN_TIMES: dict[str, Daylight] = {
    "overcast": Daylight(
        Sky((152, 146, 140), (196, 194, 190), (0, 0), 0, glow_share=0.0),
        (0.86, 0.84, 0.82),
        (0.86, 0.85, 0.84),
    ),
    "eclipse": Daylight(
        Sky((58, 26, 44), (66, 74, 190), (880, 210), 58, (20, 12, 16), (150, 196, 255), 150, 1.0, 70),
        (0.6, 0.52, 0.74),
        (0.68, 0.64, 0.84),
    ),
    "aurora": Daylight(
        Sky((44, 30, 10), (112, 104, 40), (0, 0), 0, glow_share=0.0, stars=320, curtain=(150, 232, 110)),
        (0.62, 0.74, 0.44),
        (0.72, 0.8, 0.6),
    ),
}

TRAIN_WEATHERS: dict[str, Weather] = {
    "clear": Weather(),
    "rain": Weather(
        (168, 164, 158), 0.5, 0.07, (0.88, 0.86, 0.84), 0.0,
        Swarm("streak", 170, (-9.0, 52.0), (26.0, 58.0), ((226, 224, 218), (204, 200, 192)), 0.45),
    ),
    "snow": Weather(
        (226, 222, 218), 0.42, 0.06, (1.0, 0.97, 0.94), 0.0,
        Swarm("flake", 190, (-2.5, 6.5), (3.0, 11.0), ((255, 252, 250), (240, 236, 232)), 0.9, 26.0, 0.25),
    ),
    "fog": Weather((214, 214, 210), 0.78, 0.16, (0.96, 0.96, 0.95), 0.5),
    "leaves": Weather(
        (186, 206, 216), 0.12, 0.0, (0.96, 0.99, 1.03), 0.0,
        Swarm(
            "leaf", 46, (-6.0, 4.5), (12.0, 26.0),
            ((40, 92, 206), (46, 140, 226), (38, 60, 170), (60, 120, 150)), 1.0, 60.0, 0.3,
        ),
    ),
}  # fmt: skip

UNSEEN_WEATHERS: dict[str, Weather] = {
    "sandstorm": Weather(
        (120, 168, 206), 0.72, 0.2, (0.8, 0.95, 1.05), 0.42,
        Swarm("dust", 150, (-46.0, 5.0), (18.0, 60.0), ((150, 196, 226), (118, 162, 198)), 0.5),
    ),
    "fireflies": Weather(
        (120, 124, 96), 0.2, 0.0, (0.86, 0.9, 0.86), 0.0,
        Swarm("spark", 60, (-1.0, -0.8), (7.0, 15.0), ((120, 250, 236), (90, 236, 190)), 1.0, 70.0, 0.2),
    ),
    "hail": Weather(
        (150, 148, 144), 0.46, 0.05, (0.84, 0.83, 0.82), 0.0,
        Swarm("pellet", 150, (-5.0, 34.0), (4.0, 9.0), ((246, 244, 240), (214, 212, 206)), 0.95, 0.0, 0.3),
    ),
    "embers": Weather(
        (70, 84, 120), 0.45, 0.08, (0.76, 0.8, 0.98), 0.25,
        Swarm("spark", 90, (-4.0, -5.0), (4.0, 9.0), ((60, 150, 255), (90, 200, 255)), 1.0, 30.0, 0.25),
    ),
}  # fmt: skip

VALID_TIMES: dict[str, Daylight] = {
    "gloaming": Daylight(
        Sky((92, 60, 84), (150, 120, 176), (0, 0), 0, glow_share=0.0, stars=60),
        (0.7, 0.58, 0.66),
        (0.78, 0.68, 0.74),
    ),
    "thunder": Daylight(
        Sky((62, 58, 50), (104, 118, 112), (0, 0), 0, glow_share=0.0),
        (0.54, 0.56, 0.52),
        (0.66, 0.68, 0.64),
    ),
    "midnight_sun": Daylight(
        Sky((176, 130, 150), (120, 196, 246), (300, 500), 84, (150, 220, 255), (110, 170, 255), 520, 0.8),
        (0.7, 0.86, 1.1),
        (0.74, 0.88, 1.06),
    ),
}

VALID_WEATHERS: dict[str, Weather] = {
    "ash": Weather(
        (96, 98, 104), 0.7, 0.19, (0.8, 0.82, 0.86), 0.4,
        Swarm("flake", 170, (-7.0, 3.5), (3.0, 8.0), ((150, 152, 158), (74, 76, 82)), 0.8, 18.0, 0.25),
    ),
    "downpour": Weather(
        (146, 150, 136), 0.6, 0.13, (0.8, 0.84, 0.8), 0.3,
        Swarm("streak", 190, (16.0, 60.0), (30.0, 70.0), ((200, 206, 190), (170, 178, 160)), 0.5),
    ),
    "petals": Weather(
        (196, 180, 206), 0.24, 0.03, (0.98, 0.92, 1.0), 0.0,
        Swarm("leaf", 80, (-11.0, 3.0), (7.0, 15.0), ((196, 170, 246), (222, 206, 250)), 1.0, 40.0, 0.3),
    ),
    "soot": Weather(
        (60, 66, 74), 0.5, 0.15, (0.86, 0.88, 0.92), 0.3,
        Swarm("pellet", 110, (-22.0, 9.0), (3.0, 8.0), ((30, 32, 36), (52, 54, 60)), 0.85, 10.0, 0.3),
    ),
}  # fmt: skip

TIMES = TRAIN_TIMES | VALID_TIMES | UNSEEN_TIMES
WEATHERS = TRAIN_WEATHERS | VALID_WEATHERS | UNSEEN_WEATHERS
