package proxytest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Listen returns a listener on a port of its own, which closes when the test ends.
func Listen(tb testing.TB) net.Listener {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	return ln
}

// DeadAddr returns an address that refuses connections.
func DeadAddr(tb testing.TB) string {
	tb.Helper()
	ln := Listen(tb)
	ln.Close()
	return ln.Addr().String()
}

// Serve starts a server that calls handle for each connection, in a goroutine of its own, and closes the connection behind
// that. It returns the server's address.
func Serve(tb testing.TB, handle func(net.Conn)) string {
	tb.Helper()
	ln := Listen(tb)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return ln.Addr().String()
}

// Script is Serve with a reader, and a deadline for all of it.
func Script(tb testing.TB, talk func(conn net.Conn, r *bufio.Reader)) string {
	tb.Helper()
	return Serve(tb, func(conn net.Conn) {
		_ = conn.SetDeadline(time.Now().Add(Patience))
		talk(conn, bufio.NewReader(conn))
	})
}

// ServeHTTP starts a server of package net/http and returns its address.
func ServeHTTP(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	ln := Listen(tb)
	s := &http.Server{Handler: h, ReadHeaderTimeout: Patience}
	go func() { _ = s.Serve(ln) }()
	tb.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// EchoHTTP answers with the request's body. X-Seen says what the server saw of the request, X-Trailer-NAME its trailers.
func EchoHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s", r.Method, r.Host, r.URL))
	for name, values := range r.Trailer {
		w.Header().Set("X-Trailer-"+name, strings.Join(values, ","))
	}
	_, _ = w.Write(body)
}

// CRLF writes the ends of lines as HTTP/1.1 has them.
func CRLF(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// Client is a raw connection of HTTP/1.1.
type Client struct {
	net.Conn
	R  *bufio.Reader
	TB testing.TB
}

// Dial connects a Client. Its connection closes when the test ends.
func Dial(tb testing.TB, addr string) *Client {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(Patience))
	return &Client{conn, bufio.NewReader(conn), tb}
}

// Send writes text, whose lines end with \n.
func (c *Client) Send(text string) {
	c.TB.Helper()
	if _, err := io.WriteString(c, CRLF(text)); err != nil {
		c.TB.Fatal(err)
	}
}

// ReadResponse reads one response to a request of that method, and its body.
func (c *Client) ReadResponse(method string) (*http.Response, string) {
	c.TB.Helper()
	resp, err := http.ReadResponse(c.R, &http.Request{Method: method})
	if err != nil {
		c.TB.Fatalf("read the response: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.TB.Fatalf("read the body: %v", err)
	}
	return resp, string(body)
}

// Ends reads to the end of the connection, which must come without an error and without another byte.
func (c *Client) Ends() {
	c.TB.Helper()
	rest, err := io.ReadAll(c.R)
	if err != nil || len(rest) > 0 {
		c.TB.Fatalf("after the response: %q, %v; want the end", rest, err)
	}
}
