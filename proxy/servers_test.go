package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// web starts a server that responds after pause with its name and the request's path and body.
func web(t *testing.T, name string, pause time.Duration) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		time.Sleep(pause)
		fmt.Fprintf(w, "%s %s %s", name, r.URL.Path, body)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// echo starts a Bolt server that responds with the content of the request.
func echo(t *testing.T) string {
	t.Helper()
	return serve(t, answer)
}

// serve starts a server that calls handle for each connection and closes the connection afterwards.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return ln.Addr().String()
}

func answer(c net.Conn) {
	for r := bufio.NewReader(c); ; {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		if f.Command() == wire.CommandHeartbeat {
			_, err = c.Write(wire.AppendHeartbeatAck(nil, f))
		} else {
			var out []byte
			if out, err = wire.Append(nil, wire.Message{Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Content: f.Content()}); err == nil {
				_, err = c.Write(out)
			}
		}
		if err != nil {
			return
		}
	}
}

func readFrame(r *bufio.Reader) (wire.Frame, error) {
	var data []byte
	for {
		f, need, err := wire.Next(data, wire.Limits{})
		switch {
		case err != nil:
			return f, err
		case need == 0 && len(data) == f.FrameLen():
			return f, nil
		case need == 0:
			need = f.FrameLen()
		}
		more := make([]byte, need-len(data))
		if _, err := io.ReadFull(r, more); err != nil {
			return f, err
		}
		data = append(data, more...)
	}
}

// start starts a proxy and shuts it down when the test ends.
func start(t *testing.T, cfg *Config) *Proxy {
	t.Helper()
	cfg.Loops = 2
	return run(t, cfg)
}

// run starts a proxy that ends with the test.
func run(t *testing.T, cfg *Config) *Proxy {
	t.Helper()
	return runLogged(t, cfg, nil)
}

func runLogged(t *testing.T, cfg *Config, log *slog.Logger) *Proxy {
	t.Helper()
	p, err := New(cfg, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return p
}

// at returns the address of listener i of p.
func at(p *Proxy, i int) string {
	_, addr, _ := strings.Cut(p.Addresses()[i], "://")
	return addr
}

// cluster1 returns the configuration of a cluster. A TLS handshake on a busy machine may take longer than the default timeout.
func cluster1(name string, servers ...string) upstream.Config {
	c := upstream.Config{Name: name, ConnectTimeout: 20 * time.Second}
	for _, s := range servers {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: s})
	}
	return c
}

// get sends one request and returns the body of the response.
func get(client *http.Client, url string) (string, error) {
	r, err := client.Post(url, "text/plain", strings.NewReader("hi"))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = errors.New(r.Status)
	}
	return string(body), err
}

// call sends a request over a new connection and checks the response.
func call(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return callOn(c)
}

// callOn sends a request over c and checks the response.
func callOn(c net.Conn) error {
	out, err := wire.Append(nil, wire.Message{Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: 7, Timeout: 5 * time.Second, Class: "a.B", Content: []byte("hello")})
	if err != nil {
		return err
	}
	if _, err := c.Write(out); err != nil {
		return err
	}
	f, err := readFrame(bufio.NewReader(c))
	if err != nil {
		return err
	}
	if f.ID() != 7 || f.Status() != wire.StatusSuccess || string(f.Content()) != "hello" {
		return fmt.Errorf("answer to %d: %v %q", f.ID(), f.Status(), f.Content())
	}
	return nil
}

// load sends requests to url from several clients until stop is called. stop returns the number of responses by their
// first word.
func load(t *testing.T, url string, clients int) (stop func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	counts := map[string]int{}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for client := (&http.Client{Transport: transport, Timeout: 20 * time.Second}); ; {
				select {
				case <-done:
					return
				default:
				}
				body, err := get(client, url)
				if err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				name, _, _ := strings.Cut(body, " ")
				mu.Lock()
				counts[name]++
				mu.Unlock()
			}
		})
	}
	return func() map[string]int { close(done); wg.Wait(); return counts }
}
