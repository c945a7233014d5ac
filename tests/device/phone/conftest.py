"""The real adb and a stand-in phone for the tests of this folder."""

from __future__ import annotations

import pytest

from config import PhoneConfig
from greatwall.device.phone.link import AdbLink
from tests.rigs.adb import AdbServer, adb_server, phone, phone_process
from tests.rigs.phone import StandInPhone

__all__ = ["adb_server", "phone", "phone_process"]


@pytest.fixture
def link(adb_server: AdbServer, phone: StandInPhone) -> AdbLink:
    """The link to the stand-in phone."""
    return AdbLink.choose(phone.serial, adb_server.port)


@pytest.fixture
def phone_config(adb_server: AdbServer, phone: StandInPhone) -> PhoneConfig:
    """The settings that find the stand-in phone."""
    return PhoneConfig(serial=phone.serial, adb_port=adb_server.port)
