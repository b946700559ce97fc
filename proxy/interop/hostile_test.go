package interop

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// beat is the pause between two writes of a flooding client. A shorter pause would leave no CPU time to other
// processes on a small machine.
const beat = time.Millisecond

// thousands is the number of connections that crowd opens.
const thousands = 10_000

// needFiles skips the test if this process may not open enough descriptors for a crowd, which needs one for each
// connection.
func needFiles(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < thousands+1000 {
		needs.Missing(t, "11,000 open files", "ulimit -n 20000")
	}
}

// attack attacks the listener at an address until ctx ends. It calls underWay when all its clients are active.
type attack func(ctx context.Context, address string, underWay func())

// TestHostile runs hostile and well-behaved clients at the same time. The well-behaved clients must get all their
// responses, and ferry's memory must stay within a budget.
func TestHostile(t *testing.T) {
	needFiles(t)
	mux := paths()
	mux.HandleFunc("/ignore", func(http.ResponseWriter, *http.Request) {}) // responds before the request body ends
	server := serveGo(t, mux)
	const head = "POST /hash HTTP/1.1\r\nHost: a\r\n"
	for _, row := range []struct {
		name   string
		do     attack
		budget int // memory limit in MiB
		edit   []string
	}{
		{name: "connections without a request", do: crowd("", ""), budget: 32},
		{name: "heads that come byte by byte", do: crowd(head+"X-Slow: ", "a"), budget: 256},
		{
			name: "heads that come byte by byte, to be there in time", do: crowd(head+"X-Slow: ", "a"), budget: 256,
			edit: []string{"protocol: http1", "protocol: http1\n      http1:\n        header_timeout: 1s"},
		},
		{name: "bodies that come byte by byte", do: few(1000, head+"Content-Length: 1000000\r\n\r\n", "a", 200*time.Millisecond), budget: 48},
		{name: "heads without end", do: few(20, head, "X-Flood: "+strings.Repeat("a", 100)+"\r\n", beat), budget: 32},
		{name: "a field without end", do: few(20, head+"X-Flood: ", strings.Repeat("a", 1000), beat), budget: 32},
		{name: "request lines without end", do: few(20, "GET /", strings.Repeat("a", 1000), beat), budget: 32},
		{name: "empty lines without end", do: few(20, "", strings.Repeat("\r\n", 500), beat), budget: 32},
		{name: "chunks without end", do: few(8, head+"Transfer-Encoding: chunked\r\n\r\n", "3e8\r\n"+strings.Repeat("a", 1000)+"\r\n", beat), budget: 48},
		{name: "chunks of one byte without end", do: few(8, head+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\na\r\n", 200), beat), budget: 48},
		{name: "chunk extensions without end", do: few(8, head+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("a", 1000), beat), budget: 48},
		{
			name: "a body without end for a path that ignores it", budget: 48,
			do: few(8, "POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "3e8\r\n"+strings.Repeat("a", 1000)+"\r\n", beat),
		},
		{name: "requests without end, responses unread", do: few(50, "", strings.Repeat("GET /bytes?n=1000000 HTTP/1.1\r\nHost: a\r\n\r\n", 20), beat), budget: 96},
		{name: "small requests without end, responses unread", do: few(50, "", strings.Repeat("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", 100), beat), budget: 96},
		{name: "connections that break within a request", do: breaks(head + "Content-Length: 100000\r\n\r\n" + strings.Repeat("a", 50_000)), budget: 64},
		{name: "noise", do: noise, budget: 32},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := run(t, "http1.yaml", map[string]string{"18090": server}, row.edit...)
			honest := newHonest(t, f.url("18080"))
			during(t, f, row.do, "18080", row.budget, honest.ask)
		})
	}
}

// during calls ask before, during and after an attack.
func during(t *testing.T, f *ferry, do attack, port string, budget int, ask func(n int)) {
	t.Helper()
	stop := f.watch(budget)
	ask(20)
	ctx, cancel := context.WithCancel(t.Context())
	done, underWay := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		do(ctx, f.at(port), sync.OnceFunc(func() { close(underWay) }))
	}()
	<-underWay
	for range 4 {
		ask(40)
		time.Sleep(100 * time.Millisecond) // so that the attack has an effect on a fast machine too
	}
	cancel()
	<-done
	ask(20)
	stop()
}

// few opens n connections. Each sends start and then more repeatedly, with pauses, and never reads. Closed
// connections are opened again.
func few(n int, start, more string, pause time.Duration) attack {
	return func(ctx context.Context, address string, underWay func()) {
		underWay()
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				for ctx.Err() == nil {
					c, err := net.Dial("tcp", address)
					if err != nil {
						continue
					}
					stop := context.AfterFunc(ctx, func() { c.Close() })
					for _, err = io.WriteString(c, start); err == nil; _, err = io.WriteString(c, more) {
						time.Sleep(pause)
					}
					stop()
					c.Close()
				}
			})
		}
		all.Wait()
	}
}

// crowd opens thousands of connections. Each sends start, and then all connections send more in turn. Closed
// connections are opened again.
func crowd(start, more string) attack {
	return func(ctx context.Context, address string, underWay func()) {
		const together = 8
		var all, opened sync.WaitGroup
		opened.Add(together)
		for range together {
			all.Go(func() {
				opening := sync.OnceFunc(opened.Done)
				conns := make([]net.Conn, thousands/together)
				for ctx.Err() == nil {
					for i := 0; i < len(conns) && ctx.Err() == nil; i++ {
						if conns[i] == nil {
							c, err := net.Dial("tcp", address)
							if err != nil {
								continue
							}
							conns[i] = c
							io.WriteString(c, start)
						} else if _, err := io.WriteString(conns[i], more); err != nil {
							conns[i].Close()
							conns[i] = nil
						}
					}
					opening()
					if more == "" {
						<-ctx.Done()
					}
					time.Sleep(50 * beat)
				}
				for _, c := range conns {
					if c != nil {
						c.Close()
					}
				}
			})
		}
		opened.Wait()
		underWay()
		all.Wait()
	}
}

// breaks opens connections that send start and are then reset.
func breaks(start string) attack {
	return func(ctx context.Context, address string, underWay func()) {
		underWay()
		for ctx.Err() == nil {
			c, err := net.Dial("tcp", address)
			if err != nil {
				continue
			}
			io.WriteString(c, start[:1+rand.IntN(len(start))])
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}
}

// noise opens connections that send random bytes.
func noise(ctx context.Context, address string, underWay func()) {
	underWay()
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		b := make([]byte, 2000)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		c.Write(b)
		c.Close()
	}
}
