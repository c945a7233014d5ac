"""Frame -> facts: detector, terrain scan and HUD reader, or the game's own truth."""
