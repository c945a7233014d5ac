"""What the phone's benchmarks judge by: fingers, memory, faults, pairs; the phone is in tests/device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import like_device, phone_soak
from benchmarks.like_device import Pairs
from benchmarks.phone_soak import FAULTS, Watch, drawn_faults, memory_growth, table_of, verdict
from greatwall.errors import ConfigError
from greatwall.learning.run_files import RunFiles


def test_each_fault_comes_once_before_any_comes_again_and_lasts_as_long_as_it_may() -> None:
    faults = drawn_faults(0)
    for _ in range(3):
        some = [next(faults) for _ in FAULTS]
        assert sorted(str(one[:2]) for one in some) == sorted(str(one[:2]) for one in FAULTS)
        for name, how, for_s in some:
            span = next(span for a, b, span in FAULTS if (a, b) == (name, how))
            assert (for_s is None) == (span is None)
            assert for_s is None or span is None or span[0] <= for_s <= span[1]
    assert next(drawn_faults(0)) == next(drawn_faults(0))


def watch(tmp_path: Path) -> Watch:
    return Watch(None, RunFiles(tmp_path / "models", tmp_path / "logs"), 0)  # type: ignore[arg-type]


def test_a_finger_counts_from_when_it_could_be_lifted(tmp_path: Path) -> None:
    seen = (one := watch(tmp_path)).seen
    seen.faults.append({"name": "hang"})
    one.deaf_until_s = 105.0
    for now_s, down in ((100.0, []), (101.0, ["1"]), (105.5, ["1"]), (106.0, ["1"]), (107.0, [])):
        one._judge_fingers(down, now_s)
    assert seen.finger_down_s == pytest.approx(1.0)
    assert seen.finger_down_in_all_s == pytest.approx(5.0)
    assert seen.finger_after == "hang"
    for now_s, down in ((200.0, ["1", "2"]), (200.5, ["2"]), (203.5, ["2"]), (204.0, ["1"])):
        one._judge_fingers(down, now_s)
    assert seen.finger_down_s == pytest.approx(3.5)


def test_touches_on_what_covers_the_game_are_counted_from_when_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = watch(tmp_path)
    one._judged_to_s = 9.0

    def facts(foreground: str, *downs_s: float) -> dict[str, Any]:
        return {"foreground": foreground, "touches": [{"action": "down", "at_s": at} for at in downs_s]}

    game = phone_soak.GAME_PACKAGE
    one._judge_covered(facts(game, 9.5), 10.0)
    one._judge_covered(facts("other", 9.5, 10.2), 11.0)
    one._judge_covered(facts("other", 9.5, 10.2, 11.7), 12.0)
    one._judge_covered(facts(game, 9.5, 10.2, 11.7), 13.0)
    one._judge_covered(facts(game, 9.5, 10.2, 11.7, 13.5), 14.0)
    assert one.seen.covered_touches == 1
    assert one.seen.covered_s == pytest.approx(0.7)


def test_memory_grows_from_the_second_fifth_to_the_last() -> None:
    loading, steady = [100.0] * 20, [200.0] * 80
    assert memory_growth(loading + steady) == 0.0
    assert memory_growth(loading + steady[:60] + [220.0] * 20) == pytest.approx(0.1)
    assert memory_growth(steady[:30]) is None


def test_what_does_not_hold_is_said_in_the_table() -> None:
    result = {
        "command": "c", "machine": {"cores": 2}, "load_1min": 1.0, "seconds": 20.0, "faults": [],
        "fault_counts": {}, "interruptions": {}, "episodes": 3, "steps_saved": 256,
        "wanted": [verdict("this", "0", 0, True), verdict("that", "0", 1, False)],
    }  # fmt: skip
    text = table_of(result)
    assert "| this | 0 | 0 | yes |" in text
    assert "| that | 0 | 1 | **no** |" in text


def test_pairs_are_kept_and_those_of_other_policies_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    first = Pairs(path, {"policies": "a"})
    first.add({"seed": 1})
    first.add({"seed": 2})
    assert Pairs(path, {"policies": "a"}).played == [{"seed": 1}, {"seed": 2}]
    with pytest.raises(ConfigError, match="expected pairs of these policies and this limit, found others"):
        Pairs(path, {"policies": "b"})


@pytest.mark.parametrize("name", ["phone_soak", "like_device"])
def test_the_page_shows_what_was_measured(name: str, repo_root: Path) -> None:
    module = {"phone_soak": phone_soak, "like_device": like_device}[name]
    page = (repo_root / "docs" / "performance.md").read_text(encoding="utf-8")
    between = page.split(module.BEGIN)[1].split(module.END)[0].strip()
    published = module.RESULT
    shown = module.table_of(json.loads(published.read_text(encoding="utf-8"))) if published.exists() else ""
    assert between == shown.strip()
