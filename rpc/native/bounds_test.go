package native_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// eventually waits until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(60 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// TestFailedCallsLeaveNothing makes calls that fail in each way, and compares goroutines, descriptors and memory.
func TestFailedCallsLeaveNothing(t *testing.T) {
	calls := 100_000
	if native.RaceEnabled || testing.Short() {
		calls = 5_000
	}
	l := listen(t, native.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	conn, err := native.Protocol{}.Dial(t.Context(), tcp.New(nil), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	fail := func(n int) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for i := range n / 20 {
					head := &call.Head{Method: "echo.Echo.Missing", Content: "application/json"}
					ctx, cancel := context.WithCancel(t.Context())
					want := call.Unimplemented
					switch i % 4 {
					case 1:
						head.Method, head.Deadline, want = "echo.Echo.Wait", time.Now().Add(200*time.Microsecond), call.DeadlineExceeded
					case 2:
						head.Method, want = "echo.Echo.Wait", call.Canceled
						time.AfterFunc(100*time.Microsecond, cancel)
					case 3:
						head.Compression, want = "br", call.InvalidArgument
					}
					var resp call.Response
					if err := conn.Call(ctx, head, []byte("x"), &resp); !errors.Is(err, &call.Status{Code: want}) {
						t.Errorf("got %v, want %v", err, want)
					}
					cancel()
				}
			})
		}
		all.Wait()
	}
	descriptors := func() int {
		list, _ := os.ReadDir("/proc/self/fd") // empty on other systems
		return len(list)
	}
	fail(1000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines, open := runtime.NumGoroutine(), descriptors()
	fail(calls)
	eventually(t, "the goroutines of handlers to become idle", func() bool { return runtime.NumGoroutine() <= goroutines+600 }) // 512 may stay
	if n := descriptors(); n > open {
		t.Errorf("%d descriptors are open, %d before", n, open)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// counted counts the calls of echo.
type counted struct {
	echo
	begun, ended atomic.Int64
}

func (c *counted) Serve(ctx context.Context, m call.Method, s call.ServerStream) {
	c.begun.Add(1)
	defer c.ended.Add(1)
	c.echo.Serve(ctx, m, s)
}

// TestClientThatDoesNotRead uses all of its credit and reads no response. Handlers wait in Finish, and the server's memory stays bounded.
func TestClientThatDoesNotRead(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		service := &counted{}
		p := native.Protocol{WriteTimeout: time.Hour, Log: slog.New(slog.DiscardHandler)}
		l, err := p.Listen(t.Context(), tr, addr, service)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := connect(t, tr, l)
		c.greet()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const calls, size = 250, 60_000 // 15 MB of a window of 16 MiB
		var b []byte
		for i := range calls {
			b = wire.AppendCall(b[:0], wire.CallFrame{Flags: wire.FlagEnd, Call: uint32(2*i + 1), Message: make([]byte, size)})
			c.write(b)
		}
		eventually(t, "the handlers to begin", func() bool { return service.begun.Load() == calls })
		if service.ended.Load() == calls {
			t.Error("no handler waits for the client to read")
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 3*calls*size {
			t.Errorf("the heap has grown by %d bytes for requests of %d", grown, calls*size)
		}
		_ = c.conn.Close()
		eventually(t, "the handlers to end", func() bool { return service.ended.Load() == calls })
	})
}

// TestWriteTimeout has a client that reads no response. The server closes the connection, perhaps before all calls have begun.
func TestWriteTimeout(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		service := &counted{}
		p := native.Protocol{WriteTimeout: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
		l, err := p.Listen(t.Context(), tr, addr, service)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := connect(t, tr, l)
		c.greet()
		message := make([]byte, 60_000)
		for i := range uint32(200) {
			if _, err := c.conn.Write(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 2*i + 1, Message: message})); err != nil {
				break // the server has given up
			}
		}
		eventually(t, "the handlers to end", func() bool { n := service.ended.Load(); return n > 0 && n == service.begun.Load() })
		eventually(t, "the server to give up", func() bool {
			_, err := c.conn.Write(wire.AppendPing(nil, false, 1))
			return err != nil
		})
	})
}

// TestUnaryAllocates bounds the allocations of a call: the context of the handler on the server, and nothing on the client.
func TestUnaryAllocates(t *testing.T) {
	if native.RaceEnabled {
		return
	}
	l := listen(t, native.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	conn, err := native.Protocol{}.Dial(t.Context(), tcp.New(nil), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	head := &call.Head{Method: "echo.Echo.Say", Content: "application/json"}
	data := make([]byte, 581)
	if n := testing.AllocsPerRun(1000, func() {
		var resp call.Response
		head.Deadline = time.Now().Add(time.Minute)
		if err := conn.Call(context.Background(), head, data, &resp); err != nil {
			t.Fatal(err)
		}
		resp.Release()
	}); n > 3 {
		t.Errorf("%v allocations by client and server together, want at most 3", n)
	}
}
