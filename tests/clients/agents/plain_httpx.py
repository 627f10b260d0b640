#!/usr/bin/env python3
"""An ordinary client, `httpx`. usage: URL… ; proxy and CA come from the environment. One JSON line per URL."""
import json
import os
import ssl
import sys

import httpx

context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
with httpx.Client(verify=context, timeout=10) as client:
    for url in sys.argv[1:]:
        try:
            answer = client.get(url)
            print(json.dumps({"status": answer.status_code, "body": answer.text[:2000], "reason": answer.headers.get("x-tollgate-reason")}))
        except Exception as error:
            print(json.dumps({"exception": type(error).__name__, "message": str(error)[:300]}))
