package attacker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

// Spec describes an attack.
type Spec struct {
	Kind Kind
	Addr string // of the server
	From string // local IP address, so that limits for each client address do not meet other clients
}

// Count is what the attacker did so far.
type Count struct {
	Opened     int64 // connections
	Closed     int64 // connections that the server closed or refused
	Operations int64 // frames, requests or bytes: see the attack
}

// A process of this program that finds this variable in its environment is an attacker.
const variable = "FERRY_BENCH_ATTACKER"

// Main runs the attack if this process was started for it, and does not return then. A benchmark's main and the TestMain of its
// tests must call Main early.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	fmt.Fprintln(os.Stderr, attack(os.Args[1]))
	os.Exit(1)
}

// reportEvery is the time between two lines with a Count.
const reportEvery = 50 * time.Millisecond

// Start starts an attacker, pinned to cores. It has the lowest priority, so that on a shared core the other clients and the
// backend come first. The caller stops it.
func Start(cores []int, s Spec) (*pinned.Process, error) {
	if _, ok := plans[s.Kind]; !ok {
		return nil, fmt.Errorf("attacker: no attack %q: want one of %q", s.Kind, Kinds)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("attacker: %w", err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("attacker: %w", err)
	}
	return pinned.Start(cores, "", "nice", "-n", "19", "env", variable+"=1", self, string(text))
}

// Counted returns the last Count that an attacker has written.
func Counted(p *pinned.Process) (c Count, err error) {
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil {
		return c, fmt.Errorf("attacker: it says %q: %w", lines[len(lines)-1], err)
	}
	return c, nil
}

// WaitOpened waits until an attacker has opened its first connection.
func WaitOpened(p *pinned.Process, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; time.Sleep(reportEvery) {
		c, err := Counted(p)
		if err == nil && c.Opened > 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("attacker: no connection within %v: it says %q", timeout, p.Output())
		}
	}
}

// run is a running attack.
type run struct {
	Spec
	plan
	dialer net.Dialer
	body   []byte

	opened, closed, operations atomic.Int64
}

// attack runs the attack in a Spec in JSON until this process is ended.
func attack(text string) error {
	r := new(run)
	if err := json.Unmarshal([]byte(text), &r.Spec); err != nil {
		return fmt.Errorf("attacker: %w", err)
	}
	r.plan, r.body = plans[r.Kind], keepalive.Body(bodySize)
	if r.From != "" {
		r.dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.From)}
	}
	r.dialer.Timeout = time.Second
	if !r.reads {
		r.dialer.Control = func(_, _ string, c syscall.RawConn) (err error) {
			return c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
		}
	}
	for range r.conns {
		go func() {
			for {
				r.connect()
			}
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for {
		time.Sleep(reportEvery)
		if err := out.Encode(Count{r.opened.Load(), r.closed.Load(), r.operations.Load()}); err != nil {
			return err
		}
	}
}

// connect attacks over one connection, until the connection ends.
func (r *run) connect() {
	conn, err := r.dialer.DialContext(context.Background(), "tcp", r.Addr)
	if err != nil {
		r.closed.Add(1)
		time.Sleep(10 * time.Millisecond)
		return
	}
	r.opened.Add(1)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer conn.Close()
	ended := make(chan struct{})
	if r.reads {
		reader.Go(func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, conn) // it ends with the connection
		})
	}
	f := newWriter(r.body)
	if r.opening != nil {
		r.opening(f)
	}
	for {
		if f.out.Len() > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(stalled))
			if _, err := f.out.WriteTo(conn); err != nil {
				r.closed.Add(1)
				return
			}
		}
		if r.chunk == nil {
			r.hold(ended)
			return
		}
		f.out.Reset()
		r.operations.Add(int64(r.chunk(f)))
		select {
		case <-ended: // the server may go on to read what it discards
			r.closed.Add(1)
			return
		default:
		}
		time.Sleep(r.pause)
	}
}

// stalled is how long a server may not read before the attacker tries another connection.
const stalled = 5 * time.Second

// hold keeps a connection open until the server closes it or its life is over.
func (r *run) hold(ended <-chan struct{}) {
	var over <-chan time.Time
	if r.life > 0 {
		over = time.After(r.life)
	}
	if !r.reads {
		over = time.After(stalled) // the end of the connection is not seen
	}
	select {
	case <-ended:
		r.closed.Add(1)
	case <-over:
	}
}
