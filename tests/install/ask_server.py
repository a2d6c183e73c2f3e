"""Asks a server of `liana serve` for predictions until a file is there, and counts what comes.

ask_server.py PORT MODEL IMAGE STOP_FILE: writes 'N answers', or fails at the first request that gets none. Each request has
a connection of its own, so that a server that is away for a moment is seen.
"""

import base64
import json
import os
import sys
import time
import urllib.request

port, model, image, stop = sys.argv[1:]
body = json.dumps({"instances": [{"b64": base64.b64encode(open(image, "rb").read()).decode()}]}).encode()
answers, first, begin = 0, None, time.monotonic()
while not os.path.exists(stop):
    if time.monotonic() - begin > 300:
        sys.exit(f"{stop} does not come")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models/{model}:predict", body, timeout=30) as answer:
            row = json.load(answer)["predictions"][0]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"after {answers} answers: {error}")
    if first is None:
        first = row
        print("the first answer", flush=True)
    if row != first:
        sys.exit(f"after {answers} answers: found {row}, before {first}")
    answers += 1
print(f"{answers} answers", flush=True)
