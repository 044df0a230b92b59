"""An OTLP/HTTP receiver over the official protobuf definitions.

Listens on a free port of the loopback address, says which on its first line, and then writes one
line of JSON per request that it could decode: the path, the headers, and the message in the JSON
mapping of protobuf. What it cannot decode it refuses with 400 and a line with the key `refused`.
"""

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

SERVICES = {
    "/v1/traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
    "/v1/logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse),
}


# Requests come side by side, and so that lines do not run into each other:
speaking = threading.Lock()


def say(**line):
    with speaking:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            if self.headers["content-type"] != "application/x-protobuf":
                raise ValueError(f"content-type {self.headers['content-type']}")
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            Request, Response = SERVICES[self.path]
            message = Request.FromString(body)
        except Exception as error:
            say(refused=f"{self.path}: {type(error).__name__}: {error}")
            self.answer(400, b"")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        say(path=self.path, headers=headers, message=MessageToDict(message))
        self.answer(200, Response().SerializeToString())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
say(port=server.server_port)
server.serve_forever()
