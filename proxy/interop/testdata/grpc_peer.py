"""A server or a client of gRPC's Python library, with the service of bench/cmd/grpcpeer:

grpc_peer.py PORT                           prints "ready"; SIGTERM ends it
grpc_peer.py call HOST:PORT [CA-FILE]       prints "passed" and the number of calls; sends the token FERRY_TOKEN of the environment, if there is one
"""

import concurrent.futures
import os
import signal
import sys
import threading

import grpc

UNARY, STREAM = "/interop.Echo/Unary", "/interop.Echo/Stream"
OPTIONS = [("grpc.max_receive_message_length", 16 << 20), ("grpc.enable_http_proxy", 0)]
TOKEN = (("authorization", "Bearer " + os.environ["FERRY_TOKEN"]),) if "FERRY_TOKEN" in os.environ else ()
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Echo(grpc.GenericRpcHandler):
    """Returns each message. The metadata x-status is the status that a call ends with."""

    def service(self, details):
        metadata = dict(details.invocation_metadata)

        def stream(messages, context):
            context.set_trailing_metadata((("x-seen", metadata.get("x-client", "")),))
            if "x-status" in metadata:
                context.abort(CODES[int(metadata["x-status"])], "as asked")
            yield from messages

        def unary(message, context):
            return next(stream(iter([message]), context))

        if details.method == UNARY:
            return grpc.unary_unary_rpc_method_handler(unary)
        return grpc.stream_stream_rpc_method_handler(stream)


def serve(port):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(32), handlers=[Echo()], options=OPTIONS)
    if server.add_insecure_port(f"127.0.0.1:{port}") != int(port):
        sys.exit(1)
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print("ready", flush=True)
    server.wait_for_termination()


def call(address, ca=None):
    if ca:
        with open(ca, "rb") as f:
            channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(f.read()), OPTIONS)
    else:
        channel = grpc.insecure_channel(address, OPTIONS)
    unary, stream = channel.unary_unary(UNARY), channel.stream_stream(STREAM)
    calls = 0

    def one(size):
        message = os.urandom(size)
        response, call = unary.with_call(message, metadata=(("x-client", f"size {size}"), *TOKEN), timeout=60)
        assert response == message, f"{len(response)} bytes came back, or others"
        assert dict(call.trailing_metadata())["x-seen"] == f"size {size}"

    for size in (0, 1, 1000, 5 << 20):
        one(size)
        calls += 1
    for number, code in CODES.items():
        if number == 0:
            continue
        try:
            unary(b"", metadata=(("x-status", str(number)), *TOKEN), timeout=60)
            sys.exit(f"status {code} did not arrive")
        except grpc.RpcError as e:
            assert (e.code(), e.details()) == (code, "as asked"), e
        calls += 1

    got, more = [], threading.Semaphore(0)

    def messages():
        for i in range(200):
            assert len(got) == i, "a message was sent before the one before came back"
            yield b"message %d" % i
            while len(got) == i:
                more.acquire()

    for message in stream(messages(), metadata=TOKEN, timeout=60):
        got.append(message)
        more.release()
    assert got == [b"message %d" % i for i in range(200)]
    calls += 1

    try:
        forever = threading.Event()
        for _ in stream(iter(forever.wait, None), metadata=TOKEN, timeout=0.1):
            sys.exit("a message that was not sent came back")
    except grpc.RpcError as e:
        # The server resets the call at the same time. This library reports that as CANCELLED; a proxy may say UNAVAILABLE.
        assert e.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE), e
    calls += 1

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        list(pool.map(one, (i * 1009 for i in range(50))))
    print("passed", calls + 50, flush=True)
    os._exit(0)  # a thread still waits for a message to send


if sys.argv[1] == "call":
    call(*sys.argv[2:])
else:
    serve(sys.argv[1])
