//go:build unix

package pace

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/clock"
)

// TestStep: with one processor, a goroutine that computes lets another one run that waits for a socket, at its next Step.
func TestStep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	var read atomic.Int64
	go func() {
		for b := make([]byte, 1); ; {
			if _, err := server.Read(b); err != nil {
				return
			}
			read.Add(1)
		}
	}()
	const rounds = 50
	late := 0
	for i := range int64(rounds) {
		for read.Load() < i { // the reader waits for its socket again
			time.Sleep(time.Millisecond)
		}
		if _, err := client.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		for began := clock.Now(); clock.Now()-began < int64(Piece); {
		}
		Step()
		if read.Load() == i {
			late++
		}
	}
	if late > rounds/2 { // without the poll, it is nearly each time. The kernel may be late, too
		t.Errorf("%d of %d times, what arrived before a Step was not read in it", late, rounds)
	}
}

// TestPiece: a Step soon after a turn gives none.
func TestPiece(t *testing.T) {
	early := 0
	for range 1000 {
		last.Store(clock.Now())
		before := last.Load()
		if Step(); last.Load() == before {
			early++
		}
		last.Store(before - int64(Piece))
		if Step(); last.Load() <= before {
			t.Fatal("no turn after Piece")
		}
	}
	if early == 0 { // the machine may be slow
		t.Error("a turn at once, each time")
	}
}
