"""The validations of one training run, kept in a file as they come."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from greatwall.learning.saving import ValidationCallback


class CurveCallback(BaseCallback):
    """Writes the distances of every validation to a file, a line each: a resumed run goes on with it."""

    def __init__(self, path: Path, validation: ValidationCallback) -> None:
        super().__init__()
        self._path, self._validation, self._noted = path, validation, -1

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self._validation.validated_at != self._noted:
            self._noted = self._validation.validated_at
            distances = [one.distance_m for one in self._validation.results]
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"steps": self._noted, "distance_m": distances}) + "\n")

    def _on_training_end(self) -> None:
        self._on_rollout_start()


def points_of(curve: Path) -> list[dict[str, Any]]:
    """Validations by steps. One that was repeated after a kill counts once; a line that was cut short not."""
    points = {}
    for line in curve.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            point = json.loads(line)
            points[point["steps"]] = point
    return [points[steps] for steps in sorted(points)]
