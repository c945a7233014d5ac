"""`dumpsys`: the lines of Android's reports that a host looks for, with what surrounds them shortened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.rigs.phone.phone import Phone

_AWAKE = {True: "Awake", False: "Asleep"}


def report(phone: Phone, service: str) -> str | None:
    """The report of a service; None for one this phone does not have."""
    reports = {
        "window": _window,
        "activity": _activity,
        "battery": _battery,
        "display": _display,
        "input": _input,
        "power": _power,
        "thermalservice": _thermal,
        "SurfaceFlinger": _surface_flinger,
    }
    make = reports.get(service)
    return None if make is None else make(phone)


def _rotation(phone: Phone) -> int:
    """Quarter turns from the natural way of holding: a phone's is upright."""
    return 0 if phone.screen.is_upright else 1


def _window(phone: Phone) -> str:
    apps, rotation = phone.apps, _rotation(phone)
    width, height = phone.screen.size
    return (
        "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
        "  Display: mDisplayId=0 (organized)\n"
        f"    init={phone.settings.height}x{phone.settings.width} 420dpi cur={width}x{height} "
        f"app={width}x{height}\n"
        f"  mCurrentFocus=Window{{6d0a3b2 u0 {apps.focus}}}\n"
        f"  mFocusedApp=ActivityRecord{{c7d7a3e u0 {apps.component(apps.front)} t42}}\n"
        f"  mRotation={rotation} mDeferredRotationPauseCount=0\n"
        f"  mCurrentRotation=ROTATION_{90 * rotation}\n"
        f"  mAwake={str(apps.awake).lower()}\n"
        f"  mDreamingLockscreen={str(not apps.awake).lower()}\n"
    )


def _activity(phone: Phone) -> str:
    apps = phone.apps
    record = f"ActivityRecord{{c7d7a3e u0 {apps.component(apps.front)} t42}}"
    return (
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
        "Display #0 (activities from top to bottom):\n"
        f"  topResumedActivity={record}\n"
        f"  ResumedActivity: {record}\n"
        f"  mLastPausedActivity: {record}\n"
        f"  mFocusedApp={record}\n"
    )


def _battery(phone: Phone) -> str:
    battery = phone.battery
    return (
        "Current Battery Service state:\n"
        "  AC powered: false\n"
        f"  USB powered: {str(battery['usb']).lower()}\n"
        "  Wireless powered: false\n"
        f"  status: {2 if battery['usb'] else 3}\n"
        "  health: 2\n"
        "  present: true\n"
        f"  level: {battery['level']}\n"
        "  scale: 100\n"
        f"  voltage: 4123\n"
        f"  temperature: {round(battery['celsius'] * 10)}\n"
        "  technology: Li-ion\n"
    )


def _display(phone: Phone) -> str:
    width, height = phone.screen.size
    rotation = _rotation(phone)
    state = "ON" if phone.apps.awake else "OFF"
    return (
        "DISPLAY MANAGER (dumpsys display)\n"
        f"  mStableDisplaySize=Point({phone.settings.height}, {phone.settings.width})\n"
        "  mViewports=[DisplayViewport{type=INTERNAL, valid=true, isActive=true, displayId=0, "
        f"uniqueId='local:1', physicalPort=0, orientation={rotation}, "
        f"logicalFrame=Rect(0, 0 - {width}, {height}), physicalFrame=Rect(0, 0 - {width}, {height}), "
        f"deviceWidth={width}, deviceHeight={height}}}]\n"
        f"    mCurrentOrientation={rotation}\n"
        f'    mDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, state {state}, '
        f"real {width} x {height}, rotation {rotation}, refreshRate 60.0}}\n"
        f"  mScreenState={state}\n"
    )


def _input(phone: Phone) -> str:
    rotation = _rotation(phone)
    return (
        "INPUT MANAGER (dumpsys input)\n"
        f"    SurfaceOrientation: {rotation}\n"
        f"      orientation=Rotation{90 * rotation}\n"
    )


def _power(phone: Phone) -> str:
    return (
        "POWER MANAGER (dumpsys power)\n"
        f"  mWakefulness={_AWAKE[phone.apps.awake]}\n"
        f"  mIsPowered={str(phone.battery['usb']).lower()}\n"
        f"  mStayOn={str(phone.tables.get(('global', 'stay_on_while_plugged_in'), '0') != '0').lower()}\n"
        f"  mLastWakeTime={int(time.monotonic() * 1000)}\n"
    )


def _thermal(phone: Phone) -> str:
    celsius = phone.battery["celsius"]
    status = 0 if celsius < 40 else 2 if celsius < 46 else 4
    return (
        "IsStatusOverride: false\n"
        f"Thermal Status: {status}\n"
        "Cached temperatures:\n"
        f"\tTemperature{{mValue={celsius}, mType=3, mName=skin, mStatus={status}}}\n"
        f"\tTemperature{{mValue={celsius + 6}, mType=0, mName=CPU, mStatus=0}}\n"
    )


def _surface_flinger(phone: Phone) -> str:
    return f"Build configuration: stand-in\n{phone.apps.focus}\n"
