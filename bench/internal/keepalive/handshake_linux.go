package keepalive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// handshaker is a load generator that opens TLS connections and closes them: a request is a handshake.
type handshaker struct {
	spec Spec
	tls  *tls.Config
}

// newHandshaker makes one handshake, so that there is a session to resume.
func newHandshaker(s Spec) (*handshaker, error) {
	config, err := clientTLS(s.CA, s.Protocol)
	if err != nil {
		return nil, err
	}
	h := &handshaker{spec: s, tls: config}
	if err := pinProcess(s.Cores); err != nil {
		return nil, err
	}
	if s.Wire == Resumption {
		h.tls.ClientSessionCache = tls.NewLRUClientSessionCache(4 * s.Conns)
		if _, err := h.shake(h.tls); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// pinProcess restricts all threads of this process to cores. Threads that start later inherit that.
func pinProcess(cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("keepalive: %w", err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("keepalive: thread %q: %w", t.Name(), err)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("keepalive: cores %v: %w", cores, err)
		}
	}
	return nil
}

func (h *handshaker) size() int { return h.spec.Conns }

func (h *handshaker) add(conns int) error {
	h.spec.Conns += conns
	return nil
}

// run makes handshakes, Spec.Conns at a time.
func (h *handshaker) run(l Load) (*Report, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	if l.Rate > 0 || l.Once > 0 {
		return nil, errors.New("keepalive: handshakes have no rate and no end")
	}
	m := measurement{Load: l, start: time.Now()}
	var mu sync.Mutex // guards m.report and the times of m
	var failure error
	var all sync.WaitGroup
	for range h.spec.Conns {
		config := h.tls.Clone()
		all.Go(func() {
			for m.now() < m.end() {
				began := m.now()
				resumed, err := h.shake(config)
				if err == nil && resumed != (h.spec.Wire == Resumption) {
					err = fmt.Errorf("resumed: %v", resumed)
				}
				mu.Lock()
				if err != nil {
					m.report.Failures++
					failure = errors.Join(failure, err)
					if m.report.Failures > 100 {
						mu.Unlock()
						return
					}
				} else {
					m.count(began)
				}
				mu.Unlock()
			}
		})
	}
	var errs [2]error
	for i, until := range []time.Duration{m.Warm, m.end()} {
		time.Sleep(until - m.now())
		mu.Lock()
		errs[i] = m.mark()
		mu.Unlock()
	}
	all.Wait()
	if failure != nil {
		m.report.Failure = firstLine(failure)
	}
	return &m.report, errors.Join(errs[:]...)
}

func firstLine(err error) string {
	text := err.Error()
	for i := range text {
		if text[i] == '\n' {
			return text[:i]
		}
	}
	return text
}

// shake makes one handshake, and closes the connection. It returns when the server has closed its side, too: then the server
// has done all its work for the handshake, and the client has the session tickets.
func (h *handshaker) shake(config *tls.Config) (resumed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", h.spec.Addr)
	if err != nil {
		return false, err
	}
	defer raw.Close()
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		return false, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return false, err
	}
	if err := conn.CloseWrite(); err != nil {
		return false, err
	}
	if n, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, unix.ECONNRESET) {
		return false, fmt.Errorf("after the handshake, and %d bytes: %w", n, err)
	}
	return conn.ConnectionState().DidResume, nil
}
