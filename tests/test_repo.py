"""What must hold of the project's files as a whole: clean, small, honest about its commands and links."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CLOCKS = "greatwall/worker/clocks.py"
LARGEST_BYTES = 5 * 1024 * 1024
TEXT_SUFFIXES = frozenset(
    {".py", ".md", ".txt", ".toml", ".sh", ".json", ".yaml", ".yml", ".cfg", ".csv", ".svg", ""}
)
DOCUMENTS = ("README.md", "README.zh-CN.md")

# Words are put together here so that this file does not name what it looks for.
MACHINE_PATH = re.compile(
    "|".join(
        ["/" + "work/", "/" + r"home/\w", "/" + r"Users/\w", "/" + "root/", "(?<!/data/local)/tmp" + "/[a-z]"]
    )
)
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")

# Modules that unpickle, and calls that do unless told otherwise. A file from a stranger could run code.
UNPICKLERS = frozenset({"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"})
MAY_TRAIN_THE_DETECTOR = ("greatwall/data/", "greatwall/commands/detector", "benchmarks/trackers.py")

# Import name -> name in requirements.txt, where they differ.
DISTRIBUTIONS = {
    "yaml": "pyyaml",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "stable_baselines3": "stable-baselines3",
}
OWN_MODULES = frozenset(
    {"benchmarks", "config", "game_env", "greatwall", "ppo_acting", "rule_engine", "tests", "train_ppo"}
)


@cache
def project_files() -> tuple[Path, ...]:
    """Every file git tracks or would track, relative to the root."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files are tracked")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True, timeout=30,
    ).stdout  # fmt: skip
    return tuple(Path(name) for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).is_file())


def texts() -> Iterator[tuple[str, str]]:
    """(path, content) of every text file of the project."""
    for path in project_files():
        if path.suffix in TEXT_SUFFIXES:
            yield path.as_posix(), (ROOT / path).read_text(encoding="utf-8")


def trees(*, tests: bool = True) -> Iterator[tuple[str, ast.Module]]:
    """(path, syntax tree) of every Python file of the project."""
    for path, text in texts():
        if path.endswith(".py") and (tests or not path.startswith("tests/")):
            yield path, ast.parse(text, path)


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """(dotted name, call) of every call whose function is a plain dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if re.fullmatch(r"[\w.]+", name):
                yield name, node


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(top-level module, line) of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], node.lineno


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_nothing_is_marked_unfinished() -> None:
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert not found, "\n".join(found)


def test_only_the_clock_module_sleeps() -> None:
    found = []
    for path, tree in trees():
        if path == CLOCKS:
            continue
        found += [f"{path}:{call.lineno}" for name, call in calls(tree) if name == "time.sleep"]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                found += [f"{path}:{node.lineno}" for alias in node.names if alias.name == "sleep"]
    assert not found, f"waits ask a clock ({CLOCKS}): {found}"


def test_no_file_is_large() -> None:
    large = [path for path in project_files() if (ROOT / path).stat().st_size > LARGEST_BYTES]
    assert not large


def test_nothing_unpickles() -> None:
    """Policies, resume state and detector weights are tensors and JSON."""
    found = []
    for path, tree in trees(tests=False):
        found += [
            f"{path}:{line}: {module}" for module, line in imported_modules(tree) if module in UNPICKLERS
        ]
        for name, call in calls(tree):
            keywords = {word.arg: ast.unparse(word.value) for word in call.keywords}
            unsafe = (
                (name == "torch.load" and keywords.get("weights_only") != "True")
                or (name.endswith("PPO.load"))
                or (name in ("np.load", "numpy.load") and keywords.get("allow_pickle", "False") != "False")
            )
            if unsafe:
                found.append(f"{path}:{call.lineno}: {name}")
    assert not found, "\n".join(found)


def test_ultralytics_is_imported_for_detector_training_and_one_benchmark_alone() -> None:
    """NOTICE.md promises it: everything else runs with ultralytics uninstalled."""
    found = [
        f"{path}:{line}"
        for path, tree in trees(tests=False)
        for module, line in imported_modules(tree)
        if module == "ultralytics" and not path.startswith(MAY_TRAIN_THE_DETECTOR)
    ]
    assert not found


def test_every_library_imported_is_in_the_requirements() -> None:
    named = {
        re.split(r"[\s\[<>=;#]", line, maxsplit=1)[0].lower()
        for file in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if line and line[0].isalpha()
    }
    imported = {
        (DISTRIBUTIONS.get(module, module).lower(), path)
        for path, tree in trees()
        for module, _ in imported_modules(tree)
        if module not in OWN_MODULES and module not in sys.stdlib_module_names
    }
    missing = sorted(
        f"{module} ({path})" for module, path in imported if module.replace("_", "-") not in named
    )
    assert not missing


def command_lines(document: str) -> Iterator[list[str]]:
    """The words of every command in a document's fenced blocks, comments and prompts taken off."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for block in re.findall(r"```(?:bash|sh|shell|console|powershell)\n(.*?)```", text, re.S):
        for line in block.splitlines():
            words = shlex.split(line.strip().removeprefix("$ ").replace("\\", "/"), comments=True)
            if words:
                yield words


def is_python(word: str) -> bool:
    return re.fullmatch(r"(?:\.venv/(?:bin|Scripts)/)?(?:python[\d.]*|py)(?:\.exe)?", word) is not None


@cache
def help_of(*words: str) -> str:
    """What a program of ours prints when asked for help."""
    done = subprocess.run(
        [sys.executable, *words, "--help"],
        cwd=ROOT, capture_output=True, text=True, timeout=100, env=_plain_environment(),
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(words)} --help: {done.stderr[-500:]}"
    return done.stdout


def _plain_environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_a_readme_names_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    text = (ROOT / document).read_text(encoding="utf-8")
    named = {words[1] for words in command_lines(document) if words[0] == "make" and len(words) > 1}
    named |= set(re.findall(r"`make ([a-z]+)", text))
    assert named, "a README that never says make"
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_a_readme_shows_is_understood(document: str) -> None:
    """Files exist, subcommands exist, and every option is one that the program's own help names."""
    checked = 0
    for words in command_lines(document):
        if not is_python(words[0]):
            continue
        if words[1:3] == ["-m", "greatwall"]:
            program = ["-m", "greatwall", *[word for word in words[3:5] if re.fullmatch(r"[a-z]+", word)]]
        elif words[1].endswith(".py"):
            program = [words[1]]
        else:
            continue
        shown = help_of(*program)
        for option in [word.split("=")[0] for word in words if word.startswith("--")]:
            assert re.search(re.escape(option) + r"\b", shown), f"{document}: {' '.join(words)}: no {option}"
        checked += 1
    assert checked


def anchors(text: str) -> set[str]:
    """The anchors GitHub makes of a document's headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(plain.replace(" ", "-"))
    return found


def test_every_link_in_a_document_leads_somewhere() -> None:
    broken = []
    for path, text in texts():
        if not path.endswith(".md"):
            continue
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'(?:src|href)="([^"]+)"', prose):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            aim = (ROOT / path).parent / file if file else ROOT / path
            if not aim.exists():
                broken.append(f"{path}: {target}")
            elif anchor and aim.suffix == ".md" and anchor not in anchors(aim.read_text(encoding="utf-8")):
                broken.append(f"{path}: {target} (no such heading)")
    assert not broken, "\n".join(broken)
