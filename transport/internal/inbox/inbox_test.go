package inbox

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/bufpool"
)

func TestBytesArriveInOrder(t *testing.T) {
	t.Parallel()
	in := New()
	want := make([]byte, 500_000)
	for i := range want {
		want[i] = byte(i * 7 / 3)
	}
	go func() {
		r := rand.New(rand.NewPCG(1, 2))
		for rest := want; len(rest) > 0; {
			p := in.Space()
			n := copy(p[:r.IntN(len(p))+1], rest)
			in.Commit(n)
			rest = rest[n:]
			if in.WaitRoom(50_000) != nil {
				return
			}
		}
		in.End(io.EOF)
	}()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes and %v, want %d", len(got), err, len(want))
	}
	if len(in.bufs) > 0 {
		t.Errorf("%d buffers are held by an empty Inbox", len(in.bufs))
	}
}

func TestWaitRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := New()
		in.Put(make([]byte, 100))
		waited := errors.New("still waiting")
		go func() { waited = in.WaitRoom(100) }()
		synctest.Wait()
		if waited == nil {
			t.Error("there is room beside 100 bytes for 100")
		}
		_, _ = in.Read(make([]byte, 1))
		synctest.Wait()
		if waited != nil {
			t.Errorf("WaitRoom = %v after a Read", waited)
		}
		in.Put(make([]byte, 100))
		go func() { waited = in.WaitRoom(100) }()
		synctest.Wait()
		in.Close()
		synctest.Wait()
		if !errors.Is(waited, net.ErrClosed) {
			t.Errorf("WaitRoom during Close = %v, want net.ErrClosed", waited)
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := New()
		start := time.Now()
		in.Deadline.Set(start.Add(time.Second))
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Read = %v after %v", err, time.Since(start))
		}
		in.Put([]byte{1})
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read past the deadline = %v", err)
		}
		in.Deadline.Set(time.Time{})
		if n, err := in.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Errorf("Read after the deadline was taken away = %d, %v", n, err)
		}
	})
}

// TestCloseWhileFilling closes while the receiver fills Space, which must stay valid until Commit.
func TestCloseWhileFilling(t *testing.T) {
	t.Parallel()
	in := New()
	in.Put(make([]byte, 10))
	p := in.Space()
	in.Close()
	clear(p)
	if len(in.bufs) != 1 {
		t.Errorf("%d buffers while Space is lent, want 1", len(in.bufs))
	}
	in.Commit(len(p))
	if len(in.bufs) != 0 || in.size != 0 {
		t.Errorf("%d buffers and %d bytes after Close, want none", len(in.bufs), in.size)
	}
	if _, err := in.Read(p); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read after Close = %v, want net.ErrClosed", err)
	}
}

func TestEndFollowsTheBytes(t *testing.T) {
	t.Parallel()
	in := New()
	in.Put([]byte("last"))
	in.End(io.ErrUnexpectedEOF)
	in.End(io.EOF)
	got, err := io.ReadAll(in)
	if string(got) != "last" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v, want last and the first end", got, err)
	}
}

func TestAllocations(t *testing.T) {
	in, p := New(), make([]byte, 1000)
	if n := testing.AllocsPerRun(100, func() {
		in.Put(p)
		_, _ = in.Read(p)
	}); n != 0 && bufpool.Reuse {
		t.Errorf("%v allocations, want 0", n)
	}
}
