#!/usr/bin/env python3
"""A GraphQL client, `gql` over requests. usage: URL QUERY…; proxy and CA come from the environment. One JSON line per query."""
import json
import sys

from gql import Client, gql
from gql.transport.requests import RequestsHTTPTransport

for text in sys.argv[2:]:
    client = Client(transport=RequestsHTTPTransport(url=sys.argv[1], timeout=10))
    try:
        print(json.dumps({"data": client.execute(gql(text))}))
    except Exception as error:
        print(json.dumps({"exception": type(error).__name__, "message": str(error)[:400]}))
