"""Who may import whom: docs/architecture.md's table, read off the source by `ast`.

Imports under `if TYPE_CHECKING:` and inside functions count like all others; `ppo_acting.main` alone
may put the program together from `assembly` and `players`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

BASE = frozenset({"config", "contracts", "errors"})
BELOW_ASSEMBLY = BASE | {
    "device", "device.simulator", "extras", "eyes", "game", "game_env", "metrics", "players", "policies",
    "ppo_acting", "reward", "rule_engine", "worker",
}  # fmt: skip

# Room -> the rooms it may import beside itself; None is anything. A dotted room is one file.
MAY_IMPORT: dict[str, frozenset[str] | None] = {
    "config": frozenset(),
    "contracts": frozenset(),
    "errors": frozenset(),
    "rule_engine": BASE,
    "game": BASE,
    "eyes": BASE,
    "device": BASE,
    "device.simulator": BASE | {"device", "game"},
    "metrics": frozenset({"contracts", "errors"}),
    "worker": BASE | {"rule_engine", "eyes", "metrics"},
    "extras": BASE,
    "policies": BASE | {"extras"},
    "players": BASE | {"extras", "rule_engine", "policies", "players.oracle"},
    "players.oracle": BASE | {"players", "game"},
    "reward": BASE,
    "game_env": BASE | {"extras", "reward"},
    "ppo_acting": BASE | {"rule_engine", "worker", "eyes", "device", "metrics"},
    "assembly": BELOW_ASSEMBLY,
    "learning": BELOW_ASSEMBLY | {"assembly"},
    "data": BELOW_ASSEMBLY | {"assembly"},
    "commands": None,
    "train_ppo": None,
    "__main__": None,
    "benchmarks": None,
}

# Rooms that keep out heavy or foreign libraries: room -> top-level modules it may not import.
KEEPS_OUT: dict[str, frozenset[str]] = {
    "config": frozenset({"numpy", "torch", "cv2"}),
    "contracts": frozenset({"torch", "cv2", "gymnasium"}),
    "errors": frozenset({"numpy", "torch", "cv2"}),
    "rule_engine": frozenset({"torch", "cv2", "gymnasium"}),
    "game": frozenset({"torch", "gymnasium"}),
    "game_env": frozenset({"torch", "cv2"}),
    "worker": frozenset({"torch", "gymnasium"}),
}

# May import more inside this one function.
MAIN_MAY_IMPORT = {"ppo_acting": frozenset({"commands"})}

ONE_FILE_ROOMS = ("device.simulator", "players.oracle")
TOP_LEVEL = ("config", "rule_engine", "ppo_acting", "game_env", "train_ppo")


class Import(NamedTuple):
    """One import: the dotted module, the line, and the top-level function around it ('' for none)."""

    module: str
    line: int
    function: str


def room_of_module(module: str) -> str | None:
    """The room a dotted module belongs to; None for a library, `greatwall` itself included."""
    parts = module.split(".")
    if parts[0] in TOP_LEVEL or parts[0] == "benchmarks":
        return parts[0]
    if parts[0] != "greatwall" or len(parts) == 1:
        return None
    one_file = ".".join(parts[1:3])
    return one_file if one_file in ONE_FILE_ROOMS else parts[1]


def module_of_file(path: Path) -> str:
    """`greatwall/eyes/__init__.py` -> `greatwall.eyes`."""
    parts = list(path.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, is_package: bool) -> Iterator[Import]:
    """Every import in a file, relative ones made absolute."""
    tree = ast.parse(source)
    for top in tree.body:
        function = top.name if isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef) else ""
        for node in ast.walk(top):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(alias.name, node.lineno, function)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    around = module.split(".") if is_package else module.split(".")[:-1]
                    around = around[: len(around) - node.level + 1]
                    base = ".".join([*around, base]) if base else ".".join(around)
                yield Import(base, node.lineno, function)
                for alias in node.names:  # `from greatwall import device` names a room too
                    yield Import(f"{base}.{alias.name}", node.lineno, function)


def offences(source: str, module: str, is_package: bool = False) -> list[str]:
    """What in a file's imports its room does not allow, one line each."""
    room = room_of_module(module)
    if room is None:
        return []
    if room not in MAY_IMPORT:
        return [f"{module}: a room nobody wrote down; add it to MAY_IMPORT and docs/architecture.md"]
    allowed = MAY_IMPORT[room]
    found = []
    for imported in imports_of(source, module, is_package):
        target = room_of_module(imported.module)
        if imported.module.split(".")[0] in KEEPS_OUT.get(room, ()):
            found.append(f"{module}:{imported.line} keeps out {imported.module}")
        if target is None or target == room or allowed is None:
            continue
        also = MAIN_MAY_IMPORT.get(room, frozenset()) if imported.function == "main" else frozenset()
        if target not in allowed | also:
            found.append(f"{module}:{imported.line} may not import {imported.module}")
    return sorted(set(found))


def source_files(root: Path) -> list[Path]:
    """Every Python file that belongs to a room, relative to the root, in order."""
    files = [root / f"{name}.py" for name in TOP_LEVEL if (root / f"{name}.py").exists()]
    for folder in ("greatwall", "benchmarks"):
        files += sorted((root / folder).rglob("*.py"))
    return [path.relative_to(root) for path in files]


def test_every_room_imports_only_what_the_table_allows(repo_root: Path) -> None:
    found = []
    for path in source_files(repo_root):
        source = (repo_root / path).read_text(encoding="utf-8")
        found += offences(source, module_of_file(path), path.name == "__init__.py")
    assert not found, "\n" + "\n".join(found)


def test_config_imports_the_standard_library_alone(repo_root: Path) -> None:
    source = (repo_root / "config.py").read_text(encoding="utf-8")
    foreign = {
        imported.module
        for imported in imports_of(source, "config", False)
        if imported.module.split(".")[0] not in sys.stdlib_module_names
    }
    assert not foreign


def test_only_truth_eyes_ask_a_frame_for_the_games_truth(repo_root: Path) -> None:
    """`Frame.scene` is how game state leaves the device: in eyes, `truth.py` alone may ask for it."""
    found = []
    for path in sorted((repo_root / "greatwall" / "eyes").rglob("*.py")):
        if path.name == "truth.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "scene":
                found.append(f"{path.name}:{node.lineno}")
    assert not found


def test_the_table_and_the_picture_name_the_same_rooms(repo_root: Path) -> None:
    text = (repo_root / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {room.partition(".")[0] for room in MAY_IMPORT}
    missing = sorted(room for room in rooms if f"`{room}`" not in text)
    assert not missing, f"docs/architecture.md does not name {missing}"


BAD = [
    ("rule_engine", "from greatwall.device import simulator"),
    ("greatwall.eyes.vision", "import greatwall.game.rules"),
    ("greatwall.eyes.vision", "from ..game import rules"),
    ("greatwall.device.phone", "from greatwall.game import rules"),
    ("greatwall.players.rule", "from greatwall.learning.network import Net"),
    ("greatwall.worker.stages", "def main():\n    from greatwall.assembly import build_env"),
    ("greatwall.worker.stages", "from greatwall.device.simulator import SimulatedDevice"),
    ("greatwall.metrics.timing", "import config"),
    ("game_env", "from greatwall.worker import clocks"),
    ("game_env", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ppo_acting import Worker"),
    ("ppo_acting", "from greatwall.assembly import build_worker"),
    ("ppo_acting", "def helper():\n    from greatwall.players import make_player"),
    ("config", "import numpy"),
    ("greatwall.gadgets.thing", "import math"),
]
GOOD = [
    ("greatwall.device.simulator", "from greatwall.game.rules import Game"),
    ("greatwall.eyes.truth", "from greatwall.contracts import Sight\nimport config"),
    ("greatwall.players.trained", "from greatwall.policies.files import read_policy"),
    ("greatwall.worker.stages", "from greatwall.metrics.timing import WorkerTiming"),
    ("ppo_acting", "def main():\n    from greatwall.commands import acting"),
    ("train_ppo", "import greatwall.game.rules"),
    ("greatwall.commands.bench", "import ppo_acting"),
    ("greatwall.assembly", "import game_env, ppo_acting"),
    ("greatwall", "import math"),
]


@pytest.mark.parametrize(("module", "source"), BAD)
def test_a_forbidden_import_is_seen(module: str, source: str) -> None:
    assert offences(source, module)


@pytest.mark.parametrize(("module", "source"), GOOD)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    assert not offences(source, module)
