"""Every setting: one frozen dataclass per room, composed in `Config`.

Importing this reads no file, no variable and no hardware. Numbers come from the user's specification
unless a reason stands beside them. Coordinates are px of a 1920x1080 frame; they are scaled to the
device's real size in one place (the Worker).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

TICK_HZ = 30  # the game's clock
SEED_END = 2**32  # numpy's and torch's generators take seeds below it

# The user's own names, kept as they are; `GREAT_WALL` below is built from them.
SHOOT_OFFSET = 300  # px from the horse's centre to the end of the swipe
DISTANCE_SWITCH = 240  # px; an enemy's centre farther than this is aimed above
SHOOT_Y_OFFSET = -50  # px added to the end point's y then, because the arrow drops
GROUND_COLORS = ((96, 122, 150), (72, 94, 120))  # BGR: brick face and mortar at the scanned row


def _check(ok: bool, where: str, expected: str, found: object) -> None:
    if not ok:
        raise ValueError(f"{where}: expected {expected}, found {found!r}; change the setting")


@dataclass(frozen=True)
class HudField:
    """One HUD value: where it is drawn and what it may plausibly be."""

    box: tuple[int, int, int, int]  # x, y, w, h px of the digits alone, with a margin
    low: int
    high: int
    max_rise_per_s: float  # a larger rise between two reads must be read twice; 0: any rise must
    may_fall: bool  # coins and distance only rise within a run


@dataclass(frozen=True)
class RestartTap:
    """One tap of the restart procedure and the seconds to wait after it."""

    x: int
    y: int
    wait_s: float


@dataclass(frozen=True)
class GameProfile:
    """All facts of one game as its player sees and touches it. Another game is another value."""

    name: str
    frame_size: tuple[int, int]  # px, the size all coordinates here belong to
    classes: tuple[str, ...]  # detector classes, in the order of their ids
    roles: tuple[tuple[str, str], ...]  # class -> rider, danger, enemy, soul, coin
    rider_box: tuple[int, int, int, int]  # x, y, w, h px on the ground; used until it is seen
    rider_x_fixed: bool  # an auto-runner's rider does not move sideways: its x may be smoothed
    play_band: tuple[int, int]  # y1, y2 px: objects live here, the detector looks only here
    ground_colors: tuple[tuple[int, int, int], ...]  # BGR
    ground_tolerance: int  # per channel
    ground_row_from_bottom: int  # px; the scanned row is height minus this
    terrain_step_px: int
    gap_min_px: int  # a shorter run of missing ground is noise
    cliff_ahead_px: int  # the cliff flag rises when a gap starts this close to the rider's x2
    jump_tap: tuple[int, int]
    jump_cooldown_s: float  # from finger down
    swipe_ms: int
    shoot_offset_px: int
    distance_switch_px: int
    shoot_y_offset_px: int
    shoot_cooldown_s: float
    hud: tuple[tuple[str, HudField], ...]
    restart: tuple[RestartTap, ...]


GREAT_WALL = GameProfile(
    name="Great Wall Run",
    frame_size=(1920, 1080),
    classes=("horse", "obstacle", "enemy", "soul", "coin"),
    roles=(
        ("horse", "rider"),
        ("obstacle", "danger"),
        ("enemy", "enemy"),
        ("soul", "soul"),
        ("coin", "coin"),
    ),
    rider_box=(180, 730, 130, 150),
    rider_x_fixed=True,
    play_band=(352, 928),
    ground_colors=GROUND_COLORS,
    ground_tolerance=18,
    ground_row_from_bottom=15,
    terrain_step_px=3,
    gap_min_px=30,
    cliff_ahead_px=200,
    jump_tap=(300, 300),
    jump_cooldown_s=0.5,
    swipe_ms=100,
    shoot_offset_px=SHOOT_OFFSET,
    distance_switch_px=DISTANCE_SWITCH,
    shoot_y_offset_px=SHOOT_Y_OFFSET,
    shoot_cooldown_s=0.6,
    hud=(
        ("lives", HudField((130, 34, 110, 76), 0, 10, 0.0, True)),
        ("arrows", HudField((400, 34, 130, 76), 0, 99, 10.0, True)),
        ("coins", HudField((690, 34, 160, 76), 0, 9_999, 13.0, False)),
        ("distance", HudField((1560, 34, 240, 76), 0, 99_999, 60.0, False)),
    ),
    restart=(RestartTap(300, 300, 3.0), RestartTap(960, 1000, 2.0)),
)


@dataclass(frozen=True)
class CourseConfig:
    """The embedded game's rules and balance (SPEC 9): the standard course. Any change is a variant."""

    px_per_m: float = 20.0
    start_speed_m_s: float = 20.0
    speed_gain_per_m: float = 0.002  # m/s for each m: 2 m/s for every 1,000 m, without end
    ground_y: int = 880  # px of the frame; everything below is wall down to the lower edge
    rider_x: int = 180
    rider_w: int = 130
    rider_h: int = 150
    jump_speed_px_s: float = 1250.0  # with the gravity below: 0.90 s and 281 px
    gravity_px_s2: float = 2780.0
    inset_side_px: int = 25  # hit boxes are smaller than pictures
    inset_top_px: int = 15
    lives: int = 3
    arrows: int = 20
    arrows_max: int = 99
    invulnerable_s: float = 1.2
    rescue_speed_px_s: float = 900.0  # after a fall: lifted and set down on the far side
    obstacle_w_px: tuple[float, float] = (60.0, 110.0)
    obstacle_h_px: tuple[float, float] = (70.0, 120.0)
    enemy_w_px: float = 86.0
    enemy_h_px: float = 160.0
    enemy_speed_px_s: float = 60.0
    gap_w_px: tuple[float, float] = (140.0, 230.0)
    coin_px: float = 44.0
    coin_pitch_px: float = 60.0
    coins_in_row: tuple[int, int] = (2, 4)
    coin_low_px: float = 20.0  # height of a row above the ground, low and overhead
    coin_high_px: tuple[float, float] = (130.0, 240.0)
    soul_px: float = 60.0
    soul_height_px: tuple[float, float] = (60.0, 220.0)
    soul_arrows: int = 3
    arrow_speed_px_s: float = 1500.0
    arrow_gravity_px_s2: float = 600.0  # level shots hit to about 750 px, raised ones to 1,500
    feature_spacing_px: tuple[float, float] = (700.0, 1700.0)
    spacing_growth_max: float = 1.5
    close_follow_chance: float = 0.2  # one in five is closely followed by one of another kind
    close_follow_px: tuple[float, float] = (260.0, 420.0)
    # obstacle, enemy, gap, soul, coin row: about 15, 7, 2, 3 and 20 coins in 2,000 m
    feature_weights: tuple[float, float, float, float, float] = (0.48, 0.2, 0.06, 0.08, 0.18)
    loading_s: float = 1.0  # between the play-again tap and the new run

    def __post_init__(self) -> None:
        _check(self.lives >= 1, "course.lives", "1 or more", self.lives)
        _check(
            len(self.feature_weights) == 5 and min(self.feature_weights) >= 0 < sum(self.feature_weights),
            "course.feature_weights",
            "five weights of 0 or more, not all 0",
            self.feature_weights,
        )


Seconds = tuple[float, float]  # a uniform distribution: low, high


@dataclass(frozen=True)
class DelayConfig:
    """What lies between the eye and the hand, as uniform distributions in s, in whole ticks.

    They belong to the game's clock and hold for both eyes. On the wall clock capture and HUD
    reading take the time they really take; the touch delays stay, being the phone's.
    """

    capture_to_perceived_s: Seconds = (2 / 30, 2 / 30)
    decision_to_touch_s: Seconds = (0.0, 0.0)  # a host's touch call costs 1-6 ms: under a tick
    touch_to_effect_s: Seconds = (0.3, 0.5)  # the user's measurement on a phone
    hud_read_s: Seconds = (1 / 30, 3 / 30)

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):
            low, high = getattr(self, one.name)
            _check(0 <= low <= high <= 2, f"delays.{one.name}", "0 <= low <= high <= 2 s", (low, high))


def to_ticks(seconds: float) -> int:
    """Seconds as whole ticks of the game's clock, rounded to the nearest."""
    return round(seconds * TICK_HZ)


@dataclass(frozen=True)
class EyesConfig:
    """Perception settings."""

    kind: Literal["vision", "truth"] = "vision"
    weights: str = ""  # detector file; empty is the one committed in models/
    runtime: Literal["auto", "gpu", "openvino", "onnx"] = "auto"  # auto: the fastest that is present
    confidence: float = 0.35
    iou: float = 0.5  # overlap above which two boxes of a class are one
    threads: int = 1  # the detector's; two cores also carry capture and OCR
    hud_engine: Literal["auto", "tesserocr", "pytesseract"] = "auto"

    def __post_init__(self) -> None:
        _check(0 < self.confidence < 1, "eyes.confidence", "a number between 0 and 1", self.confidence)


@dataclass(frozen=True)
class WorkerConfig:
    """Rates and limits of the Worker."""

    clock: Literal["wall", "game"] = "game"
    grab_hz: float = 30.0
    decision_hz: float = 10.0  # one that divides 30: perception falls on whole ticks
    hud_period_s: float = 0.3
    step_grace_s: float = 2.0  # step() waits at most this beyond the action's cooldown
    frames_stopped_s: float = 1.5  # no new frame for this long is an interruption
    stall_s: float = 2.0  # the distance not moving for this long is death
    stall_reads: int = 3
    restart_wait_s: float = 1.0  # before the first distance sample of the restart
    restart_compare_s: float = 2.0  # between the two samples
    restart_tries: int = 3
    thread_restarts: int = 3  # a stage that fails more often ends the run with its own traceback
    windows: bool = False

    def __post_init__(self) -> None:
        _check(
            0 < self.decision_hz <= TICK_HZ and (TICK_HZ / self.decision_hz).is_integer(),
            "worker.decision_hz",
            "a rate that divides 30 (30, 15, 10, 7.5, 6, 5, ...)",
            self.decision_hz,
        )
        _check(self.restart_tries >= 1, "worker.restart_tries", "1 or more", self.restart_tries)
        _check(1 <= self.grab_hz <= 240, "worker.grab_hz", "1 to 240", self.grab_hz)
        _check(self.hud_period_s > 0, "worker.hud_period_s", "more than 0 s", self.hud_period_s)

    @property
    def decision_ticks(self) -> int:
        """Ticks of the game's clock between two decisions."""
        return round(TICK_HZ / self.decision_hz)


@dataclass(frozen=True)
class RewardConfig:
    """The eight terms (SPEC 5) and the two switches that close the user's two holes."""

    step: float = -0.005  # P1
    per_m: float = 0.1  # R1
    max_m: int = 50  # a larger change of distance in one step is an OCR lie
    per_coin: float = 1.0  # R2
    max_coins: int = 10
    obstacle: float = 2.0  # R3
    cliff: float = 20.0  # R4
    wasted_shot: float = -0.3  # P2
    ignored_enemy: float = -0.8  # P3
    death: float = -50.0  # P4
    enemy_px: float = 300.0  # P2, P3: an enemy this near is to be shot
    passing_waits_for_hud: bool = True  # pay R3, R4 only after a HUD read that shows no life lost
    no_arrows_no_duty: bool = True  # P3 does not apply without arrows


@dataclass(frozen=True)
class ScreenConfig:
    """How the embedded game's screen looks and reaches the eyes; the rules do not change with it."""

    look: str = "standard"  # a named look, train:N, valid:N or unseen:N (greatwall/game/looks.py)
    size: tuple[int, int] = (1920, 1080)  # px, width and height of the frames
    compress: Literal["none", "jpeg", "h264"] = "none"  # artefacts as a phone's stream has them

    def __post_init__(self) -> None:
        width, height = self.size
        _check(
            320 <= width <= 7680 and 180 <= height <= 4320, "screen.size", "320x180 to 7680x4320", self.size
        )


@dataclass(frozen=True)
class FaultConfig:
    """Faults of perception, made on purpose and seeded; all 0 is none. Shares are chances a look."""

    miss: float = 0.0  # an object is not found
    mislabel: float = 0.0  # an object is found as another class
    jitter: float = 0.0  # px, standard deviation of each edge
    stale: float = 0.0  # the last sight is given again
    hud: float = 0.0  # a field is misread as a valid number
    drop: float = 0.0  # a frame never arrives
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("miss", "mislabel", "stale", "hud", "drop"):
            value = getattr(self, name)
            _check(0 <= value <= 1, f"faults.{name}", "a share from 0 to 1", value)
        _check(0 <= self.jitter <= 200, "faults.jitter", "0 to 200 px", self.jitter)
        _check(0 <= self.seed < SEED_END, "faults.seed", f"0 to {SEED_END - 1}", self.seed)


@dataclass(frozen=True)
class PhoneConfig:
    """Which phone is played on, and how its screen is looked at and touched."""

    serial: str = ""  # as adb lists it; empty is the only phone there is
    adb_port: int = 0  # of adb's server; 0 is ANDROID_ADB_SERVER_PORT, or else 5037
    capture: Literal["auto", "scrcpy", "screenrecord", "raw", "png"] = "auto"  # auto: the best, as measured
    touch: Literal["auto", "scrcpy", "shell", "adb"] = "auto"
    max_size: int = 1280  # px, the longer side of the video; 0 is the screen's own
    bit_rate: int = 8_000_000  # bit/s; less blurs the ground's edge
    max_fps: int = 60  # of captures; the Worker looks 30 times a second, and a newer frame is a younger one
    package: str = ""  # the game's app, as in com.example.game; empty is the one in front at the start
    activity: str = ""  # of it, as in .MainActivity; empty is the one its icon starts
    give_up_s: float = 300.0  # a phone that is not back after this ends the program, which saves first
    back_off_s: tuple[float, float] = (
        0.5,
        15.0,
    )  # between tries to reconnect, growing by half
    back_tries: int = 2  # Back presses, then starts of the game, to be rid of what is in front of it
    launch_tries: int = 2
    settle_s: float = 1.5  # an app takes this long to come or go
    foreground_poll_s: float = 2.0  # what is in front is asked this often; the phone works 0.1 s for it
    foreground_age_s: float = 6.0  # an older answer is none, and without one nothing is touched
    relaunch_every: int = 0  # episodes after which the game is started afresh, between two; 0 is never

    def __post_init__(self) -> None:
        _check(0 <= self.adb_port < 65_536, "phone.adb_port", "0 to 65535", self.adb_port)
        _check(
            self.max_size == 0 or 320 <= self.max_size <= 7680,
            "phone.max_size",
            "0 or 320 to 7680",
            self.max_size,
        )
        _check(
            100_000 <= self.bit_rate <= 200_000_000, "phone.bit_rate", "100,000 to 200,000,000", self.bit_rate
        )
        _check(1 <= self.max_fps <= 240, "phone.max_fps", "1 to 240", self.max_fps)
        for name in ("package", "activity"):
            value = getattr(self, name)
            plain = all(one.isascii() and (one.isalnum() or one in "._$") for one in value)
            _check(plain, f"phone.{name}", "letters, digits, dots and _, as in com.example.game", value)
        _check(self.give_up_s > 0, "phone.give_up_s", "more than 0 s", self.give_up_s)
        first, last = self.back_off_s
        _check(0 < first <= last, "phone.back_off_s", "0 < first <= last", self.back_off_s)
        for name in ("back_tries", "launch_tries", "relaunch_every"):
            _check(getattr(self, name) >= 0, f"phone.{name}", "0 or more", getattr(self, name))
        _check(
            0 < self.foreground_poll_s < self.foreground_age_s,
            "phone.foreground_poll_s",
            f"more than 0 s and less than foreground_age_s ({self.foreground_age_s:g} s)",
            self.foreground_poll_s,
        )


EXTRA_GROUPS = ("touches", "motion", "ahead", "recall")  # greatwall/extras.py says what each holds


@dataclass(frozen=True)
class EnvConfig:
    """Limits of an episode, 0 is no limit; and what the observation holds beside the 207 numbers."""

    max_distance_m: int = 0
    max_seconds: float = 0.0
    extras: tuple[str, ...] = ()  # groups of numbers appended after the 207, in this order

    def __post_init__(self) -> None:
        _check(self.max_distance_m >= 0, "env.max_distance_m", "0 or more", self.max_distance_m)
        _check(self.max_seconds >= 0, "env.max_seconds", "0 or more", self.max_seconds)
        _check(
            set(self.extras) <= set(EXTRA_GROUPS) and len(set(self.extras)) == len(self.extras),
            "env.extras",
            f"some of {', '.join(EXTRA_GROUPS)}, each once",
            self.extras,
        )


@dataclass(frozen=True)
class Config:
    """Everything that decides how the system behaves; saved with each run."""

    profile: GameProfile = GREAT_WALL
    course: CourseConfig = field(default_factory=CourseConfig)
    delays: DelayConfig = field(default_factory=DelayConfig)
    eyes: EyesConfig = field(default_factory=EyesConfig)
    worker: WorkerConfig = field(default_factory=WorkerConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    screen: ScreenConfig = field(default_factory=ScreenConfig)
    faults: FaultConfig = field(default_factory=FaultConfig)
    phone: PhoneConfig = field(default_factory=PhoneConfig)
    device: str = "simulator"
    source: str = ""  # the file a recorded device plays
    seed: int = 0
    variants: tuple[str, ...] = ()
    randomise: float = 0.0  # strength of the faults and delays drawn for each training episode; 0 is none
    like_device: str = ""  # the phone whose measured delays `delays` are; empty: they are the usual ones

    def __post_init__(self) -> None:
        _check(0 <= self.seed < SEED_END, "seed", f"0 to {SEED_END - 1}", self.seed)
        _check(0 <= self.randomise <= 5, "randomise", "0 to 5", self.randomise)

    def resolved(self) -> dict[str, Any]:
        """All settings as JSON-able values, in a fixed order."""
        return json.loads(json.dumps(dataclasses.asdict(self)))  # type: ignore[no-any-return]


def replace_in(config: Config, room: str, **changes: Any) -> Config:
    """`config` with some fields of one room changed: `replace_in(config, "eyes", kind="truth")`."""
    return dataclasses.replace(config, **{room: dataclasses.replace(getattr(config, room), **changes)})


def _low_delay(config: Config) -> Config:
    return replace_in(config, "delays", touch_to_effect_s=(0.05, 0.08))


def _one_life(config: Config) -> Config:
    return replace_in(config, "course", lives=1)


def _no_enemies(config: Config) -> Config:
    obstacle, _, gap, soul, coin = config.course.feature_weights
    return replace_in(config, "course", feature_weights=(obstacle, 0.0, gap, soul, coin))


def _no_delay(config: Config) -> Config:
    nothing = (0.0, 0.0)
    return replace_in(
        config,
        "delays",
        capture_to_perceived_s=nothing,
        decision_to_touch_s=nothing,
        touch_to_effect_s=nothing,
        hud_read_s=nothing,
    )


VARIANTS: dict[str, tuple[str, Callable[[Config], Config]]] = {
    "low_delay": ("touches take 50-80 ms, as through a resident touch agent", _low_delay),
    "one_life": ("one life instead of three", _one_life),
    "no_enemies": ("no enemies on the course", _no_enemies),
    "no_delay": ("no delay anywhere", _no_delay),
}


def with_variants(config: Config, names: tuple[str, ...]) -> Config:
    """`config` changed by each named variant, in order; raises ValueError for an unknown name."""
    for name in names:
        _check(name in VARIANTS, "variant", f"one of {', '.join(VARIANTS)}", name)
        config = VARIANTS[name][1](config)
    return dataclasses.replace(config, variants=config.variants + names)


def cooldown_s(profile: GameProfile, action: int) -> float:
    """Cooldown of an action, s from finger down (SPEC 4)."""
    return (0.0, profile.jump_cooldown_s, profile.shoot_cooldown_s)[action]
