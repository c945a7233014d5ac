"""A policy made ready to act chooses what the network itself finds likeliest."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from greatwall.contracts import OBSERVATION_SIZE
from greatwall.extras import extras_size
from greatwall.policies.acting import ReadyPolicy
from greatwall.policies.network import NetworkSpec, build_policy
from greatwall.policies.policy_file import Policy

SPECS = [
    NetworkSpec("flat", {}, (8,)),
    NetworkSpec("normalised", {}, (8,)),
    NetworkSpec("radial", {}, (8,)),
    NetworkSpec("timed", {}, (8,), extras=("touches", "motion", "ahead")),
    NetworkSpec("timed", {}, (8,), extras=("recall",)),
]


def varied(spec: NetworkSpec) -> Policy:
    """A policy whose weights are far enough from 0 that it chooses all three actions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_policy(spec)
        network.action_net.weight.data.normal_(0.0, 3.0)
    return Policy(network, spec, "x", {})


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: "-".join((spec.extractor, *spec.extras)))
def test_it_chooses_as_the_network_does(spec: NetworkSpec) -> None:
    policy = varied(spec)
    ready = ReadyPolicy(policy)
    rng = np.random.default_rng(0)
    observations = rng.random((200, OBSERVATION_SIZE + extras_size(spec.extras))).astype(np.float32)
    chosen = [ready.likeliest(one) for one in observations]
    assert chosen == [int(policy.probabilities(one).argmax()) for one in observations]
    assert len(set(chosen)) > 1


def test_later_learning_does_not_change_it() -> None:
    policy = varied(SPECS[0])
    ready = ReadyPolicy(policy)
    rng = np.random.default_rng(1)
    observations = rng.random((50, OBSERVATION_SIZE)).astype(np.float32)
    before = [ready.likeliest(one) for one in observations]
    policy.network.action_net.weight.data.neg_()
    assert [ready.likeliest(one) for one in observations] == before
    assert [int(policy.probabilities(one).argmax()) for one in observations] != before
