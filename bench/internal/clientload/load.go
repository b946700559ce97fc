package clientload

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// patience bounds a request, with all that a client does to send it again.
const patience = time.Minute

// afterFailure is the time between a failed request and the next one of the same client.
const afterFailure = 20 * time.Millisecond

// Client is one client of a Load. One goroutine at a time uses it.
type Client interface {
	// Do sends a request with an id that no other request has, and waits for the response, or until a message is acknowledged. It
	// connects again if it has to. again is how often it has sent the request again.
	Do(ctx context.Context, id string) (again int, err error)

	Close()
}

// Kind is what the clients of a Load do. The methods Kind of HTTP, Bolt, GRPC, Calls, Stream and MQTT return one.
type Kind struct {
	Name     string
	Clients  int           // 0 means 2
	Pause    time.Duration // between a response and the next request of a client; 0 means 2 ms
	Connect  func(ctx context.Context, client int) (Client, error)
	Messages *Messages // of clients that publish; nil for others
	Close    func()    // called when all clients have ended; may be nil
}

// started is the number of Loads that New has returned. It makes the ids of all of them different: a server may have seen those of an
// earlier Load.
var started atomic.Int64

// Load is a number of clients, each of which sends one request after another.
type Load struct {
	kind    Kind
	number  int64 // of this Load
	clients []Client
	end     context.CancelFunc
	ended   sync.WaitGroup
	done    atomic.Int64

	mu     sync.Mutex
	report Report
}

// New returns a Load that has not started.
func New(k Kind) *Load {
	if k.Clients == 0 {
		k.Clients = 2
	}
	if k.Pause == 0 {
		k.Pause = 2 * time.Millisecond
	}
	return &Load{kind: k, number: started.Add(1), report: newReport(k.Name)}
}

// Name is the name of the Kind.
func (l *Load) Name() string { return l.kind.Name }

// Start connects the clients and begins to send. Stop has to follow, also after an error.
func (l *Load) Start(ctx context.Context) error {
	sending, end := context.WithCancel(context.WithoutCancel(ctx))
	l.end = end
	for i := range l.kind.Clients {
		c, err := l.kind.Connect(ctx, i)
		if err != nil {
			return fmt.Errorf("clientload: %s: %w", l.kind.Name, err)
		}
		l.clients = append(l.clients, c)
	}
	for i, c := range l.clients {
		l.ended.Go(func() { l.run(sending, c, i) })
	}
	return nil
}

// run sends the requests of a client.
func (l *Load) run(ctx context.Context, c Client, client int) {
	last := time.Time{} // when the last request succeeded
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%d-%d-%d", l.number, client, n)
		request, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		begun := time.Now()
		again, err := c.Do(request, id)
		cancel()
		now := time.Now()
		l.mu.Lock()
		l.report.add(now.Sub(begun), last, now, again, err)
		l.mu.Unlock()
		pause := l.kind.Pause
		if err != nil {
			pause = afterFailure
		} else {
			last = now
			l.done.Add(1)
			if l.kind.Messages != nil {
				l.kind.Messages.acknowledge(id)
			}
		}
		wait(ctx, pause)
	}
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Completed is the number of requests that have succeeded so far.
func (l *Load) Completed() int64 { return l.done.Load() }

// Failed is the number of requests that have failed so far, and the text of the first failure.
func (l *Load) Failed() (n int, first string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report.Failures > 0 {
		first = l.report.Causes[0]
	}
	return l.report.Failures, first
}

// Leave begins a time in which clients connect again. Until the returned function is called, messages that are not stored may have no
// subscriber: they count as unheard.
func (l *Load) Leave() (back func()) {
	if l.kind.Messages == nil {
		return func() {}
	}
	l.kind.Messages.leave()
	return l.kind.Messages.back
}

// Stop waits for the requests in flight and for the acknowledged messages, and closes the clients.
func (l *Load) Stop() Report {
	if l.end != nil {
		l.end()
	}
	l.ended.Wait()
	if l.kind.Messages != nil {
		l.kind.Messages.settle(&l.report)
	}
	for _, c := range l.clients {
		c.Close()
	}
	if l.kind.Close != nil {
		l.kind.Close()
	}
	return l.report
}
