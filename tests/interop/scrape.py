"""Scrapes an address with the official parsers of Prometheus.

Usage: scrape.py URL. Asks once for the text format 0.0.4 and once for OpenMetrics, and writes one
line of JSON for each: the media type, and the families with name, type, help, unit and samples.
A text that the parser refuses ends it with a traceback.
"""

import json
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

for accept, parse in [
    ("text/plain;version=0.0.4", prometheus),
    ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5", openmetrics),
]:
    request = urllib.request.Request(sys.argv[1], headers={"accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        media_type = answer.headers["content-type"]
        text = answer.read().decode("utf-8")
    families = [
        {
            "name": family.name,
            "type": family.type,
            "help": family.documentation,
            "unit": family.unit,
            "samples": [
                {"name": sample.name, "labels": sample.labels, "value": sample.value}
                for sample in family.samples
            ],
        }
        for family in parse(text)
    ]
    print(json.dumps({"media_type": media_type, "families": families}))
