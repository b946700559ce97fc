package upstream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// serve serves connections until the test ends.
func serve(t *testing.T, network, address string, answer func(net.Conn)) loop.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	name := l.Addr().String()
	if network == "unix" {
		name = "unix:" + name
	}
	to, err := loop.ParseAddr(name)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// probe checks that a probe returns the error want. An empty want means no error.
func probe(t *testing.T, h upstream.Health, to loop.Addr, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := upstream.Probe(ctx, &h, to)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// refusing returns an address without a listener.
func refusing(t *testing.T) loop.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to, err := loop.ParseAddr(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestProbeTCP(t *testing.T) {
	t.Parallel()
	nothing := func(net.Conn) {}
	h := upstream.Health{Kind: upstream.HealthTCP}
	probe(t, h, serve(t, "tcp", "127.0.0.1:0", nothing), "")
	probe(t, h, serve(t, "unix", filepath.Join(t.TempDir(), "s"), nothing), "")
	probe(t, h, refusing(t), "refused")
	probe(t, h, loop.Addr{Unix: filepath.Join(t.TempDir(), "none")}, "dial unix")
}

func TestProbeHTTP(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		health upstream.Health
		answer string
		want   string // expected error
	}{
		{"200", upstream.Health{}, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ""},
		{"204", upstream.Health{}, "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{"1.0 until close", upstream.Health{}, "HTTP/1.0 200 OK\r\n\r\nok", ""},
		{"interim ones", upstream.Health{}, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
		{"a redirect", upstream.Health{}, "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "status 302"},
		{"503", upstream.Health{}, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "status 503"},
		{"one that is listed", upstream.Health{Statuses: []int{200, 401}}, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", ""},
		{"one that is not", upstream.Health{Statuses: []int{200, 401}}, "HTTP/1.1 204 No Content\r\n\r\n", "status 204"},
		{"no HTTP", upstream.Health{}, "SSH-2.0-OpenSSH_9.6\r\n", "no status line"},
		{"half an answer", upstream.Health{}, "HTTP/1.1 200 OK\r\nContent-", "EOF"},
		{"nothing", upstream.Health{}, "", "EOF"},
		{"interim ones only", upstream.Health{}, strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 10_000), "no complete response in the first"},
		{"path and host", upstream.Health{Path: "/health?full=1", Host: "api.example.com"}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.health.Kind = upstream.HealthHTTP
			to := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
				path, host := row.health.Path, row.health.Host
				if path == "" {
					path, host = "/", conn.LocalAddr().String()
				}
				want := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: ferry\r\nConnection: close\r\n\r\n"
				got := make([]byte, len(want))
				if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
					t.Errorf("asked %q, want %q, %v", got, want, err)
				}
				// The response arrives in two pieces.
				for _, part := range []string{row.answer[:len(row.answer)/2], row.answer[len(row.answer)/2:]} {
					if _, err := io.WriteString(conn, part); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
			probe(t, row.health, to, row.want)
		})
	}
	probe(t, upstream.Health{Kind: upstream.HealthHTTP}, refusing(t), "refused")
	unix := serve(t, "unix", filepath.Join(t.TempDir(), "s"), func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, 40))
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	probe(t, upstream.Health{Kind: upstream.HealthHTTP}, unix, "")
}

func TestProbeBolt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		answer func(f bolt.Frame) []byte
		want   string
	}{
		{"well", func(f bolt.Frame) []byte { return bolt.AppendHeartbeatAck(nil, f) }, ""},
		{"ill", func(f bolt.Frame) []byte { return bolt.AppendResponse(nil, f, bolt.StatusThreadpoolBusy) }, "busy"},
		{"another answer", func(f bolt.Frame) []byte {
			b, _ := bolt.Append(nil, bolt.Message{Dialect: bolt.V1, Type: bolt.Response, Command: bolt.CommandResponse, ID: f.ID()})
			return b
		}, "instead of the response"},
		{"a heartbeat of its own", func(bolt.Frame) []byte { b, _ := bolt.AppendHeartbeat(nil, bolt.V1, 7); return b }, "instead of the response"},
		{"half of it", func(f bolt.Frame) []byte { return bolt.AppendHeartbeatAck(nil, f)[:15] }, "EOF"},
		{"no bolt", func(bolt.Frame) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") }, "protocol"},
		{"a giant", func(f bolt.Frame) []byte {
			b, _ := bolt.Append(nil, bolt.Message{Dialect: bolt.V1, Type: bolt.Response, ID: f.ID(), Content: make([]byte, 1<<20)})
			return b
		}, "65536"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			to := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
				data := make([]byte, 22)
				if _, err := io.ReadFull(conn, data); err != nil {
					t.Error(err)
					return
				}
				f, need, err := bolt.Next(data, bolt.Limits{})
				if err != nil || need > 0 || f.Command() != bolt.CommandHeartbeat || f.Type() != bolt.Request {
					t.Errorf("asked % x: %v", data, err)
					return
				}
				conn.Write(row.answer(f))
			})
			probe(t, upstream.Health{Kind: upstream.HealthBolt}, to, row.want)
		})
	}
}

// TestProbeEnds checks that a probe ends with its context if the server never responds.
func TestProbeEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []upstream.HealthKind{upstream.HealthHTTP, upstream.HealthBolt} {
		connected := make(chan struct{})
		to := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			close(connected)
			io.Copy(io.Discard, conn)
		})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-connected
			cancel()
		}()
		if err := upstream.Probe(ctx, &upstream.Health{Kind: kind}, to); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", kind, err, context.Canceled)
		}
	}
}
