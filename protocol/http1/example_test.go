package http1_test

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/protocol/http1"
)

// A proxy forwards a request: it writes the head again with few copies, and forwards the body unchanged.
func Example() {
	buf := []byte("POST /readings HTTP/1.1\r\nHost: edge\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n42")

	var head http1.Head
	n, err := http1.ParseRequest(buf, &head, nil)
	if err != nil || n == 0 {
		fmt.Println("malformed, or not all there yet:", err)
		return
	}
	out := http1.AppendRequest(nil, buf, &head, &http1.RequestEdit{ForwardedFor: "192.0.2.7"})
	body := head.Body(nil)
	m, err := body.Take(buf[n:])
	if err != nil {
		fmt.Println(err)
		return
	}
	out = append(out, buf[n:n+m]...)
	fmt.Println(strings.ReplaceAll(string(out), "\r", ""))
	fmt.Println("all sent:", body.Done(), "- another may follow:", head.KeepAlive)
	// Output:
	// POST /readings HTTP/1.1
	// Host: edge
	// Content-Length: 2
	// X-Forwarded-For: 192.0.2.7
	//
	// 42
	// all sent: true - another may follow: true
}

// The parts of a request are views of the received bytes.
func ExampleParseRequest() {
	buf := []byte("GET /v1/devices?limit=5 HTTP/1.1\r\nHost: edge:8080\r\nX-Site: north\r\n\r\n")
	var head http1.Head
	if n, err := http1.ParseRequest(buf[:30], &head, nil); n == 0 && err == nil {
		fmt.Println("30 bytes are not the whole head")
	}
	if _, err := http1.ParseRequest(buf, &head, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", head.Authority.Of(buf), head.Path.Of(buf), head.Query.Of(buf))
	fmt.Printf("%s\n", head.Get(buf, "x-site"))
	// Output:
	// 30 bytes are not the whole head
	// edge:8080 /v1/devices limit=5
	// north
}

// A request that two servers could interpret differently is refused. The error has the status of the response.
func ExampleError() {
	buf := []byte("POST / HTTP/1.1\r\nHost: edge\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
	var head http1.Head
	_, err := http1.ParseRequest(buf, &head, nil)
	var refused *http1.Error
	if errors.As(err, &refused) {
		fmt.Println(refused)
	}
	// Output:
	// http1: both Content-Length and Transfer-Encoding at offset 76: respond with 400 and close the connection
}

// A chunked response is forwarded to a client of HTTP/1.0, which does not support chunks. So only the content is forwarded.
func ExampleBody_Next() {
	buf := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
	var head http1.Head
	at, err := http1.ParseResponse(buf, &head, http1.MethodGet, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := http1.AppendResponse(nil, buf, &head, &http1.ResponseEdit{Decoded: true})
	for body := head.Body(nil); !body.Done(); {
		n, part, err := body.Next(buf[at:])
		if err != nil || n == 0 {
			fmt.Println("malformed, or not all there yet:", err)
			return
		}
		out = append(out, part.Content.Of(buf[at:])...)
		at += n
	}
	fmt.Println(strings.ReplaceAll(string(out), "\r", ""))
	// Output:
	// HTTP/1.1 200 OK
	// Connection: close
	//
	// abcde
}

// A route of a gateway replaces the prefix of the path, sets one field and removes another.
func ExampleAppendRequest() {
	buf := []byte("GET /api/v1/devices HTTP/1.1\r\nHost: edge\r\nCookie: a=1\r\nX-Tenant: me\r\n\r\n")
	fields, err := http1.NewEdits([]http1.Pair{{Name: "X-Tenant", Value: "north"}}, nil, []string{"Cookie"})
	if err != nil {
		fmt.Println(err)
		return
	}
	edit := http1.RequestEdit{Strip: len("/api/v1"), Prefix: "/v2", Fields: fields}
	if err := edit.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	var head http1.Head
	if _, err := http1.ParseRequest(buf, &head, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(string(http1.AppendRequest(nil, buf, &head, &edit)), "\r", ""))
	// Output:
	// GET /v2/devices HTTP/1.1
	// Host: edge
	// X-Tenant: north
}
