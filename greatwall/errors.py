"""One family of errors. Each message says, on one line: expected, found, remedy.

`GreatWallError` is a user's mistake or a fact of the outside world: command lines print its text
without a traceback and exit with 2. `WorkerError` carries the worker's own traceback as its cause.
"""

from __future__ import annotations


class GreatWallError(Exception):
    """Base of everything this project raises on purpose; `str(error)` is the one line to print."""


class ConfigError(GreatWallError, ValueError):
    """A setting or command-line value that cannot be used."""


class FileFormatError(GreatWallError):
    """A file that is truncated, corrupt, foreign, or not what it claims to be."""


class DeviceError(GreatWallError):
    """The thing played on cannot be reached or does not answer."""


class DeviceLost(DeviceError):  # noqa: N818 - the word users know
    """A device that answered before and no longer does; the episode is truncated, not lost."""


class GameLeft(DeviceError):  # noqa: N818 - what happened, as `contracts.INTERRUPTIONS` says it
    """Something else than the game is in front, or nobody knows what is: no touch is made meanwhile."""


class HandsOff(DeviceError):  # noqa: N818 - what the person asked for
    """A person stopped all touches, by key or signal; nothing is touched again in this process."""


class RecordingEnded(DeviceLost):
    """A recording played as a device has been played to its end."""


class RestartError(GreatWallError):
    """The restart procedure did not lead to a live game within its bounded number of tries."""


class WorkerError(GreatWallError):
    """The Worker failed and cannot go on; `__cause__` is the failing stage's own exception."""


class NoFreshFrame(WorkerError):  # noqa: N818 - what was found
    """The stages run, but after an interruption no frame came that is newer."""


class Interruption(Exception):  # noqa: N818 - an event in the run, not an error
    """Something outside the game broke the episode; `reason` is one of `contracts.INTERRUPTIONS`.

    Raised by the Worker's waits and turned by the env into `truncated=True` (SPEC 8).
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
