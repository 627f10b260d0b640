"""urllib of the standard library."""

import sys
import urllib.error
import urllib.request

try:
    answer = urllib.request.urlopen(sys.argv[1], timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.read().decode())
