"""Decides whether anybody has to know."""

STAGES = [(300, "notice"), (340, "warning"), (380, "flood")]


def stage(level_cm: int) -> str | None:
    """The highest stage that the level has reached."""
    reached = [name for limit, name in STAGES if level_cm >= limit]
    return reached[-1] if reached else None


def consider(reading, settings) -> None:
    # TODO: one message per tide and stage, not one per reading
    name = stage(reading.level_cm)
    if name:
        settings["send"](f"{name}: {reading.level_cm} cm")
