package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/numbered"
)

// variable has the spec of a process of this program that is a client or a server, not the benchmark.
const variable = "FERRY_BENCH_DURABLE"

// order is what a client is to do.
type order struct {
	Do      string
	Workers int           // of toAck and toHandler: each has one message on the way
	Time    time.Duration // of toAck and toHandler
	Count   int           // messages of fill and replay; of toHandler, in the place of Time: by each worker
	Where   bool          // of replay
}

// What an order asks for.
const (
	toAck     = "ack"     // publish, and wait until the message is stored
	toHandler = "handler" // publish, and wait until the handler has the message
	fill      = "fill"    // publish as fast as the system stores
	replay    = "replay"  // read from the first message on
)

// report is the result of an order. The first one says that the process is ready.
type report struct {
	Err     string
	Elapsed time.Duration
	Count   int // messages that were stored, handled or read
	Latency keepalive.Histogram
}

// Main runs a client or a server if this process was started as one, and does not return then. A benchmark's main and the TestMain of
// its tests must call Main first.
func Main() { child.Main(variable, spec.name, begin) }

func begin(s spec) (func(order) report, report, error) {
	if s.Role == serverRole {
		return func(order) report { return report{Err: "a server has no orders"} }, report{}, runServer(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := dialers[s.System](ctx, s)
	if err != nil {
		return nil, report{}, err
	}
	l := &load{client: c, size: s.Size}
	return func(o order) report {
		r, err := l.execute(o)
		if err != nil {
			r.Err = err.Error()
		}
		return r
	}, report{}, nil
}

// rareth is how many messages have one for which numbered.Where is true.
const rareth = 100

// load executes the orders of a client.
type load struct {
	client client
	size   int
	seq    uint64 // number of the next message, which no other message of toHandler has
}

func (l *load) execute(o order) (report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Time+orderTimeout(o))
	defer cancel()
	switch o.Do {
	case toAck:
		return l.work(o, func(_ int, _ uint64, payload []byte) (time.Time, error) {
			err := l.client.publish(ctx, payload)
			return time.Now(), err
		})
	case toHandler:
		return l.handle(ctx, o)
	case fill:
		return l.fill(ctx, o.Count)
	case replay:
		return l.replay(ctx, o)
	}
	return report{}, fmt.Errorf("a client does not %s", o.Do)
}

// orderTimeout is how long an order may take besides its own time: patience, and a second for each 5000 messages.
func orderTimeout(o order) time.Duration {
	return patience + time.Duration(max(o.Workers, 1)*o.Count)*time.Second/5000
}

// work keeps all workers busy: each calls once for one message after the other, at least for one. once returns when the message was
// stored or handled.
func (l *load) work(o order, once func(worker int, seq uint64, payload []byte) (time.Time, error)) (total report, err error) {
	each, errs := make([]report, o.Workers), make([]error, o.Workers)
	messages := make([]*numbered.Message, o.Workers)
	for w := range messages {
		if messages[w], err = numbered.New(l.size, rareth); err != nil {
			return total, err
		}
	}
	start := time.Now()
	var all sync.WaitGroup
	for w := range o.Workers {
		all.Go(func() {
			for began := start; each[w].Count == 0 || each[w].Count < o.Count || began.Sub(start) < o.Time; began = time.Now() {
				seq := l.seq + uint64(each[w].Count*o.Workers+w)
				messages[w].Set(seq, 0)
				done, err := once(w, seq, messages[w].Bytes)
				if err != nil {
					errs[w] = err
					return
				}
				each[w].Latency.Add(done.Sub(began))
				each[w].Count++
			}
		})
	}
	all.Wait()
	total.Elapsed = time.Since(start)
	most := 0
	for w := range each {
		total.Count += each[w].Count
		total.Latency.Merge(each[w].Latency)
		most = max(most, each[w].Count)
	}
	l.seq += uint64(most * o.Workers)
	return total, errors.Join(errs...)
}

// arrival is a message that a handler has got.
type arrival struct {
	seq uint64
	at  time.Time
}

// handle executes toHandler.
func (l *load) handle(ctx context.Context, o order) (report, error) {
	want, err := numbered.New(l.size, rareth)
	if err != nil {
		return report{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := l.seq
	arrived := make([]chan arrival, o.Workers)
	for w := range arrived {
		arrived[w] = make(chan arrival, 1)
	}
	stop, err := l.client.consume(ctx, func(payload []byte) {
		now := time.Now()
		seq, err := want.Number(payload)
		if err == nil {
			_, err = want.Read(payload, seq)
		}
		if err == nil && seq < first {
			err = fmt.Errorf("message %d was published before message %d, the first of this consumer", seq, first)
		}
		if err != nil {
			cancel(err)
			return
		}
		select {
		case arrived[(seq-first)%uint64(o.Workers)] <- arrival{seq, now}:
		case <-ctx.Done():
		}
	}, cancel)
	if err != nil {
		return report{}, err
	}
	defer stop()
	return l.work(o, func(worker int, seq uint64, payload []byte) (time.Time, error) {
		if err := l.client.publish(ctx, payload); err != nil {
			return time.Time{}, errors.Join(err, context.Cause(ctx))
		}
		select {
		case a := <-arrived[worker]:
			if a.seq != seq {
				return a.at, fmt.Errorf("message %d came where %d was due", a.seq, seq)
			}
			return a.at, nil
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("message %d did not reach the handler: %w", seq, context.Cause(ctx))
		}
	})
}

// fill publishes messages 0 to n-1.
func (l *load) fill(ctx context.Context, n int) (report, error) {
	m, err := numbered.New(l.size, rareth)
	if err != nil {
		return report{}, err
	}
	seq := uint64(0)
	start := time.Now()
	err = l.client.fill(ctx, n, func() []byte {
		m.Set(seq, 0)
		seq++
		return m.Bytes
	})
	return report{Elapsed: time.Since(start), Count: n}, err
}

// replay reads messages 0 to o.Count-1, or those of them for which numbered.Where is true, and compares each.
func (l *load) replay(ctx context.Context, o order) (r report, err error) {
	want, err := numbered.New(l.size, rareth)
	if err != nil {
		return r, err
	}
	step := uint64(1)
	if o.Where {
		step = rareth
	}
	next, end := uint64(0), uint64(o.Count)
	var bad error
	start := time.Now()
	err = l.client.replay(ctx, o.Where, func(payload []byte) bool {
		if _, bad = want.Read(payload, next); bad != nil {
			return false
		}
		r.Count++
		next += step
		return next < end
	})
	r.Elapsed = time.Since(start)
	return r, errors.Join(err, bad)
}
