package stream_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// timedListener notes when connections are accepted.
type timedListener struct {
	transport.Listener
	mu    sync.Mutex
	times []time.Time
}

func (l *timedListener) Accept(ctx context.Context) (transport.Conn, error) {
	conn, err := l.Listener.Accept(ctx)
	if err == nil {
		l.mu.Lock()
		l.times = append(l.times, time.Now())
		l.mu.Unlock()
	}
	return conn, err
}

// TestHandOver passes the clients of a broker to the next one, which stands for the next process. Of many clients, only the first ones dial at
// the same time. A client that is closed meanwhile does not wait for the broker before.
func TestHandOver(t *testing.T) {
	const clients, atOnce = 250, 100
	synctest.Test(t, func(t *testing.T) {
		network := memory.New(nil)
		start := func() (*broker.Broker, *timedListener) {
			inner, err := network.Listen(t.Context(), "node")
			if err != nil {
				t.Fatal(err)
			}
			b, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return b, &timedListener{Listener: inner}
		}
		before, l := start()
		go func() { _ = before.Serve(t.Context(), l, broker.ValidateOff) }()
		all := make([]*stream.Client, clients)
		for i := range all {
			c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
			if err != nil {
				t.Fatal(err)
			}
			all[i] = c
			if i%2 == 0 { // clients that publish leave by themselves
				s, err := c.Source(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Send(t.Context(), ferry.Message{Payload: []byte("x")}); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Second)

		_ = l.Close()
		next, l := start()
		began := time.Now()
		if err := before.HandOver(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the broker needed %v for clients with nothing to do", took)
		}
		time.Sleep(5 * time.Second)
		last := all[clients-1] // it does not publish, so it is among those that the broker closes last
		began = time.Now()
		if err := last.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("closing a client took %v, %v, want no time", time.Since(began), err)
		}
		go func() { _ = next.Serve(t.Context(), l, broker.ValidateOff) }()
		synctest.Wait()
		served := time.Now()
		<-before.CloseKept()
		synctest.Wait()
		l.mu.Lock()
		times := l.times
		l.mu.Unlock()
		if len(times) != clients-1 {
			t.Fatalf("%d clients have connected again, want %d", len(times), clients-1)
		}
		byTime, early := map[time.Time]int{}, 0
		for _, at := range times {
			if at.Equal(served) && early < atOnce {
				early++
				continue
			}
			if byTime[at]++; byTime[at] > 1 {
				t.Fatalf("%d clients have connected %v after the next broker began to accept, want 1", byTime[at], at.Sub(served))
			}
		}
		if took := times[len(times)-1].Sub(served); took > (clients-atOnce)*time.Millisecond {
			t.Errorf("the last client has connected after %v", took)
		}
		for _, c := range all {
			_ = c.Close()
		}
		if err := next.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestHandOverLate hands over a broker whose clients are not done in time. The sockets of clients that have to send, or that do not know that they
// must leave, are closed at once: what such a client writes to a socket that stays open would be lost.
func TestHandOverLate(t *testing.T) {
	const each = 130 // more than the broker closes in any case
	for _, row := range []struct {
		name    string
		bound   time.Duration
		waiting int // clients that wait for CloseKept
	}{
		{"no client knows", 0, 0},
		{"half of the clients send", time.Second, each - 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memory.New(nil)
				start := func() (*broker.Broker, transport.Listener) {
					l, err := network.Listen(t.Context(), "node")
					if err != nil {
						t.Fatal(err)
					}
					b, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatal(err)
					}
					go func() { _ = b.Serve(t.Context(), l, broker.ValidateOff) }()
					return b, l
				}
				before, l := start()
				release := make(chan struct{})
				var all []*stream.Client
				for i := range 2 * each {
					c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, c)
					if i%2 == 0 {
						if _, err := c.Source(t.Context(), "out"); err != nil {
							t.Fatal(err)
						}
					}
					f := stream.Function{Observe: []string{"in"}, Handler: ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error {
						if i%2 == 0 {
							<-release // the client leaves when its handler has returned
						}
						return nil
					})}
					if _, err := c.Start(t.Context(), f); err != nil {
						t.Fatal(err)
					}
				}
				s, err := all[0].Source(t.Context(), "in")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Send(t.Context(), ferry.Message{Payload: []byte("x")}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)

				_ = l.Close()
				ctx, cancel := context.WithTimeout(t.Context(), row.bound)
				defer cancel()
				if err := before.HandOver(ctx); err == nil {
					t.Error("all clients were done, want some that are not")
				}
				close(release)
				next, _ := start()
				time.Sleep(5 * time.Second) // far longer than a client pauses
				waiting := 0
				for _, c := range all {
					if c.Stats().Connects == 1 {
						waiting++
					}
				}
				if waiting != row.waiting {
					t.Errorf("%d clients wait for the broker before to close their connections, want %d", waiting, row.waiting)
				}
				<-before.CloseKept()
				time.Sleep(time.Second)
				for i, c := range all {
					if n := c.Stats().Connects; n != 2 {
						t.Errorf("client %d has connected %d times, want 2", i, n)
					}
					_ = c.Close()
				}
				_ = next.Shutdown(t.Context())
			})
		})
	}
}
