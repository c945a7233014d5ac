"""Frames of the embedded game for a data set: played by a mix of players, seen by vision beside the truth.

Each part is one player on courses of its own: it depends on the settings, the seed and its number alone.
Who plays sees the standard screen; the frames come from a twin of the game, touched alike, on the screen
that was asked for. So a seed is the same run in every look, size and compression.
Runs on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from config import GameProfile, ScreenConfig, replace_in
from game_env import GreatWallEnv
from greatwall.assembly import build_eyes, build_worker, check_seed, make_config
from greatwall.contracts import Action, Frame, FrameArray, GameObject, Gap, HudRead, Player
from greatwall.data.dataset import Sample, file_hash
from greatwall.data.frames import with_screen
from greatwall.data.visibility import rider_class, visible_boxes
from greatwall.device.simulator import SimulatedDevice
from greatwall.errors import ConfigError
from greatwall.eyes.detector import DEFAULT_WEIGHTS
from greatwall.players import BUILT_IN, make_player

FRAMES_KEPT = 32
DATASET_STREAM = 51  # purpose tag of the generator of moments
FRAMES_PER_PART = 20
COURSES_PER_PART = 16  # course seeds a part may use up, one for each life it starts
PAUSE_STEPS = (1, 6)  # from one frame of a run to the next
UNSEEN_STEPS = (0, 120)  # played before the first frame of a part
JPEG_QUALITY = 95
PLAYERS = ("policy", *BUILT_IN)


def parse_mix(text: str) -> dict[str, float]:
    """`random=0.3,policy=0.7` -> shares of one, sorted by name."""
    shares: dict[str, float] = {}
    for word in text.split(","):
        name, _, number = word.strip().partition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if name not in PLAYERS or name in shares or not 0 <= share < 1e6:
            raise ConfigError(
                f"--mix: expected shares such as random=0.3,policy=0.7 of {', '.join(PLAYERS)}; "
                f"found {word.strip()!r}; change it"
            )
        shares[name] = share
    whole = sum(shares.values())
    if whole <= 0:
        raise ConfigError(f"--mix: expected at least one share above 0, found {text}; raise one")
    return {name: shares[name] / whole for name in sorted(shares)}


def who_plays(shares: Mapping[str, float], parts: int) -> list[str]:
    """A player for each part, so that after every part the shares are met as closely as can be."""
    played = dict.fromkeys(shares, 0)
    found = []
    for number in range(1, parts + 1):
        name = max(shares, key=lambda one: shares[one] * number - played[one])
        played[name] += 1
        found.append(name)
    return found


@dataclass(frozen=True)
class GamePlan:
    """What is asked of the embedded game. `policy` is the file that plays policy's share, else the rule."""

    frames: int
    seed: int = 0
    mix: str = "random=0.3,policy=0.7"
    policy: Path | None = None
    screen: ScreenConfig = field(default_factory=ScreenConfig)
    image: str = "jpg"  # or png
    weights: str = ""  # the detector's that looks at the frames; empty is ours

    def __post_init__(self) -> None:
        if self.frames < 1:
            raise ConfigError(f"--frames: expected 1 or more, found {self.frames}; change the number")
        check_seed(self.seed, self.frames)
        if self.policy is not None and "policy" not in parse_mix(self.mix):
            raise ConfigError("--policy: expected policy in --mix, found none; add policy=1 or leave it out")


class TwinDevice:
    """`contracts.TickedDevice`: a held game, and a twin of it on another screen that is touched alike.

    `shown` holds the twin's newest frames by the id of the game's frame of the same tick.
    """

    def __init__(self, played: SimulatedDevice, twin: SimulatedDevice) -> None:
        self._played, self._twin = played, twin
        self.size = played.size
        self._across, self._down = twin.size[0] / played.size[0], twin.size[1] / played.size[1]
        self.shown: dict[int, Frame] = {}

    @property
    def tick(self) -> int:
        return self._played.tick

    def frame(self) -> Frame:
        frame = self._played.frame()
        if frame.frame_id not in self.shown:
            self.shown[frame.frame_id] = self._twin.frame()
            if len(self.shown) > FRAMES_KEPT:
                del self.shown[min(self.shown)]
        return frame

    def hold(self) -> None:
        self._played.hold()
        self._twin.hold()

    def advance(self, ticks: int) -> None:
        self._played.advance(ticks)
        self._twin.advance(ticks)

    def tap(self, x: float, y: float) -> None:
        self._played.tap(x, y)
        self._twin.tap(x * self._across, y * self._down)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, duration_ms: int) -> None:
        self._played.swipe(x1, y1, x2, y2, duration_ms)
        across, down = self._across, self._down
        self._twin.swipe(x1 * across, y1 * down, x2 * across, y2 * down, duration_ms)

    def pause(self) -> bool:
        return True

    def resume(self) -> None:
        """Held time stands anyway."""

    def new_game(self, seed: int) -> bool:
        self.shown.clear()
        return self._played.new_game(seed) and self._twin.new_game(seed)

    def facts(self) -> Mapping[str, Any]:
        return self._played.facts()

    def get_state(self) -> dict[str, Any]:
        return self._played.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._played.set_state(state)
        self._twin.set_state(state)

    def health(self) -> str:
        return self._played.health()

    def close(self) -> None:
        self._played.close()
        self._twin.close()


class GameSource:
    """`dataset.Source`: the embedded game. Plays through truth, on the game's clock; looks by vision."""

    def __init__(self, plan: GamePlan) -> None:
        self._plan = plan
        self._config = make_config(eyes="truth", seed=plan.seed)
        self._shown = with_screen(self._config, plan.screen)
        self.classes = self._config.profile.classes
        shares = parse_mix(plan.mix)
        self._who = who_plays(shares, len(self.part_sizes()))
        usual = "rule" if plan.policy is None else str(plan.policy)
        self._specs = {name: usual if name == "policy" else name for name in shares}
        self._players: dict[str, Player] = {
            name: make_player(spec, self._config) for name, spec in self._specs.items()
        }
        vision = replace_in(self._shown, "eyes", kind="vision", weights=plan.weights)
        self._eyes = build_eyes(vision)

    def plan(self) -> Mapping[str, Any]:
        plan = self._plan
        policy = "rule" if plan.policy is None else file_hash(plan.policy)
        return {
            "source": "simulator",
            "frames": plan.frames,
            "seed": plan.seed,
            "mix": parse_mix(plan.mix),
            "policy": policy if "policy" in self._specs else None,
            "detector": file_hash(Path(plan.weights) if plan.weights else DEFAULT_WEIGHTS),
            "look": plan.screen.look,
            "size": list(plan.screen.size),
            "compress": plan.screen.compress,
            "image": plan.image,
        }

    def part_sizes(self) -> list[int]:
        whole, rest = divmod(self._plan.frames, FRAMES_PER_PART)
        return [FRAMES_PER_PART] * whole + ([rest] if rest else [])

    def part(self, number: int) -> Iterator[Sample]:
        """Its frames, from a new env: nothing of another part can show here."""
        count = self.part_sizes()[number]
        name = self._who[number]
        player = self._players[name]
        rng = np.random.default_rng([DATASET_STREAM, self._plan.seed, number])
        first_seed = self._plan.seed + number * COURSES_PER_PART
        every_frame = self._plan.screen.compress == "h264"  # a stream shows what came before
        twins = TwinDevice(SimulatedDevice(self._config), SimulatedDevice(self._shown))
        env = GreatWallEnv(self._config, build_worker(self._config, twins))
        course = 0
        due = int(rng.integers(*UNSEEN_STEPS))
        try:
            while count:
                seed = first_seed + course % COURSES_PER_PART
                course += 1
                observation, info = env.reset(seed=seed)
                player.reset(seed)
                done = False
                while count and not done:
                    frame = twins.shown[info["perception"].frame_id]
                    action = player.act(observation, info["perception"])
                    due -= 1
                    if due < 0:
                        due = int(rng.integers(*PAUSE_STEPS)) - 1
                        count -= 1
                        yield self._sample(frame, Action(int(action)), seed, number, name)
                    elif every_frame:
                        _ = frame.bgr
                    observation, _, terminated, truncated, info = env.step(int(action))
                    done = terminated or truncated
        finally:
            env.close()

    def _sample(self, frame: Frame, action: Action, seed: int, part: int, player: str) -> Sample:
        scene = frame.scene
        assert scene is not None
        sight = self._eyes.see(frame)
        width, height = frame.size
        rows = yolo_rows(scene.objects, frame.size, self._config.profile)
        line = {
            "run": part,
            "seed": seed,
            "tick": round(frame.captured_at_s * 30),
            "player": player,
            "action": action.name.lower(),
            "size": [width, height],
            "page": scene.page,
            "truth": {
                "objects": [object_json(one) for one in scene.objects],
                "gaps": gaps_json(scene.gaps),
                "hud": hud_json(scene.hud),
            },
            "seen": {
                "objects": [object_json(one) for one in sight.objects],
                "gaps": gaps_json(sight.ground.gaps),
                "hud": hud_json(self._eyes.read_hud(frame)),
            },
        }
        return Sample(encoded(frame.bgr, self._plan.image), f".{self._plan.image}", rows, line)

    def counts(self, line: Mapping[str, Any]) -> Mapping[str, str]:
        return {
            "players": line["player"],
            "actions": line["action"],
            "pages": line["page"],
            "frames_with_a_gap": "yes" if line["truth"]["gaps"] else "no",
        }

    def close(self) -> None:
        self._eyes.close()


def yolo_rows(
    objects: tuple[GameObject, ...], size: tuple[int, int], profile: GameProfile
) -> tuple[str, ...]:
    """YOLO rows over the whole frame of what can be seen of the objects, by the rule of `visibility`."""
    width, height = size
    rows = []
    for category, x1, y1, x2, y2 in visible_boxes(objects, (0, height), width, rider_class(profile)):
        shares = ((x1 + x2) / 2 / width, (y1 + y2) / 2 / height, (x2 - x1) / width, (y2 - y1) / height)
        rows.append(" ".join([str(profile.classes.index(category)), *(f"{one:.6f}" for one in shares)]))
    return tuple(rows)


def object_json(thing: GameObject) -> dict[str, Any]:
    """px of the frame; `score` is 1 for truth, `id` the game's own or -1."""
    x, y, w, h = (round(float(one), 2) for one in (thing.x, thing.y, thing.w, thing.h))
    return {
        "class": thing.category, "x": x, "y": y, "w": w, "h": h,
        "score": round(float(thing.score), 4), "visible": round(float(thing.visible), 4),
        "id": thing.track_id,
    }  # fmt: skip


def gaps_json(gaps: tuple[Gap, ...]) -> list[list[float]]:
    return [[round(float(gap.x1), 2), round(float(gap.x2), 2)] for gap in gaps]


def hud_json(hud: HudRead | None) -> dict[str, int | None] | None:
    return None if hud is None else hud._asdict()


def encoded(bgr: FrameArray, kind: str) -> bytes:
    """A whole JPEG or PNG file."""
    settings = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if kind == "jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 1]
    ok, data = cv2.imencode(f".{kind}", bgr, settings)
    assert ok
    return data.tobytes()
