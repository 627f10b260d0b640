"""A unary call by gRPC's C core; the URL's path is the method, and message and answer are empty."""

import sys
from urllib.parse import urlsplit

import grpc

url = urlsplit(sys.argv[1])
with grpc.secure_channel(url.netloc, grpc.ssl_channel_credentials()) as channel:
    try:
        channel.unary_unary(url.path)(b"", timeout=20)
        print("OK", url.path)
    except grpc.RpcError as error:
        print(error.code().name, error.details())
