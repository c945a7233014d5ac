"""What is in front, out of `dumpsys window` as Androids of different ages print it."""

import pytest

from greatwall.device.phone.foreground import front_of, may_be_a_game
from greatwall.errors import DeviceError

DUMPS = {
    "Android 4: no user, and a flag behind": (
        "  mCurrentFocus=Window{41a3c7d8 com.example.game/com.example.game.Main paused=false}\n",
        "com.example.game",
    ),
    "Android 8": (
        (
            "  mCurrentFocus=Window{5b4c3e u0 com.example.game/com.example.game.Main}\n"
            "  mFocusedApp=AppWindowToken{d2 token=Token{9 ActivityRecord{3 u0 com.example.game/.Main t1}}}\n"
        ),
        "com.example.game",
    ),
    "Android 14": (
        (
            "  mCurrentFocus=Window{6d0a3b2 u0 com.example.game/com.example.game.Main}\n"
            "  mFocusedApp=ActivityRecord{c7d7a3e u0 com.example.game/.Main t42}\n"
        ),
        "com.example.game",
    ),
    "another user's app": ("  mCurrentFocus=Window{6d0a3b2 u10 com.work.mail/.Inbox}\n", "com.work.mail"),
    "a window on its way out": (
        "  mCurrentFocus=Window{6d0a3b2 u0 com.example.game/com.example.game.Main EXITING}\n",
        "com.example.game",
    ),
    "the lock screen": (
        (
            "  mCurrentFocus=Window{a1 u0 NotificationShade}\n"
            "  mFocusedApp=ActivityRecord{c7 u0 com.example.game/.Main t42}\n"
        ),
        "NotificationShade",
    ),
    "an app that hangs": (
        "  mCurrentFocus=Window{a1 u0 Application Not Responding: com.example.game}\n",
        "Application Not Responding: com.example.game",
    ),
    "between two windows": (
        "  mCurrentFocus=null\n  mFocusedApp=ActivityRecord{c7 u0 com.example.game/.Main t42}\n",
        "",
    ),
    "a second display without a window": (
        "  mCurrentFocus=null\n  mCurrentFocus=Window{6d u0 com.example.game/.Main}\n",
        "com.example.game",
    ),
    "a report without the focus": (
        "  mFocusedApp=AppWindowToken{d2 token=Token{9 ActivityRecord{3 u0 com.example.game/.Main t1}}}\n",
        "com.example.game",
    ),
}


@pytest.mark.parametrize("case", DUMPS)
def test_the_window_with_the_focus_is_found(case):
    dump, front = DUMPS[case]
    assert front_of("WINDOW MANAGER DISPLAY CONTENTS\n" + dump) == front


def test_a_report_that_says_nothing_is_an_error_with_a_remedy():
    with pytest.raises(DeviceError, match="adb shell dumpsys window"):
        front_of("Can't find service: window")


@pytest.mark.parametrize(
    "front",
    ["", "NotificationShade", "com.sec.android.app.launcher", "com.miui.home", "com.android.systemui"],
)
def test_the_phones_own_windows_are_no_game(front):
    assert not may_be_a_game(front)


def test_an_app_may_be_a_game():
    assert may_be_a_game("com.example.game")
