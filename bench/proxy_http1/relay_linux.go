package main

import (
	_ "embed" // the limit in C
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/rawpoll"
)

// A process of this program that finds this variable in its environment is the limit in Go.
const relayVariable = "FERRY_BENCH_RELAY"

// playRelay runs the relay if this process was started as the limit, and does not return then. The arguments of the process
// are the number of workers, the listen address and the upstream address.
func playRelay() {
	if os.Getenv(relayVariable) == "" {
		return
	}
	fmt.Fprintln(os.Stderr, relayAll(os.Args[1:]))
	os.Exit(1)
}

func relayAll(args []string) error {
	workers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	listen, err := netip.ParseAddrPort(args[1])
	if err != nil {
		return err
	}
	upstream, err := netip.ParseAddrPort(args[2])
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range workers {
		go func() { failed <- relay(listen, upstream) }()
	}
	return <-failed
}

// relay is a minimal proxy. It writes the bytes of each connection to the counterpart connection. It does not parse HTTP,
// blocks while it connects to the upstream, and exits if a socket does not accept all bytes of a write.
func relay(listen, upstream netip.AddrPort) error {
	runtime.LockOSThread()
	listener, err := rawpoll.Listen(listen)
	if err != nil {
		return err
	}
	poll, err := rawpoll.New()
	if err != nil {
		return err
	}
	if err := poll.Add(listener); err != nil {
		return err
	}
	r := relayLoop{poll: poll, upstream: upstream, buf: make([]byte, 64<<10)}
	for {
		ready, err := poll.Wait(-1)
		if err != nil {
			return err
		}
		for _, fd := range ready {
			if fd == listener {
				err = r.accept(listener)
			} else {
				err = r.pass(fd)
			}
			if err != nil {
				return err
			}
		}
	}
}

type relayLoop struct {
	poll        *rawpoll.Poll
	upstream    netip.AddrPort
	counterpart []int // by descriptor; 0: none
	buf         []byte
}

func (r *relayLoop) accept(listener int) error {
	for {
		down, err := rawpoll.Accept(listener)
		if errors.Is(err, rawpoll.ErrAgain) {
			return nil
		}
		if err != nil {
			return err
		}
		up, err := rawpoll.Dial(netip.Addr{}, r.upstream)
		if err != nil {
			return err
		}
		for len(r.counterpart) <= max(down, up) {
			r.counterpart = append(r.counterpart, 0)
		}
		r.counterpart[down], r.counterpart[up] = up, down
		if err := errors.Join(r.poll.Add(down), r.poll.Add(up)); err != nil {
			return err
		}
	}
}

func (r *relayLoop) pass(fd int) error {
	other := r.counterpart[fd]
	if other == 0 {
		return nil // closed in the same round of events
	}
	n, err := rawpoll.Read(fd, r.buf)
	switch {
	case errors.Is(err, rawpoll.ErrAgain):
		return nil
	case err != nil:
		r.counterpart[fd], r.counterpart[other] = 0, 0
		rawpoll.Close(fd)
		rawpoll.Close(other)
		return nil
	}
	if err := rawpoll.Write(other, r.buf[:n]); errors.Is(err, rawpoll.ErrAgain) {
		return err
	}
	return nil // a closed upstream is detected when it is read
}

func startGoRelay(_ *experiment, s httpproxy.Setup) (*pinned.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return httpproxy.Launch(s, "env", relayVariable+"=1", "GOGC=off", self, strconv.Itoa(s.Workers), s.Listen, s.Upstream)
}

//go:embed relay/relay.c
var relaySource []byte

const cRelay = "relay-c"

// buildCRelay compiles the limit in C into dir.
func buildCRelay(dir string) error {
	source := filepath.Join(dir, "relay.c")
	if err := os.WriteFile(source, relaySource, 0o600); err != nil {
		return err
	}
	out, err := exec.Command("gcc", "-O2", "-pthread", "-o", filepath.Join(dir, cRelay), source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc: %w: %s", err, out)
	}
	return nil
}

func startCRelay(e *experiment, s httpproxy.Setup) (*pinned.Process, error) {
	return httpproxy.Launch(s, filepath.Join(e.dir, cRelay), strconv.Itoa(s.Workers), s.Port(), s.UpstreamPort())
}
