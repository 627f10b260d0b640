"""httpx."""

import sys

import httpx

answer = httpx.get(sys.argv[1], timeout=20)
print(answer.status_code, answer.text)
