#!/usr/bin/env python3
"""An ordinary client, `requests`. usage: URL… ; proxy and CA come from the environment. One JSON line per URL."""
import json
import sys

import requests

with requests.Session() as session:
    for url in sys.argv[1:]:
        try:
            answer = session.get(url, timeout=10)
            print(json.dumps({"status": answer.status_code, "body": answer.text[:2000], "reason": answer.headers.get("x-tollgate-reason")}))
        except Exception as error:
            print(json.dumps({"exception": type(error).__name__, "message": str(error)[:300]}))
