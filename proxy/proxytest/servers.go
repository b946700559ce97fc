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

// Listen returns a listener on a new port. The listener is closed when the test ends.
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

// Serve starts a server that calls handle for each connection on a goroutine of its own. The connection is closed
// when handle returns. Serve returns the server's address.
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

// Script is like Serve, but talk also gets a buffered reader, and the connection has a deadline.
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

// ServeHTTP2 starts a server of package net/http that speaks cleartext HTTP/2 with prior knowledge, and returns its
// address. cfg may be nil.
func ServeHTTP2(tb testing.TB, cfg *http.HTTP2Config, h http.HandlerFunc) string {
	tb.Helper()
	ln := Listen(tb)
	s := &http.Server{Handler: h, ReadHeaderTimeout: Patience, HTTP2: cfg, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(ln) }()
	tb.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// EchoHTTP responds with the request's body. The X-Seen field describes the request as received. X-Trailer-NAME has
// the value of trailer NAME.
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

// CRLF replaces each \n by \r\n.
func CRLF(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// Client is a raw connection of an HTTP/1.1 client.
type Client struct {
	net.Conn
	R  *bufio.Reader
	TB testing.TB
}

// Dial connects a Client. The connection is closed when the test ends.
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

// Send writes text and replaces each \n by \r\n.
func (c *Client) Send(text string) {
	c.TB.Helper()
	if _, err := io.WriteString(c, CRLF(text)); err != nil {
		c.TB.Fatal(err)
	}
}

// ReadResponse reads one response and its body. method is the method of the request.
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

// Ends reads until the connection ends. The test fails if another byte or an error comes first.
func (c *Client) Ends() {
	c.TB.Helper()
	rest, err := io.ReadAll(c.R)
	if err != nil || len(rest) > 0 {
		c.TB.Fatalf("after the response: %q, %v; want the end", rest, err)
	}
}
