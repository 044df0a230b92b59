"""Reads the gauge and warns. Usage: python3 -m tidepool --settings FILE"""

import argparse
import tomllib

from . import alerts, gauge


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", required=True)
    options = parser.parse_args()
    with open(options.settings, "rb") as file:
        settings = tomllib.load(file)
    for reading in gauge.readings(settings["sensor"]):
        alerts.consider(reading, settings["alerts"])


if __name__ == "__main__":
    main()
