"""Detections -> what the decision needs: lists, nearest distances, shoot target, cliff, passings.

Pure: no clock, no thread, no pixels. It remembers only what following one frame to the next needs
(tracks, where the rider was, which hazards are still ahead). Runs on whichever thread perceives, and
belongs to that thread alone. Game truth costs a few microseconds: its objects bring their ids along.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from operator import itemgetter
from statistics import median
from typing import Any, Protocol

from config import GameProfile
from greatwall.contracts import Frame, GameObject, Gap, Ground, Hud, Passing, Perception, Sight

ROLES = ("rider", "danger", "enemy", "soul", "coin")
PASSINGS_KEPT_S = 2.0
RIDER_HISTORY = 31  # detections whose median is the rider's x
RIDER_JUMP_PX = 60.0  # a rider seen farther than this from where it stands is somebody else
MISSES_MAX = 3  # frames a track survives unseen
UNSEEN_MAX_S = 0.6  # and seconds
GATE_MIN_PX = 40.0  # a track takes a box at most this far from where it is expected
GATE_SHARE = 0.6  # or this share of its size, if that is more
SPEED_MAX_PX_S = 1200.0  # of scrolling, while it is still unknown
SLACK_PX = 12.0  # detector noise between two looks at a thing that stands still
BACK_PX = 24.0  # nothing moves right by more than this between two looks: noise, and a shaking camera
VELOCITY_GAIN = 0.5

_by_x = itemgetter(1)
_by_score = itemgetter(5)
_new_object = tuple.__new__
Box = tuple[str, float, float, float, float]  # category, x, y, w, h


class Track:
    """One followed thing: where it was last seen, how fast it moves, how long it is unseen."""

    __slots__ = ("at_s", "category", "h", "id", "misses", "vx", "w", "x", "y")

    def __init__(self, track_id: int, box: Box, vx: float | None, at_s: float) -> None:
        self.id = track_id
        self.category, self.x, self.y, self.w, self.h = box
        self.vx = vx  # px/s; None until anything about the scrolling is known
        self.at_s = at_s
        self.misses = 0


class Tracker:
    """Gives boxes of consecutive frames lasting ids, by category and expected position.

    Greedy over the smallest distances first. A new thing is expected to move as the rest of the
    world does (the median of all tracks). While nothing is known, things are expected to move left,
    all by about as much: by what most of them agree on. benchmarks/trackers.py measures it.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.tracks: list[Track] = []
        self._scroll: float | None = None  # px/s
        self._next_id = 1

    def assign(self, boxes: list[Box], at_s: float) -> list[int]:
        """A track id for each box, in their order; tracks unseen for too long are dropped."""
        if self._scroll is None or self._scroll == 0.0:
            self._agree_on_scroll(boxes, at_s)
        pairs = sorted(
            (distance, i, j)
            for i, box in enumerate(boxes)
            for j, track in enumerate(self.tracks)
            if (distance := self._distance(track, box, at_s)) is not None
        )
        ids = [0] * len(boxes)
        taken: set[int] = set()
        speeds: list[float] = []
        for _, i, j in pairs:
            if ids[i] or j in taken:
                continue
            taken.add(j)
            ids[i] = self.tracks[j].id
            speed = self._follow(self.tracks[j], boxes[i], at_s)
            if speed is not None:
                speeds.append(speed)
        if speeds:
            self._scroll = min(0.0, sorted(speeds)[len(speeds) // 2])  # the world never moves right
        for j, track in enumerate(self.tracks):
            track.misses = 0 if j in taken else track.misses + 1
        self.tracks = [
            track for track in self.tracks if track.misses <= MISSES_MAX and at_s - track.at_s <= UNSEEN_MAX_S
        ]
        for i, box in enumerate(boxes):
            if not ids[i]:
                ids[i] = self._next_id
                self._next_id += 1
                self.tracks.append(Track(ids[i], box, self._scroll, at_s))
        return ids

    def expected_gaps(self, seen: Iterable[int], at_s: float) -> list[Gap]:
        """Gaps that are followed but not among `seen` in this frame, where they should be by now."""
        known = set(seen)
        return [
            Gap(x, x + track.w, track.id)
            for track in self.tracks
            if track.category == "gap"
            and track.id not in known
            and (x := track.x + (track.vx or 0.0) * (at_s - track.at_s)) > -track.w
        ]

    def _agree_on_scroll(self, boxes: list[Box], at_s: float) -> None:
        """Expect of all tracks the speed under which most boxes fall on one; the slowest, if several.

        Coins in a row look alike: by the nearest alone, each would be taken for its neighbour.
        """
        moves: list[tuple[float, float]] = []  # px, px/s; of each pair that may be the same thing
        for category, x, y, _, h in boxes:
            for track in self.tracks:
                elapsed, moved = at_s - track.at_s, x - track.x
                if (
                    category == track.category
                    and elapsed > 0.0
                    and x > SLACK_PX  # a thing that is cut does not show how far it moved
                    and abs(y - track.y) <= max(GATE_MIN_PX, GATE_SHARE * h)
                    and -SPEED_MAX_PX_S * elapsed - SLACK_PX <= moved <= SLACK_PX
                ):
                    moves.append((moved, moved / elapsed))
        agreeing = [sum(abs(moved - other) <= SLACK_PX for other, _ in moves) for moved, _ in moves]
        if agreeing and (most := max(agreeing)) > 1:
            _, speed = max(one for one, n in zip(moves, agreeing, strict=True) if n == most)
            for track in self.tracks:
                track.vx = min(0.0, speed)

    def _distance(self, track: Track, box: Box, at_s: float) -> float | None:
        """How far the box is from where the track should be; None when it cannot be the same thing."""
        category, x, y, w, h = box
        if category != track.category or abs(y - track.y) > max(GATE_MIN_PX, GATE_SHARE * h):
            return None
        elapsed = max(0.0, at_s - track.at_s)
        moved = x - track.x
        if moved > BACK_PX:
            return None
        if track.vx is None:
            if not -SPEED_MAX_PX_S * elapsed - SLACK_PX <= moved <= SLACK_PX:
                return None
            return abs(moved)
        left = track.x + track.vx * elapsed
        off = min(abs(x - left), abs(x + w - left - track.w))  # one edge may be cut by the frame
        return off if off <= max(GATE_MIN_PX, GATE_SHARE * w) else None

    def _follow(self, track: Track, box: Box, at_s: float) -> float | None:
        """Move the track onto the box; its measured speed in px/s, None without elapsed time."""
        _, x, y, w, h = box
        elapsed = at_s - track.at_s
        speed = None
        if elapsed > 0.0:
            cut_left = x <= SLACK_PX  # its left edge stands still, but for noise
            speed = ((x + w - track.x - track.w) if cut_left else (x - track.x)) / elapsed
            track.vx = speed if track.vx is None else track.vx + VELOCITY_GAIN * (speed - track.vx)
        track.x, track.y, track.w, track.h, track.at_s = x, y, w, h, at_s
        return speed


class Tracks(Protocol):
    """What gives boxes of consecutive frames their ids: `Tracker`, or another to compare it with."""

    @property
    def tracks(self) -> Sequence[Any]:
        """Empty where nothing is followed."""

    def reset(self) -> None: ...

    def assign(self, boxes: list[Box], at_s: float) -> list[int]: ...

    def expected_gaps(self, seen: Iterable[int], at_s: float) -> list[Gap]: ...


class RuleEngine:
    """One per Worker: `perceive` each frame in order, `reset` when a run begins.

    Everything is in px of the profile's frame. Serials of passings go on rising over resets.
    """

    def __init__(self, profile: GameProfile, tracker: Tracks | None = None) -> None:
        roles = dict(profile.roles)
        self._role_index = {category: ROLES.index(roles[category]) for category in profile.classes}
        self._size = profile.frame_size
        x, y, w, h = profile.rider_box
        self._rider_box = (x, y, x + w, y + h)
        self._rider_x_fixed = profile.rider_x_fixed
        self._cliff_ahead_px = profile.cliff_ahead_px
        self._shoot_offset_px = profile.shoot_offset_px
        self._distance_switch_px = profile.distance_switch_px
        self._shoot_y_offset_px = profile.shoot_y_offset_px
        self._serial = 0
        self._tracker: Tracks = tracker or Tracker()
        self.reset()

    def reset(self) -> None:
        """Forget the last run."""
        self._tracker.reset()
        self._horse: tuple[float, float, float, float] = self._rider_box
        self._rider_x: deque[tuple[float, float]] = deque(maxlen=RIDER_HISTORY)
        self._seen: dict[int, GameObject] = {}  # the last perception's objects by id
        self._ahead: dict[int, float] = {}  # obstacle id -> when it reached the rider, inf before
        self._gaps_ahead: dict[int, float] = {}
        self._gap_behind: tuple[int, float] | None = None  # passed while the flag was still up
        self._cliff = False
        self._passings: tuple[Passing, ...] = ()
        self._before_s: float | None = None  # capture time of the frame before this one

    def perceive(self, frame: Frame, sight: Sight, hud: Hud, perceived_at_s: float) -> Perception:
        """The snapshot of one frame. Frames come in the order of their capture.

        Either all things in a sight carry ids already (truth) or none does, and they get theirs here.
        """
        at_s = frame.captured_at_s
        before_s = at_s if self._before_s is None else self._before_s
        self._before_s = at_s
        objects, ground = sight
        expected: list[Gap] = []
        if objects:
            untracked = objects[-1][6] < 0
        else:
            untracked = ground.gaps[0][2] < 0 if ground.gaps else bool(self._tracker.tracks)
        if untracked:
            objects, ground, expected = self._track(objects, ground, at_s)
        danger: list[GameObject] = []
        enemies: list[GameObject] = []
        souls: list[GameObject] = []
        coins: list[GameObject] = []
        riders: list[GameObject] = []
        lists = (riders, danger, enemies, souls, coins)
        role_index = self._role_index
        before = self._seen
        seen: dict[int, GameObject] = {}
        for thing in objects:
            category, x, y, w, h, score, track_id, _, _, visible = thing
            role = role_index[category]
            if role and (last := before.get(track_id)) is not None:
                thing = _new_object(
                    GameObject, (category, x, y, w, h, score, track_id, x - last[1], y - last[2], visible)
                )
            seen[track_id] = thing
            lists[role].append(thing)
        self._seen = seen
        for one in lists:
            if len(one) > 1:
                one.sort(key=_by_x)
        horse = self._stand(riders) if riders else self._horse
        x1, _, x2, _ = horse
        if ground.from_x != x2:
            ground = Ground(ground.gaps, x2, ground.width, step_px=ground.step_px)
        if self._passings and at_s - self._passings[0][4] > PASSINGS_KEPT_S:
            self._passings = tuple(one for one in self._passings if at_s - one[4] <= PASSINGS_KEPT_S)
        self._pass_obstacles(danger, x1, x2, before_s, at_s)
        cliff = self._watch_cliff(ground.gaps, expected, x1, x2, before_s, at_s)
        return Perception(
            frame.frame_id,
            at_s,
            perceived_at_s,
            self._size,
            horse,
            tuple(danger),
            tuple(enemies),
            tuple(souls),
            tuple(coins),
            _nearest(danger, x1, x2),
            _nearest(enemies, x1, x2),
            _nearest(souls, x1, x2),
            _nearest(coins, x1, x2),
            self._aim(enemies, horse),
            ground,
            cliff,
            self._passings,
            hud,
        )

    def _track(
        self, objects: tuple[GameObject, ...], ground: Ground, at_s: float
    ) -> tuple[tuple[GameObject, ...], Ground, list[Gap]]:
        """Objects and gaps with ids, and the gaps that should be there but were not seen this time."""
        gaps = ground.gaps
        role_index = self._role_index
        riders = [one for one in objects if not role_index[one[0]]]  # they stand while the world moves
        others = [one for one in objects if role_index[one[0]]]
        boxes: list[Box] = [one[:5] for one in others]
        boxes += [("gap", gap.x1, 0.0, gap.x2 - gap.x1, 0.0) for gap in gaps]
        ids = self._tracker.assign(boxes, at_s)
        named = (*riders, *(one._replace(track_id=i) for one, i in zip(others, ids, strict=False)))
        if gaps:
            gaps = tuple(Gap(gap.x1, gap.x2, i) for gap, i in zip(gaps, ids[len(others) :], strict=True))
            ground = Ground(gaps, ground.from_x, ground.width, step_px=ground.step_px)
        return named, ground, self._tracker.expected_gaps(ids, at_s)

    def _stand(self, riders: list[GameObject]) -> tuple[float, float, float, float]:
        """Where the rider is: the best detection, its x steadied when the rider cannot move sideways."""
        stands1, _, stands2, _ = self._horse
        if self._rider_x_fixed:
            far = RIDER_JUMP_PX
            riders = [
                one
                for one in riders
                if abs(one[1] - stands1) <= far and abs(one[1] + one[3] - stands2) <= far
            ]
            if not riders:
                return self._horse
        best = riders[0] if len(riders) == 1 else max(riders, key=_by_score)
        _, x1, y1, w, h = best[:5]
        x2 = x1 + w
        if self._rider_x_fixed and (x1 != stands1 or x2 != stands2):
            self._rider_x.append((x1, x2))
            x1 = median(one[0] for one in self._rider_x)
            x2 = median(one[1] for one in self._rider_x)
        self._horse = (x1, y1, x2, y1 + h)
        return self._horse

    def _pass_obstacles(
        self, danger: list[GameObject], x1: float, x2: float, before_s: float, at_s: float
    ) -> None:
        """Note obstacles that come, that reach the rider, and that are now behind."""
        ahead = self._ahead
        for thing in danger:
            left, track_id = thing[1], thing[6]
            if left + thing[3] > x1:
                met_at_s = ahead.get(track_id)
                if met_at_s is None or (met_at_s == math.inf and left <= x2):
                    ahead[track_id] = before_s if left <= x2 else math.inf
            elif track_id in ahead:
                self._passed("obstacle", track_id, ahead.pop(track_id), before_s, at_s)

    def _watch_cliff(
        self,
        gaps: tuple[Gap, ...],
        expected: list[Gap],
        x1: float,
        x2: float,
        before_s: float,
        at_s: float,
    ) -> bool:
        """The cliff flag; a fall of the flag because a gap went behind is a passing."""
        if not gaps and not self._cliff:
            return False
        cliff = False
        ahead = self._gaps_ahead
        for left, right, track_id in gaps:
            if right > x1:
                met_at_s = ahead.get(track_id)
                if met_at_s is None or (met_at_s == math.inf and left <= x2):
                    ahead[track_id] = before_s if left <= x2 else math.inf
                cliff = cliff or left - x2 <= self._cliff_ahead_px
            elif track_id in ahead:
                self._gap_behind = (track_id, ahead.pop(track_id))
        for left, _, track_id in expected:  # also behind by now: it is paid when it is seen there
            if self._cliff and track_id in ahead and left - x2 <= self._cliff_ahead_px:
                cliff = True
        if self._cliff and not cliff and self._gap_behind is not None:
            self._passed("cliff", *self._gap_behind, before_s, at_s)
        if not cliff:
            self._gap_behind = None
        self._cliff = cliff
        return cliff

    def _passed(self, kind: str, track_id: int, met_at_s: float, before_s: float, at_s: float) -> None:
        self._serial += 1
        if met_at_s == math.inf:  # it was never seen beside the rider
            met_at_s = before_s
        passing = Passing(self._serial, kind, track_id, met_at_s, at_s)
        self._passings = (*self._passings, passing)

    def _aim(
        self, enemies: list[GameObject], horse: tuple[float, float, float, float]
    ) -> tuple[float, float]:
        """End point of the swipe: towards the nearest enemy's centre, higher when it is far (SPEC 4)."""
        x1, y1, x2, y2 = horse
        x = (x1 + x2) / 2
        y = (y1 + y2) / 2
        for thing in enemies:
            if thing[1] + thing[3] > x1:
                dx = thing[1] + thing[3] / 2 - x
                dy = thing[2] + thing[4] / 2 - y
                distance = math.hypot(dx, dy)
                if distance == 0.0:
                    break
                scale = self._shoot_offset_px / distance
                drop = self._shoot_y_offset_px if distance > self._distance_switch_px else 0.0
                return x + dx * scale, y + dy * scale + drop
        return x + self._shoot_offset_px, y


def _nearest(things: list[GameObject], x1: float, x2: float) -> float:
    """px from the rider's right edge to the first thing not yet behind its left edge; inf if none."""
    for thing in things:
        if thing[1] + thing[3] > x1:
            return max(0.0, thing[1] - x2)
    return math.inf
