"""What TensorBoard is given: read back from the event files, as it would read them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import IMAGES, EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from greatwall.assembly import make_config
from greatwall.commands.film import GIF_SIZE, film_end
from greatwall.learning.board import BoardWriter, board_logger
from greatwall.learning.disk import Disk
from greatwall.learning.hyperparameters import METRICS, hyperparameters
from greatwall.learning.presets import PRESETS
from greatwall.players import make_player
from tests.learning.test_run import ROLLOUT, run_in, settings


def test_what_a_session_wrote_after_the_step_resumed_from_is_hidden(tmp_path: Path) -> None:
    for done, steps in ((0, (10, 20, 30)), (20, (25, 35))):
        logger = board_logger(tmp_path, Disk(print), done)
        for step in steps:
            logger.record("curve", float(step))
            logger.dump(step)
        logger.close()
    scalars = EventAccumulator(str(tmp_path)).Reload().Scalars("curve")
    assert [one.step for one in scalars] == [10, 20, 25, 35]


def test_the_settings_of_a_run_are_on_the_hparams_page(tmp_path: Path) -> None:
    files, _ = run_in(tmp_path, settings(timesteps=ROLLOUT))
    board = EventAccumulator(str(files.board)).Reload()
    plugin = board.summary_metadata
    started = HParamsPluginData.FromString(
        plugin["_hparams_/session_start_info"].plugin_data.content
    ).session_start_info
    told = dict(started.hparams.items())
    assert told["preset"].string_value == "scratch"
    assert told["seed"].number_value == 3
    assert told["network.net_arch"].string_value == "[8]"
    experiment = HParamsPluginData.FromString(plugin["_hparams_/experiment"].plugin_data.content).experiment
    assert {one.name.tag for one in experiment.metric_infos} == set(METRICS)
    assert set(METRICS) - {"episode/distance_m", "rollout/ep_rew_mean"} <= set(board.Tags()["scalars"])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_shown(name: str) -> None:
    found = hyperparameters(make_config(), PRESETS[name], 1)
    assert found["preset"] == name
    assert all(isinstance(value, (bool, str, int, float)) for value in found.values())


def test_the_end_of_an_episode_is_filmed_and_moves_on_the_images_page(tmp_path: Path) -> None:
    config = make_config(max_distance_m=60)
    film = tmp_path / "end.mp4"
    gif = film_end(config, make_player("rule", config), 5, film, 1.0)
    assert film.stat().st_size > 1000
    board = BoardWriter(tmp_path / "board", Disk(print), 1)
    board.add_animation("best_episode", gif, GIF_SIZE, 7)
    board.close()
    (event,) = EventAccumulator(str(tmp_path / "board"), {IMAGES: 0}).Reload().Images("best_episode")
    assert (event.step, event.width, event.height) == (7, *GIF_SIZE)
    with Image.open(io.BytesIO(event.encoded_image_string)) as image:
        assert image.format == "GIF"
        assert image.size == GIF_SIZE
        assert image.n_frames == 6  # type: ignore[attr-defined]
        first = image.convert("RGB").tobytes()
        image.seek(5)
        assert image.convert("RGB").tobytes() != first
