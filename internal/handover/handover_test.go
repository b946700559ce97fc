//go:build unix

package handover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// role makes the test binary another program.
const role = "FERRY_HANDOVER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "leaves", "gives":
		if err := predecessor(os.Getenv(role)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(9)
	case "greets", "wants", "fails", "dies", "alone":
		if err := successor(os.Getenv(role)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "activated":
		if err := activatedProcess(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// predecessor starts a process that goes on without it. Its own process ends before or after it has given up what that one wants.
func predecessor(role string) error {
	s := NewSet()
	l, err := s.Listen(context.Background(), &net.ListenConfig{}, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	next, err := s.Start(Command{os.Args[0], os.Args[:1], append(os.Environ(), "FERRY_HANDOVER_TEST_ROLE=alone", "ADDRESS=127.0.0.1:0")})
	if err != nil {
		return err
	}
	if ready, err := next.Await(context.Background()); ready || err != nil {
		return fmt.Errorf("got %v, %w, want a process that wants", ready, err)
	}
	if role == "gives" {
		return next.Give()
	}
	return nil
}

// successor takes over, and responds to one client with its process ID.
func successor(role string) error {
	s, before, err := Inherit()
	if err != nil {
		return err
	}
	if os.Getenv(variable) != "" {
		return fmt.Errorf("%s is still set", variable)
	}
	switch role {
	case "dies":
		os.Exit(9)
	case "fails":
		before.Fail(fmt.Errorf("no such address"))
		return nil
	case "wants":
		if err := before.Want(); err != nil {
			return err
		}
	case "alone":
		if err := before.Want(); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
		_, _ = before.in.ReadByte() // until the predecessor has ended
		return greet(s, os.Getenv("ADDRESS"), func() error {
			if err := before.Ready(); !errors.Is(err, ErrGone) {
				return fmt.Errorf("got %w, want %w", err, ErrGone)
			}
			return nil
		})
	}
	return greet(s, os.Getenv("ADDRESS"), before.Ready)
}

func greet(s *Set, address string, ready func() error) error {
	l, err := s.Listen(context.Background(), &net.ListenConfig{}, "tcp", address)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(conn, os.Getpid())
	return err
}

// ask connects and returns what the server says.
func ask(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func start(t *testing.T, s *Set, as, address string) *Successor {
	t.Helper()
	next, err := s.Start(Command{os.Args[0], os.Args[:1], append(os.Environ(), role+"="+as, "ADDRESS="+address)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Kill)
	return next
}

func await(t *testing.T, next *Successor) (ready bool, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return next.Await(ctx)
}

// TestSuccessor passes a socket to processes that take over, wait, fail and die. No attempt to connect is refused.
func TestSuccessor(t *testing.T) {
	const address = "127.0.0.1:0"
	s := NewSet()
	l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()

	for as, want := range map[string]string{"fails": "no such address", "dies": "exit status 9"} {
		if ready, err := await(t, start(t, s, as, address)); ready || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", as, ready, err, want)
		}
	}
	next := start(t, s, "wants", address)
	if ready, err := await(t, next); ready || err != nil {
		t.Fatalf("got %v, %v, want a process that wants", ready, err)
	}
	s.Keep()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	waiting, err := net.Dial("tcp", at) // nothing accepts now
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if err := next.Give(); err != nil {
		t.Fatal(err)
	}
	if ready, err := await(t, next); !ready || err != nil {
		t.Fatalf("got %v, %v, want a process that serves", ready, err)
	}
	next.Release()
	s.Drop()
	line, err := bufio.NewReader(waiting).ReadString('\n')
	if want := strconv.Itoa(next.PID()); err != nil || strings.TrimSpace(line) != want {
		t.Errorf("got %q, %v, want %s", line, err, want)
	}
}

// TestPredecessorEnds ends a process before its successor serves: the successor goes on, with the sockets.
func TestPredecessorEnds(t *testing.T) {
	for _, as := range []string{"leaves", "gives"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"="+as)
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		address, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Errorf("%s: %v", as, err)
		}
		if _, err := cmd.Process.Wait(); err != nil {
			t.Error(err)
		}
		if got := ask(t, strings.TrimSpace(address)); got == strconv.Itoa(cmd.Process.Pid) || got == "" {
			t.Errorf("%s: process %q responds, want the next one", as, got)
		}
		_ = stdout.Close()
	}
}

// TestBlocking checks that passing a socket on leaves it non-blocking: else an accept would stop the loop that calls it.
func TestBlocking(t *testing.T) {
	s := NewSet()
	l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	next := start(t, s, "greets", "127.0.0.1:0")
	if ready, err := await(t, next); !ready || err != nil {
		t.Fatal(ready, err)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-accepted:
		if err == nil {
			t.Error("accepted without a client")
		}
	case <-time.After(time.Minute):
		t.Error("a closed listener still accepts")
	}
	if got, want := ask(t, l.Addr().String()), strconv.Itoa(next.PID()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestKeep checks the file of a Unix domain socket, and which sockets a Set has.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := NewSet()
	listen := func() net.Listener {
		t.Helper()
		l, err := s.Listen(t.Context(), &net.ListenConfig{}, "unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	exists := func(want bool) {
		t.Helper()
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("the socket's file: %v, want it to exist: %v", err, want)
		}
	}
	l := listen()
	s.Keep()
	_ = l.Close()
	exists(true)
	if conn, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	l = listen() // the same socket: its address is in use
	if closes, stay := s.Unused(); len(closes)+len(stay) > 0 {
		t.Errorf("unused: %v, %v", closes, stay)
	}
	s.Drop()
	exists(true)
	_ = l.Close()
	exists(false)
	l = listen()
	s.Keep()
	_ = l.Close()
	s.Drop() // nothing listens there any more
	exists(false)
}

// TestFreePorts checks that sockets at any free port go to the listeners in the order in which these were opened.
func TestFreePorts(t *testing.T) {
	s := NewSet()
	var want []string
	var all []net.Listener
	for range 3 {
		l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all, want = append(all, l), append(want, l.Addr().String())
	}
	s.Keep()
	for _, i := range []int{2, 0, 1} {
		_ = all[i].Close()
	}
	for i := range all {
		l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", "127.0.0.1:0")
		if err != nil || l.Addr().String() != want[i] {
			t.Errorf("listener %d: got %v, %v, want %s", i, l, err, want[i])
		}
	}
}

// activatedProcess serves at a socket that systemd has opened: here the test.
func activatedProcess() error {
	_ = os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // the test cannot know it before
	s, before, err := Inherit()
	if err != nil || before != nil {
		return fmt.Errorf("got %v, %w", before, err)
	}
	if os.Getenv("LISTEN_FDS") != "" {
		return fmt.Errorf("LISTEN_FDS is still set")
	}
	return greet(s, os.Getenv("ADDRESS"), func() error {
		if closes, stay := s.Unused(); len(closes) > 0 || len(stay) != 1 || !strings.HasPrefix(stay[0], "unix ") {
			return fmt.Errorf("unused: %v, %v", closes, stay)
		}
		fmt.Println("ready")
		return nil
	})
}

// TestActivation starts a process with sockets as systemd does. The file of a Unix domain socket stays systemd's.
func TestActivation(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=activated", "LISTEN_FDS=2", "ADDRESS="+tcp.Addr().String())
	cmd.Stderr = os.Stderr
	for _, l := range []net.Listener{tcp, local} {
		f, err := l.(File).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tcp.Close()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if got, want := ask(t, tcp.Addr().String()), strconv.Itoa(cmd.Process.Pid); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestListenerOfSystemd closes a listener and opens it again, as reloads do, before and after Drop.
func TestListenerOfSystemd(t *testing.T) {
	systemd, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	f, err := systemd.(File).File()
	if err != nil {
		t.Fatal(err)
	}
	address := systemd.Addr().String()
	s := &Set{free: []*group{{name: name{"tcp", address}, files: []*os.File{f}, foreign: true}}}
	for range 3 {
		l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, stay := s.Unused(); len(stay) != 1 {
			t.Errorf("unused: %v, want the socket", stay)
		}
		s.Drop()
	}
}

func TestListensAt(t *testing.T) {
	for _, row := range []struct {
		bound, address string
		want           bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "127.0.0.1:81", false},
		{"[::]:80", ":80", true},
		{"0.0.0.0:80", ":80", true},
		{"127.0.0.1:80", ":80", false},
		{"[::1]:80", "[0::1]:80", true},
		{"127.0.0.1:80", "localhost:80", false},
		{"127.0.0.1:0", "127.0.0.1:0", true},
		{"/run/s", "/run/s", true},
		{"/run/s", "/run/t", false},
	} {
		g := &group{name: name{"tcp", row.bound}}
		if got := g.listensAt("tcp", row.address); got != row.want {
			t.Errorf("%s at %s: got %v, want %v", row.bound, row.address, got, row.want)
		}
		if g.listensAt("udp", row.address) {
			t.Errorf("%s: a TCP socket is taken for UDP", row.bound)
		}
	}
}

func TestNilSet(t *testing.T) {
	var s *Set
	l, err := s.Listen(t.Context(), &net.ListenConfig{}, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	conn, release, err := s.ListenUDP("127.0.0.1:0")
	if err != nil || release() {
		t.Fatal(err, "or the socket is kept")
	}
	_ = conn.Close()
	s.Drop()
}
