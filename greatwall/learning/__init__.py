"""How a policy is trained: presets, callbacks, evaluation, files that a run leaves. Main thread."""
