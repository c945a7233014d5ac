"""The reward's bookkeeping: eight terms by name, from two perceptions and an action (SPEC 5).

Pure; belongs to the Master, one ledger an episode.
"""

from __future__ import annotations

from config import RewardConfig
from greatwall.contracts import Action, Hud, Passing, Perception

REWARD_TERMS = (
    "step",
    "distance",
    "coins",
    "obstacle",
    "cliff",
    "wasted_shot",
    "ignored_enemy",
    "death",
)
LIVES_KEPT = 20  # HUD reads remembered to judge passings by


class RewardLedger:
    """Begins with the episode's first perception, so that nothing of the last run is rewarded.

    `obstacles` and `cliffs` count the passings that were paid.
    """

    def __init__(self, config: RewardConfig, first: Perception | None) -> None:
        self._config = config
        self.obstacles = 0
        self.cliffs = 0
        self.go_on_from(first)

    def go_on_from(self, first: Perception | None) -> None:
        """Judge from this perception on; what changed before it, or is still to be paid, is not rewarded."""
        self._previous = Hud() if first is None else first.hud
        self._last_serial = first.passings[-1].serial if first is not None and first.passings else -1
        self._pending: list[Passing] = []
        self._lives_log: list[tuple[float, int]] = []
        if self._previous.lives is not None:
            self._lives_log.append((self._previous.lives_at_s, self._previous.lives))

    def terms(self, action: Action, before: Perception, after: Perception, died: bool) -> dict[str, float]:
        """All eight terms of one transition; `before` is what the action was chosen from."""
        r = self._config
        terms = dict.fromkeys(REWARD_TERMS, 0.0)
        terms["step"] = r.step
        hud, previous = after.hud, self._previous
        if hud.distance is not None and previous.distance is not None:
            moved = hud.distance - previous.distance
            if abs(moved) < r.max_m:
                terms["distance"] = r.per_m * moved
        if hud.coins is not None and previous.coins is not None:
            gained = hud.coins - previous.coins
            if 0 < gained < r.max_coins:
                terms["coins"] = r.per_coin * gained
        self._pay_passings(after, terms)
        near = before.nearest_enemy <= r.enemy_px
        if action is Action.SHOOT:
            if not near:
                terms["wasted_shot"] = r.wasted_shot
        elif near and not (r.no_arrows_no_duty and before.hud.arrows == 0):
            terms["ignored_enemy"] = r.ignored_enemy
        if died:
            terms["death"] = r.death
        self._previous = hud
        return terms

    def _pay_passings(self, after: Perception, terms: dict[str, float]) -> None:
        """R3, R4: at once, or once a HUD read from after the passing shows that no life was lost."""
        r, hud = self._config, after.hud
        if after.passings and after.passings[-1].serial > self._last_serial:
            self._pending += [p for p in after.passings if p.serial > self._last_serial]
            self._last_serial = after.passings[-1].serial
        if hud.lives is not None and (not self._lives_log or hud.lives_at_s > self._lives_log[-1][0]):
            self._lives_log.append((hud.lives_at_s, hud.lives))
            del self._lives_log[:-LIVES_KEPT]
        if not self._pending:
            return
        waiting = []
        for passing in self._pending:
            unread = hud.lives is not None and hud.lives_at_s < passing.passed_at_s
            if r.passing_waits_for_hud and unread:
                waiting.append(passing)
            elif not r.passing_waits_for_hud or self._unharmed(passing):
                if passing.kind == "cliff":
                    terms["cliff"] += r.cliff
                    self.cliffs += 1
                else:
                    terms["obstacle"] += r.obstacle
                    self.obstacles += 1
        self._pending = waiting

    def _unharmed(self, passing: Passing) -> bool:
        """No life lost between the last HUD read before meeting it and the first after passing it."""
        if not self._lives_log:
            return True  # a game that shows no lives
        lives_before = self._lives_log[0][1]
        for at_s, lives in self._lives_log:
            if at_s <= passing.met_at_s:
                lives_before = lives
            elif at_s >= passing.passed_at_s:
                return lives >= lives_before
        return True
