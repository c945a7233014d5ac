"""What `python ppo_acting.py` does: build the whole system, let a player play, show it. Main thread."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import tyro

from config import replace_in
from greatwall.assembly import make_config, parse_size, parse_variants
from greatwall.commands.output import check_output, write_json
from greatwall.commands.profile import read_profile
from greatwall.commands.spectator import build_watched_env
from greatwall.device.device_profile import profile_named
from greatwall.device.phone.guard import STOP, stop_signals
from greatwall.device.phone.options import phone_options
from greatwall.errors import GreatWallError, WorkerError
from greatwall.eyes.faults import parse_faults
from greatwall.learning.kept_files import policy_to_play
from greatwall.players import make_player
from greatwall.worker.arguments import Arguments, check
from greatwall.worker.trace import tracing
from greatwall.worker.watch import watch
from ppo_acting import Worker

MODELS = Path(__file__).parents[2] / "models"


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def run(arguments: Sequence[str] | None = None) -> int:
    """The agent at work until it is told to stop. 2 for what the person can put right, else 0."""

    args = tyro.cli(Arguments, args=arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        check(args)
        check_output(args.json, "--json")
        check_output(args.trace, "--trace")
        config = make_config(
            device=args.device,
            source=str(args.source or ""),
            eyes=args.eyes,
            clock=args.clock,
            seed=args.seed,
            variants=parse_variants(args.variant),
            look=args.look,
            size=parse_size(args.size),
            compress=args.compress,
            faults=parse_faults(args.faults),
            phone=phone_options(
                args.device, serial=args.serial, capture=args.capture, touch=args.touch, package=args.package
            ),
            like_device=profile_named(args.like_device),
        )
        config = replace_in(config, "eyes", weights=args.weights)
        if args.profile is not None:
            config = dataclasses.replace(config, profile=read_profile(args.profile))
        config = replace_in(config, "worker", windows=not args.headless or args.screenshot is not None)
        usual = "idle" if args.device == "video" else policy_to_play(MODELS, _say)
        player = make_player(args.policy or usual, config)
        env = build_watched_env(config, args.record)
        worker = cast("Worker", env.worker)
        by_hand = stop_signals() if args.device == "phone" else contextlib.nullcontext()
        with by_hand, tracing(worker, args.trace, config.profile):
            figures = watch(
                env,
                worker,
                player,
                config,
                seed=args.seed,
                seconds=args.seconds,
                headless=args.headless,
                screenshot=args.screenshot,
                say=_say,
                hands_off=lambda: STOP.throw("the space bar"),
            )
        if args.json is not None:
            write_json(args.json, figures)
    except GreatWallError as error:
        if isinstance(error, WorkerError) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        _say(f"error: {error}")
        return 2
    return 0
