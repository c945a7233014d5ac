"""GreatWallRun: learn to play a phone game from its screen and by touch alone.

Importing it registers `GreatWallRun-v0` with gymnasium; nothing else happens.
"""

import gymnasium

__version__ = "0.1.0"

if "GreatWallRun-v0" not in gymnasium.registry:
    gymnasium.register("GreatWallRun-v0", entry_point="greatwall.assembly:make_env")
