"""A client made with Python's http.client and urllib: python3 client.py HOST:PORT. It prints a line for each part that went
as it should, and dies of the first that did not."""

import hashlib
import http.client
import os
import sys
import urllib.request

address = sys.argv[1]


def check(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def hashed(method, data):
    return b"%s %d %s\n" % (method.encode(), len(data), hashlib.sha256(data).hexdigest().encode())


def ask(conn, method, path, *args, **kwargs):
    conn.request(method, path, *args, **kwargs)
    answer = conn.getresponse()
    body = answer.read()
    check(answer.status, 200)
    return body


conn = http.client.HTTPConnection(address, timeout=60)
for i in range(30):
    check(ask(conn, "GET", f"/echo/{i}"), b"GET /echo/%d\n" % i)
    data = os.urandom(i * 997)
    check(ask(conn, "POST", "/hash", data), hashed("POST", data))
    check(ask(conn, "HEAD", "/text"), b"")
print("http.client: 90 requests")

data = os.urandom(100_000)
pieces = (data[i : i + 777] for i in range(0, len(data), 777))
check(ask(conn, "PUT", "/hash", pieces, encode_chunked=True), hashed("PUT", data))
check(len(ask(conn, "GET", "/bytes?n=5000000")), 5000000)
print("http.client: chunks")
conn.close()

old = http.client.HTTPConnection(address, timeout=60)
old._http_vsn, old._http_vsn_str = 10, "HTTP/1.0"
for i in range(5):
    check(ask(old, "GET", f"/echo/{i}"), b"GET /echo/%d\n" % i)
    check(ask(old, "GET", f"/echo/{i}", headers={"Connection": "keep-alive"}), b"GET /echo/%d\n" % i)
    check(len(ask(old, "GET", "/bytes?n=100000")), 100000)
print("http.client, HTTP/1.0: 15 requests")

for i in range(20):
    with urllib.request.urlopen(f"http://{address}/echo?{i}", timeout=60) as answer:
        check(answer.read(), b"GET /echo?%d\n" % i)
    with urllib.request.urlopen(f"http://{address}/hash", data, timeout=60) as answer:
        check(answer.read(), hashed("POST", data))
print("urllib: 40 requests")
