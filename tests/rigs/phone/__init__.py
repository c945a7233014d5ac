"""A stand-in Android phone: the real adb server connects to it, the embedded game is its screen.

It runs as a process of its own, by hand (`python -m tests.rigs.phone --port 6555`) or behind
`StandInPhone`, so that what is measured on the host never shares its interpreter. Inside it,
`phone.Phone` puts the parts together; `transport` and `services` speak adb's device side.
"""

from tests.rigs.phone.handle import PhoneError, StandInPhone
from tests.rigs.phone.settings import GAME_ACTIVITY, GAME_PACKAGE, PhoneSettings

__all__ = ["GAME_ACTIVITY", "GAME_PACKAGE", "PhoneError", "PhoneSettings", "StandInPhone"]
