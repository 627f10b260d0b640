#!/usr/bin/env python3
"""A GraphQL server by graphql-core, over TLS. usage: CERT KEY. Prints its port."""
import logging
import ssl
import sys

from flask import Flask, jsonify, request
from graphql import build_schema, graphql_sync
from werkzeug.serving import make_server

schema = build_schema("""
    type Query { viewer: User, organization: User }
    type Mutation { rename(name: String!): User, drop: User }
    type User { login: String }
""")
app = Flask(__name__)


def user(*_, **arguments):
    return {"login": arguments.get("name", "somebody")}


@app.route("/graphql", methods=["GET", "POST"])
def graphql():
    asked = request.get_json() if request.method == "POST" else request.args
    root = {"viewer": user, "organization": user, "rename": user, "drop": user}
    result = graphql_sync(schema, asked["query"], root, operation_name=asked.get("operationName"), variable_values=asked.get("variables") or None)
    return jsonify(result.formatted)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
print(server.server_port, flush=True)
server.serve_forever()
