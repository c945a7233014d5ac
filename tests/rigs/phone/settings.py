"""What a stand-in phone is like: a frozen value, made by hand or from the command line."""

from __future__ import annotations

from dataclasses import dataclass

GAME_PACKAGE = "org.greatwallrun.game"
GAME_ACTIVITY = ".GameActivity"


@dataclass(frozen=True)
class PhoneSettings:
    """One phone. Sizes are those of the screen held sideways, as the game is played."""

    port: int = 0  # TCP on 127.0.0.1; 0 takes a free one. adb doubles 5555-5585 as emulators
    width: int = 1280  # px
    height: int = 720  # px
    seed: int = 0  # of the game, the touch delays and the faults
    touch_delay_s: tuple[float, float] = (0.3, 0.5)  # finger down to effect; never before it lifts
    variants: tuple[str, ...] = ()  # of the course, as everywhere in the project
    look: str = "standard"  # how the game is drawn
    playing: bool = False  # begin in a live run instead of on the title page
    time_code: bool = False  # draw the time of every frame along its upper edge
    input_s: float = 0.0  # what the `input` program costs before it touches; real ones 0.2 to 0.7
    screencap_s: float = 0.0  # what `screencap` costs before it looks
    server_start_s: float = 0.15  # scrcpy's server listens only after its Java has started
    shell_v2: bool = True  # phones before Android 7 lack it
    sdk: int = 34  # Android's; below 28 a raw screencap has a header of 12 bytes instead of 16
    release: str = "14"
    model: str = "Stand-in"
    manufacturer: str = "GreatWallRun"

    def __post_init__(self) -> None:
        if not (320 <= self.width <= 4096 and 180 <= self.height <= self.width):
            raise ValueError(
                f"expected a screen held sideways of 320x180 to 4096 px, found {self.width}x{self.height}"
            )
        low, high = self.touch_delay_s
        if not 0 <= low <= high <= 5:
            raise ValueError(f"expected touch delays with 0 <= low <= high <= 5 s, found {low}, {high}")
        if not (self.port == 0 or 1024 <= self.port <= 65535) or 5554 <= self.port <= 5585:
            raise ValueError(
                f"expected a port from 1024 to 65535 that is not one of 5554-5585, found {self.port}; "
                "adb takes those for emulators"
            )
