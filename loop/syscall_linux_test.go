package loop

import (
	"errors"
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteToClosedPeer checks that a write whose peer is gone returns an error, and raises no signal.
func TestWriteToClosedPeer(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	unix.Close(fds[1])
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, unix.SIGPIPE, unix.SIGWINCH)
	defer signal.Stop(signals)
	var vec [maxIovecs]unix.Iovec
	if n, err := rawWrite(int32(fds[0]), &chunk{b: []byte("x")}, &vec); !errors.Is(err, unix.EPIPE) {
		t.Errorf("%d bytes, %v; want EPIPE", n, err)
	}
	// A SIGPIPE would arrive before this signal.
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, "the signal", signals); got != unix.SIGWINCH {
		t.Errorf("the write raised %v", got)
	}
}
