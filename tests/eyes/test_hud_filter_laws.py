"""Laws of the HUD filter: what a run can truly show is believed as read, at once, with its age."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config import GREAT_WALL
from greatwall.contracts import HUD_FIELDS, HudRead
from greatwall.eyes.hud_filter import HudFilter

FIELDS = dict(GREAT_WALL.hud)


@st.composite
def true_runs(draw: st.DrawFn) -> list[tuple[float, HudRead]]:
    """What the HUD truly shows at the reads of a run: fields change as fast as the game lets them.

    Lives and arrows fall by one between two reads (1.2 s of invulnerability, 0.6 s a shot) or rise;
    coins and distance rise no faster than their field allows.
    """
    at_s = draw(st.floats(0, 1e5))
    values = {
        "lives": draw(st.integers(1, 10)),
        "arrows": draw(st.integers(1, 99)),
        "coins": draw(st.integers(0, 9_000)),
        "distance": draw(st.integers(0, 99_000)),
    }
    run = [(at_s, HudRead(**values))]
    for _ in range(draw(st.integers(0, 25))):
        elapsed_s = draw(st.floats(0.1, 0.6))
        at_s += elapsed_s
        for name, field in FIELDS.items():
            most = int(field.max_rise_per_s * elapsed_s)
            change = draw(st.integers(-1 if field.may_fall else 0, most))
            values[name] = min(field.high, max(field.low, values[name] + change))
        run.append((at_s, HudRead(**values)))
    return run


@given(true_runs())
def test_right_reads_of_a_true_run_are_all_believed_at_once(run: list[tuple[float, HudRead]]) -> None:
    believed = HudFilter(GREAT_WALL)
    for at_s, truth in run:
        hud = believed.update(truth, at_s)
        assert hud[:4] == truth
        assert all(getattr(hud, f"{name}_at_s") == at_s for name in HUD_FIELDS)


@given(true_runs(), st.data())
def test_a_field_that_cannot_be_read_keeps_its_last_right_value_and_its_age(
    run: list[tuple[float, HudRead]], data: st.DataObject
) -> None:
    believed = HudFilter(GREAT_WALL)
    last: dict[str, tuple[float, int | None]] = {}
    for number, (at_s, truth) in enumerate(run):
        lost = data.draw(st.sampled_from(("coins", "distance"))) if number % 2 else ""
        read = truth._replace(**{lost: None}) if lost else truth
        hud = believed.update(read, at_s)
        for name in HUD_FIELDS:
            if name != lost:
                last[name] = (at_s, getattr(truth, name))
            assert (getattr(hud, f"{name}_at_s"), getattr(hud, name)) == last[name]


@given(true_runs(), st.data())
def test_right_reads_after_a_misread_are_believed_again(
    run: list[tuple[float, HudRead]], data: st.DataObject
) -> None:
    """Whatever one misread was, the second right read after it stands; before that, never a third value."""
    believed = HudFilter(GREAT_WALL)
    name = data.draw(st.sampled_from(HUD_FIELDS))
    wrong_at = data.draw(st.integers(0, len(run) - 1))
    misread = data.draw(st.integers(0, FIELDS[name].high))
    allowed: set[int | None] = {None, misread}
    since_right = 0
    for number, (at_s, truth) in enumerate(run):
        read = truth._replace(**{name: misread}) if number == wrong_at else truth
        hud = believed.update(read, at_s)
        allowed.add(getattr(truth, name))
        assert getattr(hud, name) in allowed
        if number > wrong_at:
            since_right += 1
        if since_right >= 2 and _steady(run, name, wrong_at):
            assert getattr(hud, name) == getattr(truth, name)


def _steady(run: list[tuple[float, HudRead]], name: str, after: int) -> bool:
    """Whether the field stood still from the misread on, so that two right reads are equal."""
    values = {getattr(truth, name) for _, truth in run[after:]}
    return len(values) == 1
