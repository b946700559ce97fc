package keepalive

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/openloop"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/routeset"
)

// variable is set in the environment of a process that is a client or a backend.
const variable = "FERRY_BENCH_KEEPALIVE"

// Main runs the client or the backend if this process was started as one, and does not return then. A benchmark's main and
// the TestMain of its tests must call Main early, with the protocols that this package does not have itself.
func Main(others ...Protocol) {
	var err error
	switch os.Getenv(variable) {
	case "":
		return
	case "client":
		err = ask(others)
	case "backend":
		err = serveRequests(os.Args[1], others)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// order is a line on a client's standard input: open more connections, or send.
type order struct {
	More int
	Load Load
}

// runClient reads a Spec from the first line of standard input and connects. Each further line is an order, which it executes.
func ask(others []Protocol) error {
	runtime.LockOSThread()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var s Spec
	if err := in.Decode(&s); err != nil {
		return fmt.Errorf("keepalive: %w", err)
	}
	if err := pin(s.Cores); err != nil {
		return err
	}
	c, err := newGenerator(s, others)
	if err != nil {
		return err
	}
	if err := out.Encode(c.Size()); err != nil {
		return err
	}
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("keepalive: %w", err)
		}
		if o.More > 0 {
			if err := errors.Join(c.Add(o.More), out.Encode(c.Size())); err != nil {
				return err
			}
			continue
		}
		if o.Load.Rate > 0 {
			openloop.Realtime() // if it is not permitted, Report.Late shows the effect
		}
		r, err := c.Run(o.Load)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// Generator generates load over open connections.
type Generator interface {
	Size() int // number of connections
	Add(conns int) error
	Run(l Load) (*Report, error)
}

// Protocol is the client and the backend of a protocol that another package has.
type Protocol struct {
	Wire    Wire
	Connect func(s Spec) (Generator, error)
	Serve   func(b Backend) error // until this process is ended
}

func newGenerator(s Spec, others []Protocol) (Generator, error) {
	for _, p := range others {
		if p.Wire == s.Wire {
			return p.Connect(s)
		}
	}
	switch s.Wire {
	case HTTP2:
		return connectHTTP2(s)
	case Handshake, Resumption:
		return newHandshaker(s)
	case Bodies:
		return connectBodies(s)
	}
	return connect(s)
}

// pin restricts the current thread to cores. This thread does all the work.
func pin(cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("keepalive: cores %v: %w", cores, err)
	}
	return nil
}

// Backend describes a backend.
type Backend struct {
	Wire      Wire
	Addr      string // IPv4 address and port
	Size      int    // bytes of each body, at least 16
	Cert, Key string // files; empty means cleartext; HTTP/2 only
}

// serveRequests is the backend. Its argument is a Backend in JSON.
func serveRequests(text string, others []Protocol) error {
	runtime.LockOSThread()
	var b Backend
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return fmt.Errorf("keepalive: %w", err)
	}
	for _, p := range others {
		if p.Wire == b.Wire {
			return p.Serve(b)
		}
	}
	if b.Wire != HTTP2 {
		w, err := newWire(b.Wire, b.Size, routeset.Set{})
		if err != nil {
			return err
		}
		return serve(w, b.Addr)
	}
	at, err := addrPort(b.Addr)
	if err != nil || b.Size < markLen {
		return errors.Join(err, fmt.Errorf("keepalive: bodies of %d bytes: want %d at least", b.Size, markLen))
	}
	var config *tls.Config
	if b.Cert != "" {
		if config, err = serverTLS(b.Cert, b.Key, "h2"); err != nil {
			return err
		}
	}
	return serveHTTP2(at, b.Size, config)
}

// StartBackend responds to requests with bodies of a size at an IPv4 address. The caller stops it.
func StartBackend(cores []int, w Wire, size int, addr string) (*pinned.Process, error) {
	return Backend{Wire: w, Addr: addr, Size: size}.Start(cores)
}

// Start starts the backend, pinned to cores. The caller stops it.
func (b Backend) Start(cores []int) (*pinned.Process, error) {
	if err := pinned.Free(b.Addr); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	collect := "GOGC=off" // these backends allocate almost nothing
	if b.Wire != HTTP1 && b.Wire != Routed && b.Wire != Bolt {
		collect = "GOGC=400"
	}
	p, err := pinned.Start(cores, "", "env", variable+"=backend", collect, self, string(text))
	if err != nil {
		return nil, err
	}
	if err := p.WaitListening(b.Addr, startTime); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// startTime is the timeout for starting a process, and for connecting a client.
const startTime = time.Minute

// endTime is how long a client's process may take to end. After it the process is killed.
const endTime = 2 * time.Second

// Client is a client's process. Its methods are for one goroutine.
type Client struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	in     *json.Encoder
	out    *json.Decoder
	stderr bytes.Buffer
}

// StartClient connects as s says. The caller ends it.
func StartClient(s Spec) (*Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	c := &Client{cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), variable+"=client", "GOGC=400")
	c.cmd.Stderr = &c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	c.stdin, c.in, c.out = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("keepalive: client: %w", err)
	}
	var conns int
	if err := c.exchange(s, &conns, startTime); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// Run generates load l and returns the report.
func (c *Client) Run(l Load) (*Report, error) {
	r := new(Report)
	return r, c.exchange(order{Load: l}, r, l.Warm+l.Window+l.Patience+startTime)
}

// More opens n more connections.
func (c *Client) More(conns int) error {
	var all int
	return c.exchange(order{More: conns}, &all, startTime)
}

// PID returns the process ID.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// End closes all connections.
func (c *Client) End() {
	_ = c.stdin.Close()
	late := time.AfterFunc(endTime, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait() // its exit status is not used
	late.Stop()
}

// exchange sends a line to the client and waits for its response.
func (c *Client) exchange(say, hear any, timeout time.Duration) error {
	if err := c.in.Encode(say); err != nil {
		return fmt.Errorf("keepalive: client: %w", err)
	}
	late := time.AfterFunc(timeout, func() { _ = c.cmd.Process.Kill() })
	err := c.out.Decode(hear)
	if !late.Stop() {
		return fmt.Errorf("keepalive: client: no response within %v", timeout)
	}
	if err != nil {
		_ = c.cmd.Wait() // after it the output is complete
		return fmt.Errorf("keepalive: client: %w: %s", err, bytes.TrimSpace(c.stderr.Bytes()))
	}
	return nil
}
