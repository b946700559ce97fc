package rawpoll

import (
	"errors"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

func TestConversation(t *testing.T) {
	runtime.LockOSThread()
	listener, err := Listen(loopback)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(listener)
	poll, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer poll.Close()
	if err := poll.Add(listener); err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(listener); !errors.Is(err, ErrAgain) {
		t.Errorf("accept: got %v, want ErrAgain", err)
	}
	if ready, err := poll.Wait(time.Millisecond); err != nil || len(ready) > 0 {
		t.Errorf("before anybody connects: %v, %v", ready, err)
	}
	here := local(t, listener)
	client, err := Dial(netip.MustParseAddr("127.0.0.3"), here)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(client)
	if from := local(t, client).Addr().String(); from != "127.0.0.3" {
		t.Errorf("connected from %s", from)
	}
	if ready, err := poll.Wait(-1); err != nil || len(ready) != 1 || ready[0] != listener {
		t.Fatalf("ready %v, %v; want the listener", ready, err)
	}
	server, err := Accept(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(server)
	buf := make([]byte, 100)
	if _, err := Read(server, buf); !errors.Is(err, ErrAgain) {
		t.Errorf("read: got %v, want ErrAgain", err)
	}
	if err := Write(client, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := poll.Add(server); err != nil {
		t.Fatal(err)
	}
	if ready, err := poll.Wait(-1); err != nil || len(ready) != 1 || ready[0] != server {
		t.Fatalf("ready %v, %v; want the connection", ready, err)
	}
	if n, err := Read(server, buf); err != nil || string(buf[:n]) != "hello" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	Close(client)
	if n, err := Read(server, buf); !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v; want the end", n, err)
	}
}

func TestWriteSaysWhatItCouldNot(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(pair[0])
	defer Close(pair[1])
	if err := Write(pair[0], make([]byte, 64<<20)); !errors.Is(err, ErrAgain) || !strings.Contains(err.Error(), "of 67108864 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestErrors(t *testing.T) {
	listener, err := Listen(loopback)
	if err != nil {
		t.Fatal(err)
	}
	gone := local(t, listener)
	Close(listener)
	if _, err := Dial(netip.Addr{}, gone); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("got %v, want connection refused", err)
	}
	if _, err := Listen(netip.MustParseAddrPort("192.0.2.1:80")); err == nil {
		t.Error("listens at the address of another host")
	}
	poll, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer poll.Close()
	if err := poll.Add(-1); err == nil {
		t.Error("waits for descriptor -1")
	}
}

func local(t *testing.T, fd int) netip.AddrPort {
	t.Helper()
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in := sa.(*unix.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port))
}
