package boltload

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

var small = Spec{Conns: 20, InFlight: 3, Least: 0, Most: 3000, Warm: 20 * time.Millisecond, Window: 50 * time.Millisecond}

func TestMeasure(t *testing.T) {
	addr := freeAddr(t)
	backend, err := StartBackend(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Stop()
	if _, err := StartBackend(nil, addr); err == nil {
		t.Error("two backends listen at one address")
	}
	s := small
	s.Addr, s.Proxy = addr, []int{backend.PID()}
	open := 0
	r, err := Measure(nil, s, func() (err error) { open, err = descriptors(backend.PID()); return err })
	if err != nil {
		t.Fatal(err)
	}
	if open < s.Conns {
		t.Errorf("the backend has %d files open at the end, want the %d connections", open, s.Conns)
	}
	if r.Requests == 0 || r.All <= r.Requests || r.Window < s.Window || r.CPU <= 0 || r.Mean <= 0 || r.P99 < r.P50 {
		t.Errorf("%+v", r)
	}
}

func TestMeasureRefuses(t *testing.T) {
	for _, s := range []Spec{{}, {Conns: 1, InFlight: 1, Least: 2, Most: 1, Window: 1}, {Conns: 1, InFlight: 1}} {
		if _, err := Measure(nil, s, nil); err == nil {
			t.Errorf("%+v makes a load", s)
		}
	}
}

func TestMeasureTellsWhatFailed(t *testing.T) {
	s := small
	s.Addr = freeAddr(t)
	if _, err := Measure(nil, s, nil); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want connection refused", err)
	}
}

// The client reports an error for each kind of wrong response.
func TestFaultsAreSeen(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(response []byte) []byte
		want  string
	}{
		{"another id", func(a []byte) []byte { a[8] += 3; return a }, "which is not in flight"},
		{"the response twice", func(a []byte) []byte { return append(a, a...) }, "which is not in flight"},
		{"the id of another request", func(a []byte) []byte { a[8] ^= 1; return a }, "was answered with"},
		{"a status", func(a []byte) []byte { a[11] = 6; return a }, "status 6"},
		{"other content", func(a []byte) []byte { a[len(a)-1]++; return a }, "was answered with"},
		{"another stamp", func(a []byte) []byte { a[responseFixed+len(responseClass)]++; return a }, "was answered with"},
		{"a byte more", func(a []byte) []byte { a[19]++; return append(a, 0) }, "was answered with 101 others"},
		{"another class", func(a []byte) []byte { a[responseFixed]++; return a }, "class"},
		{"a request", func([]byte) []byte { return append(appendRequest(nil, 0, 1), 0) }, "want a response"},
		{"another protocol", func(a []byte) []byte { a[0] = 9; return a }, "want version 1"},
		{"the end", func([]byte) []byte { return nil }, "ended the connection"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := small
			s.Conns, s.InFlight, s.Least, s.Most = 2, 3, 100, 100
			s.Addr = spoiled(t, row.spoil)
			if _, err := run(s); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// spoiler is a backend that changes each response before sending it. A nil response closes the connection.
type spoiler struct {
	loop.Base
	spoil func([]byte) []byte
}

func (h spoiler) Data(c *loop.Conn, p []byte) int {
	f, err := next(p)
	if err != nil || f.size == 0 {
		return 0
	}
	b := newBackend()
	b.response[8], b.response[19] = byte(f.id), byte(len(f.content))
	if response := h.spoil(append(b.response[:], f.content...)); response != nil {
		c.Write(response)
	} else {
		c.Close()
	}
	return f.size
}

func spoiled(t *testing.T, spoil func([]byte) []byte) string {
	t.Helper()
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = group.Shutdown(context.Background()) })
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := group.Listen(at, func(*loop.Conn) loop.Handler { return spoiler{spoil: spoil} })
	if err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

// A frame written by the Java encoder is decoded correctly, even if it arrives in two pieces cut at any byte.
func TestNext(t *testing.T) {
	for _, row := range []struct {
		name, hex string
		command   uint16
		id        uint32
		content   string
	}{
		{"request", "0101000101000000010100000bb800100020000000056a6176612e6c616e672e537472696e67000000077365727669636500000011636f6d2e746573742e4563686f3a312e3068656c6c6f", commandRequest, 1, "hello"},
		{"response", "01000002010000000101000000100000000000056a6176612e6c616e672e537472696e67776f726c64", commandResponse, 1, "world"},
		{"heartbeat", "01010000010000004d01ffffffff0000000000000000", commandHeartbeat, 77, ""},
	} {
		frame, err := hex.DecodeString(row.hex)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range frame {
			if f, err := next(frame[:cut]); err != nil || f.size != 0 {
				t.Errorf("%s, cut at %d: %+v, %v", row.name, cut, f, err)
			}
		}
		f, err := next(append(frame, 0xff))
		if err != nil || f.size != len(frame) || f.command != row.command || f.id != row.id || string(f.content) != row.content {
			t.Errorf("%s: %+v, %v", row.name, f, err)
		}
	}
}

func TestBackendAnswersHeartbeats(t *testing.T) {
	addr := freeAddr(t)
	backend, err := StartBackend(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Stop()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask, _ := hex.DecodeString("01010000010000004d01ffffffff0000000000000000")
	if _, err := conn.Write(ask); err != nil {
		t.Fatal(err)
	}
	response := make([]byte, responseFixed)
	if _, err := conn.Read(response); err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(response), "01000000010000004d0100000000000000000000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func descriptors(pid int) (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(all), err
}

func freeAddr(t *testing.T) string {
	t.Helper()
	at, err := Unused()
	if err != nil {
		t.Fatal(err)
	}
	return at.Backend
}
