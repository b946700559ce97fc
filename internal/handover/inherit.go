package handover

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

// Inherit returns the sockets that this process was started with, by its predecessor (Start) or by systemd. predecessor is nil if there is
// none. The Set keeps what it releases until Drop (Keep) if there is one. Call it once, before the process starts others: it removes the variables from the environment.
func Inherit() (s *Set, predecessor *Predecessor, err error) {
	s = NewSet()
	if value, ok := os.LookupEnv(variable); ok {
		_ = os.Unsetenv(variable)
		first, err := strconv.Atoi(value)
		if err != nil {
			return nil, nil, fmt.Errorf("handover: %s=%q is no descriptor: unset it", variable, value)
		}
		s.keeps = true // the predecessor goes on if this process fails
		predecessor, err = s.inherit(first)
		return s, predecessor, err
	}
	return s, nil, s.activated()
}

// inherit reads the greeting of the predecessor.
func (s *Set) inherit(first int) (*Predecessor, error) {
	conn, err := inheritedFile(first, "predecessor")
	if err != nil {
		return nil, fmt.Errorf("handover: %s=%d: %w: unset it", variable, first, err)
	}
	p := &Predecessor{conn: conn, in: bufio.NewReader(conn)}
	line, err := p.in.ReadBytes('\n')
	var hello greeting
	if err == nil {
		err = json.Unmarshal(line, &hello)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("handover: what the process that is replaced says: %w", err)
	}
	s.inherited = hello.States
	at := first + 1
	for _, each := range hello.Sockets {
		g := &group{name: each.name, foreign: each.Foreign}
		for range each.Count {
			f, err := inheritedFile(at, each.Address)
			if err != nil {
				return nil, fmt.Errorf("handover: descriptor %d of %s: %w", at, each.Address, err)
			}
			g.files = append(g.files, f)
			at++
		}
		s.free = append(s.free, g)
	}
	return p, nil
}

// activated takes the sockets of systemd: sd_listen_fds(3).
func (s *Set) activated() error {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, v := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(v)
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return fmt.Errorf("handover: LISTEN_FDS=%q is no number of descriptors", count)
	}
	for at := firstFile; at < firstFile+n; at++ {
		f, err := inheritedFile(at, "systemd")
		if err != nil {
			return fmt.Errorf("handover: descriptor %d of systemd: %w", at, err)
		}
		where, err := boundTo(f)
		if err != nil {
			return fmt.Errorf("handover: descriptor %d of systemd: %w", at, err)
		}
		s.free = append(s.free, &group{name: where, files: []*os.File{f}, foreign: true})
	}
	return nil
}

// boundTo returns the network and the address of a socket.
func boundTo(f *os.File) (name, error) {
	if l, err := net.FileListener(f); err == nil {
		defer func() { _ = l.Close() }()
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		return name{l.Addr().Network(), l.Addr().String()}, nil
	}
	c, err := net.FilePacketConn(f)
	if err != nil {
		return name{}, err
	}
	defer func() { _ = c.Close() }()
	return name{c.LocalAddr().Network(), c.LocalAddr().String()}, nil
}

// Unused returns the addresses of the sockets that nothing listens at, although the process has them: those that Drop closes, and those of
// systemd, which stay.
func (s *Set) Unused() (closes, stay []string) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.free {
		if at := g.Network + " " + g.Address; g.foreign {
			stay = append(stay, at)
		} else {
			closes = append(closes, at)
		}
	}
	return closes, stay
}
