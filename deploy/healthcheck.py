#!/opt/recrawl/bin/python
"""Ends with 0 if the web page of this container can read its store; for HEALTHCHECK. The port is $PORT, or 8080."""

import http.client
import os
import sys

try:
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8080")), timeout=4)
    connection.request("GET", "/readyz")
    status = connection.getresponse().status
except (OSError, http.client.HTTPException) as reason:
    sys.exit(f"no answer: {reason}")
sys.exit(0 if status == 200 else f"answered {status}")
