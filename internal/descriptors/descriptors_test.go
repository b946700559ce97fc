//go:build unix

package descriptors

import (
	"errors"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestReserve(t *testing.T) {
	for limit, want := range map[int64]int64{0: 0, 8: 2, 64: 16, 256: 32, 1024: 64, 1 << 20: 1024, math.MaxInt64: 1024} {
		if got := reserve(limit); got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
}

// child is set in the process whose descriptors are used up.
const child = "FERRY_DESCRIPTORS_CHILD"

// TestShort uses up the descriptors of a process of its own.
func TestShort(t *testing.T) {
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestShort$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestShort") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	waiting := Listener(l)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	if limit, kept := Limit(); limit != 64 || kept != 16 || Short() {
		t.Fatalf("limit %d, kept %d, short %v: want 64, 16, false", limit, kept, Short())
	}
	var last *os.File
	for !Short() {
		if last, err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
		if Reserved(int(last.Fd())) {
			t.Fatalf("descriptor %d is in the reserve", last.Fd())
		}
	}
	if got := int(last.Fd()); got != 64-16-1 {
		t.Errorf("the last descriptor below the reserve is %d, want 47", got)
	}
	if !Reserved(48) || Spent(55) || !Spent(56) {
		t.Errorf("the reserve begins at 48 and its second half at 56: got %v, %v, %v", Reserved(48), Spent(55), Spent(56))
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := waiting.Accept()
		accepted <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = last.Close()
	if err := <-accepted; err != nil {
		t.Errorf("with descriptors again: %v", err)
	}
	if err := syscall.Close(2); err != nil {
		t.Fatal(err)
	}
	if Short() {
		t.Error("a program that has closed its standard error has descriptors left, and Short is true")
	}
	for {
		if _, err := os.Open(os.DevNull); err != nil {
			break
		}
	}
	if !Short() {
		t.Error("without any descriptor, Short is false")
	}
	go func() {
		_, err := waiting.Accept()
		accepted <- err
	}()
	_ = waiting.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed while it waits: %v", err)
	}
}
