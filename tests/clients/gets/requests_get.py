"""requests."""

import sys

import requests

answer = requests.get(sys.argv[1], timeout=20)
print(answer.status_code, answer.text)
