"""Turns echoes of the sensor into water levels."""

import time
from dataclasses import dataclass

MOST_JUMP_CM = 40  # a passing ferry is not a flood


@dataclass(frozen=True)
class Reading:
    at: float
    level_cm: int


def level(distance_cm: float, datum_cm: int) -> int:
    """The level above chart datum."""
    return round(datum_cm - distance_cm)


def is_plausible(new: Reading, last: Reading | None) -> bool:
    return last is None or abs(new.level_cm - last.level_cm) <= MOST_JUMP_CM


def readings(settings):
    last = None
    while True:
        new = Reading(time.time(), level(settings["read"](), settings["datum_cm"]))
        if is_plausible(new, last):
            last = new
            yield new
        time.sleep(settings["interval_s"])
