package loop

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fullListener returns a TCP address that does not answer: the queue of its listener is full.
func fullListener(t *testing.T) Addr {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	to := Addr{TCP: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(sa.(*unix.SockaddrInet4).Port))}
	for range 4 {
		c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(c) })
		_, addr := sockaddr(to)
		if err := unix.Connect(c, addr); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
	}
	return to
}

func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

const childEnv = "LOOP_TEST_CHILD"

// TestDescriptorsRunOut runs itself again, in a process with few descriptors.
func TestDescriptorsRunOut(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptorsRunOut$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("PASS: TestDescriptorsRunOut/goroutines")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		to := listen(t, g, accept(echo))
		var was unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		// There is room for the clients' ends and for half of the loop's ends.
		const clients = 40
		few := unix.Rlimit{Cur: uint64(below(t, clients+clients/2)), Max: was.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
		var fds []int
		for range clients {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			fds = append(fds, fd)
		}
		for _, fd := range fds {
			_, sa := sockaddr(to)
			if err := unix.Connect(fd, sa); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "a pause in accepting", func() bool {
			sum, _ := g.Stats()
			return sum.AcceptPauses > 0 && sum.AcceptErrors > 0
		})
		before, _ := g.Stats()
		if before.Conns >= len(fds) {
			t.Fatalf("all of %d connections were accepted: the limit was not met", len(fds))
		}
		// The accepted clients close, which makes room for the waiting clients. The waiting clients lose nothing.
		for _, fd := range fds[:before.Conns] {
			unix.Close(fd)
		}
		for i, fd := range fds[before.Conns:] {
			if _, err := unix.Write(fd, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			var p [1]byte
			if n, err := unix.Read(fd, p[:]); n != 1 || err != nil || p[0] != byte(i) {
				t.Fatalf("connection %d that waited: %d, %v, %v", i, n, err, p)
			}
			unix.Close(fd)
		}
		after, _ := g.Stats()
		// A loop that spins makes many thousands of attempts in this time; one that pauses makes a few for each closed client.
		if got := after.AcceptErrors; got > int64(4*clients+100) {
			t.Errorf("%d attempts to accept failed: the loop spins", got)
		}
	})
}

// below returns a limit below which n descriptors are free.
func below(t *testing.T, n int) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	open := make(map[string]bool)
	for _, e := range entries {
		open[e.Name()] = true
	}
	fd := 0
	for ; n > 0; fd++ {
		if !open[strconv.Itoa(fd)] {
			n--
		}
	}
	return fd
}

func TestBusyPort(t *testing.T) {
	a := start(t, Config{Loops: 2})
	to := listen(t, a, accept(echo))
	if _, err := start(t, Config{Loops: 2}).Listen(to, accept(echo)); err == nil || !strings.Contains(err.Error(), to.String()+" is in use") {
		t.Errorf("a second group on the same port: %v", err)
	}
	if _, err := start(t, Config{Loops: 2, ReusePort: true}).Listen(to, accept(echo)); err != nil {
		t.Errorf("a second group that shares its port: %v", err)
	}
}

// TestAcceptedSocketsInherit checks that accepted sockets inherit the options of the listening socket, which saves system
// calls.
func TestAcceptedSocketsInherit(t *testing.T) {
	g := start(t, Config{Loops: 1, KeepAlive: 7e9})
	type options struct{ noDelay, keepAlive, idle int }
	got := make(chan options, 1)
	to := listen(t, g, accept(func() *script {
		return &script{opened: func(c *Conn) {
			option := func(level, name int) int {
				v, err := unix.GetsockoptInt(int(c.id), level, name)
				if err != nil {
					t.Error(err)
				}
				return v
			}
			got <- options{
				option(unix.IPPROTO_TCP, unix.TCP_NODELAY), option(unix.SOL_SOCKET, unix.SO_KEEPALIVE), option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE),
			}
		}}
	}))
	connect(t, to)
	if o := wait(t, "Opened", got); o != (options{1, 1, 7}) {
		t.Errorf("no delay, keep alive, idle seconds = %v, want 1 1 7", o)
	}
}

// TestStaleEvents gives a loop events of closed sockets whose numbers already belong to new sockets.
func TestStaleEvents(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		opened := make(chan *Conn, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened:     func(c *Conn) { opened <- c },
				halfClosed: func(*Conn) {},
			}
		}))
		connect(t, to)
		c := wait(t, "Opened", opened)
		l := g.Loops()[0]
		l.do(func() {
			before := c.state
			l.handle(event{c.id, c.gen - 1, readyRead | readyEnd | readyWrite})
			if c.state != before {
				t.Errorf("a stale event changed the connection's state from %b to %b", before, c.state)
			}
			l.handle(event{c.id, c.gen, readyEnd})
			if c.state == before {
				t.Error("the same event with the right generation changed nothing: the test tests nothing")
			}
			for id := range l.acceptors {
				l.handle(event{id, 0, readyRead})
			}
			l.handle(event{1 << 20, 1, readyRead})
		})
	})
}

func TestConnIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size > 160 {
		t.Errorf("a Conn has %d bytes: more than 160, the allocator's next size is 176", size)
	}
}

// TestResetAfterTheEnd: a peer ends its side and resets the connection before the response.
func TestResetAfterTheEnd(t *testing.T) {
	g := start(t, Config{Loops: 1})
	half, closed := make(chan struct{}), make(chan error, 1)
	to := listen(t, g, accept(func() *script {
		return &script{
			halfClosed: func(*Conn) { close(half) },
			closed:     func(_ *Conn, err error) { closed <- err },
		}
	}))
	conn := connect(t, to).(*net.TCPConn)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wait(t, "HalfClosed", half)
	if err := conn.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := wait(t, "Closed", closed); err == nil {
		t.Error("Closed without an error")
	}
}

// TestDataWithTheConnection: a peer sends and ends its side immediately, and reads nothing.
func TestDataWithTheConnection(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		nl, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer nl.Close()
		go func() {
			conn, err := nl.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			_, _ = conn.Write([]byte("hello"))
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		g := start(t, cfg)
		got, half := make(chan string, 1), make(chan struct{})
		l := g.Loops()[0]
		h := &script{
			data:       func(_ *Conn, p []byte) int { got <- string(p); return len(p) },
			halfClosed: func(*Conn) { close(half) },
		}
		l.do(func() {
			l.Dial(Addr{TCP: nl.Addr().(*net.TCPAddr).AddrPort()}, patience, h).Write(make([]byte, 32<<20))
		})
		if s := wait(t, "Data", got); s != "hello" {
			t.Errorf("got %q", s)
		}
		wait(t, "HalfClosed", half)
	})
}
