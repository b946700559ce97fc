"""A server made with Python's http.server, which speaks HTTP/1.0: python3 server.py PORT. SIGTERM ends it."""

import hashlib
import http.server
import os
import signal
import sys
import urllib.parse

LINE = b"All that is gold does not glitter, not all those who wander are lost.\n"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def body(self):
        """Yields the request's body in pieces. The library leaves chunks to the program."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/hash":
            digest, length = hashlib.sha256(), 0
            for piece in self.body():
                digest.update(piece)
                length += len(piece)
            content = [b"%s %d %s\n" % (self.command.encode(), length, digest.hexdigest().encode())]
        elif url.path == "/bytes":
            n = int(urllib.parse.parse_qs(url.query)["n"][0])
            content = self.pattern(n)
        elif url.path == "/text":
            content = [LINE * 1500]
        else:
            content = [b"%s %s\n" % (self.command.encode(), self.path.encode())]
        self.send_response(200)
        self.end_headers()  # no length: the answer ends with the connection
        if self.command != "HEAD":
            for piece in content:
                self.wfile.write(piece)

    def pattern(self, left):
        at = 0
        while left > 0:
            piece = b"".join(b"%015d\n" % (i % 65536) for i in range(at, at + 4096))[:left]
            at += 4096
            left -= len(piece)
            yield piece

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
    signal.signal(signal.SIGTERM, lambda *args: os._exit(0))
    print("ready", flush=True)
    server.serve_forever()
