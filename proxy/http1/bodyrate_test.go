package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
)

// TestBodyRate has a client send a body in small pieces, with the end of a period between two of them: it keeps its request and
// the server's connection while it is as fast as BodyRate says, and loses both when it is not.
func TestBodyRate(t *testing.T) {
	const floor = 10_000 // bytes a period, at 1000 a second
	pieces := func(n, size int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.Repeat(" ", size)
		}
		return all
	}
	toJSON := []route.Rule{
		{Match: route.Match{Payload: &route.Payload{Format: "json", Where: "a == 1"}}, Cluster: "web"},
		{Cluster: "web"},
	}
	for _, row := range []struct {
		name   string
		rate   int
		rules  []route.Rule
		pieces []string
		status int
	}{
		{"fast enough", 1000, nil, pieces(5, floor), 200},
		{"too slow", 1000, nil, pieces(5, 1), 408},
		{"fast only at first", 1000, nil, append(pieces(1, 4*floor), pieces(5, 1)...), 408},
		{"too slow for its route", 1000, toJSON, pieces(5, 1), 408},
		{"no floor", -1, nil, pieces(5, 1), 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			both(t, func(t *testing.T, c loop.Config) {
				c.Loops = 1
				ended := make(chan error, 1)
				r := start(t, setup{loop: c, config: Config{BodyRate: row.rate}, rules: row.rules, servers: []string{
					script(t, func(conn net.Conn, r *bufio.Reader) {
						req, err := http.ReadRequest(r)
						if err == nil {
							_, err = io.Copy(io.Discard, req.Body)
						}
						ended <- err
						io.WriteString(conn, crlf("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
					}),
				}})
				conn := r.dial()
				conn.send("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
				r.eventually("the client is accepted", func() bool { sum, _ := r.group.Stats(); return sum.Accepted == 1 })
				for _, piece := range row.pieces {
					before := onLoop(r, bodyRead)
					conn.send(fmt.Sprintf("%x\n%s\n", len(piece), piece))
					r.eventually("the piece is read", func() bool {
						return onLoop(r, bodyRead) >= before+int64(len(piece))
					})
					over := onLoop(r, func(c *loop.Conn, h loop.Handler) bool {
						s, ok := h.(*session)
						if ok && row.rate > 0 {
							s.Timer(c, rateTimer)
						}
						return !ok || s.phase == unused
					})
					if over {
						break
					}
				}
				if row.status == 200 {
					conn.send("0\n\n")
				}
				resp, _ := conn.read("POST")
				if resp.StatusCode != row.status || resp.Close != (row.status != 200) {
					t.Errorf("status %d, closes %v; want %d", resp.StatusCode, resp.Close, row.status)
				}
				if row.rules != nil {
					return // the server has not been asked
				}
				if err := <-ended; (err == nil) != (row.status == 200) {
					t.Errorf("the server's side ended with %v", err)
				}
			})
		})
	}
}

// bodyRead is how much of its request's body a client's connection has delivered.
func bodyRead(_ *loop.Conn, h loop.Handler) int64 {
	if s, ok := h.(*session); ok && s.phase != atHead {
		return s.bodySeen()
	}
	return 0
}
