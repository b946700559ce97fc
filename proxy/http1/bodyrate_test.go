package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// TestBodyRate has a client send a body one byte at a time. The client gets 408, and the server's connection is
// closed. Package exchange tests how the rate is measured.
func TestBodyRate(t *testing.T) {
	toJSON := []route.Rule{
		{Match: route.Match{Payload: &route.Payload{Format: "json", Where: "a == 1"}}, Cluster: "web"},
		{Cluster: "web"},
	}
	for _, row := range []struct {
		name   string
		rate   int
		rules  []route.Rule
		status int
	}{
		{"too slow", 1000, nil, 408},
		{"too slow for its route", 1000, toJSON, 408},
		{"no floor", -1, nil, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				ended := make(chan error, 1)
				cfg := setup{loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{BodyRate: row.rate}}, rules: row.rules, servers: []string{
					proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
						req, err := http.ReadRequest(r)
						if err == nil {
							_, err = io.Copy(io.Discard, req.Body)
						}
						ended <- err
						io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
					}),
				}}
				r := start(t, cfg)
				quick := *r.service.current.Load()
				quick.timeouts.RatePeriod = brief
				r.service.current.Store(&quick)
				conn := r.dial()
				conn.Send("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
				if row.status == 200 {
					for range 4 {
						conn.Send("1\n \n")
						time.Sleep(brief)
					}
					conn.Send("0\n\n")
				} else {
					go func() {
						for { // until the connection is closed
							if _, err := io.WriteString(conn, "1\r\n \r\n"); err != nil {
								return
							}
							time.Sleep(brief / 2)
						}
					}()
				}
				resp, _ := conn.ReadResponse("POST")
				if resp.StatusCode != row.status || resp.Close != (row.status != 200) {
					t.Errorf("status %d, closes %v; want %d", resp.StatusCode, resp.Close, row.status)
				}
				if row.rules != nil {
					return // the server got no request
				}
				if err := <-ended; (err == nil) != (row.status == 200) {
					t.Errorf("the server's side ended with %v", err)
				}
			})
		})
	}
}
