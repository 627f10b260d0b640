#!/usr/bin/env python3
"""A gRPC client, `grpcio`. usage: HOST:PORT ; proxy and CA come from the environment. One JSON line for each kind of call to the server of
`tests/src/grpc.rs`, whose messages are plain text."""
import json
import os
import queue
import sys

import grpc

TARGET = sys.argv[1]
TEXT = {"request_serializer": str.encode, "response_deserializer": bytes.decode}


def say(call, **line):
    print(json.dumps({"call": call, **line}), flush=True)


def failed(call, error, **line):
    trailers = dict(error.trailing_metadata() or ())
    say(call, code=error.code().name, details=error.details(), trailer=trailers.get("x-detail"), **line)


def one_after_the_other(talk):
    """Each message is sent when the one before has been answered."""
    words = queue.Queue()
    answers = talk(iter(words.get, None), timeout=20)
    found = []
    for word in ("one", "two", "three"):
        words.put(word)
        found.append(next(answers))
    words.put(None)
    return found + list(answers)


with open(os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"], "rb") as file:
    assert file.read(), "no CA"
with grpc.secure_channel(TARGET, grpc.ssl_channel_credentials()) as channel:
    unary = channel.unary_unary("/echo.Echo/Say", **TEXT)
    count = channel.unary_stream("/echo.Echo/Count", **TEXT)
    say("unary", answer=unary("hello", timeout=20))
    say("server streaming", answer=list(count("3", timeout=20)))
    say("client streaming", answer=channel.stream_unary("/echo.Echo/Join", **TEXT)(iter("abc"), timeout=20))
    say("bidirectional", answer=one_after_the_other(channel.stream_stream("/echo.Echo/Talk", **TEXT)))
    try:
        unary("fail", timeout=20)
    except grpc.RpcError as error:
        failed("error alone", error)
    messages = []
    try:
        for message in count("2!", timeout=20):
            messages.append(message)
    except grpc.RpcError as error:
        failed("error behind messages", error, answer=messages)
    try:
        unary("slow", timeout=0.5)
    except grpc.RpcError as error:
        failed("deadline", error)
    for call, path in (("unimplemented", "/echo.Echo/Sing"), ("denied", "/admin.Admin/Say")):
        try:
            channel.unary_unary(path, **TEXT)("hello", timeout=20)
        except grpc.RpcError as error:
            failed(call, error)
