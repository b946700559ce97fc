package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/link/spool"
	"example.com/ferry/stream"
)

// pubSpool is the directory of ferry pub --spool. A nil *pubSpool is ferry pub without it.
type pubSpool struct {
	dir   string
	spool *spool.Spool
}

// connect opens the spool, if there is one, and connects to the node. With a spool it does not wait for the node.
func (c *pubCmd) connect(ctx context.Context, e *env) (*stream.Client, *pubSpool, error) {
	if c.Spool == "" {
		client, err := c.dial(ctx, e, stream.Config{Name: "ferry pub"})
		return client, nil, err
	}
	s, err := spool.Open(spool.Config{Dir: c.Spool, MaxBytes: int64(c.SpoolMax)})
	if err != nil {
		return nil, nil, err
	}
	client, err := c.dial(ctx, e, stream.Config{Name: "ferry pub", Spool: s})
	if err != nil {
		_ = s.Close()
		return nil, nil, err
	}
	return client, &pubSpool{c.Spool, s}, nil
}

func (p *pubSpool) close() {
	if p != nil {
		_ = p.spool.Close()
	}
}

// messages returns how many messages the node does not have yet.
func (p *pubSpool) messages() uint64 {
	if p == nil {
		return 0
	}
	return p.spool.Stats().Messages
}

// The times between two notes on a spool that is not empty.
const (
	firstSpoolNote = 2 * time.Second
	nextSpoolNote  = 10 * time.Second
)

// watch prints how far behind the node is while it is, until the returned function is called.
func (p *pubSpool) watch(e *env, client *stream.Client) (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for pause := firstSpoolNote; ; pause = nextSpoolNote {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			if v := client.Stats(); v.Spool.Messages > 0 {
				e.note("%s", p.behind(v))
			}
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}
}

// behind returns how many messages wait, and why.
func (p *pubSpool) behind(v stream.Stats) string {
	text := fmt.Sprintf("%d messages (%s) wait in %s", v.Spool.Messages, roughly(v.Spool.Bytes), p.dir)
	if !v.Spool.Oldest.IsZero() {
		text += fmt.Sprintf(", the oldest for %v", max(0, time.Since(v.Spool.Oldest)).Round(time.Second))
	}
	if v.SpoolErr != nil {
		text += fmt.Sprintf(": %v", v.SpoolErr)
	}
	return text
}

// explain adds to err how many messages are left.
func (p *pubSpool) explain(err error) error {
	n := p.messages()
	if n == 0 {
		return err
	}
	return fmt.Errorf("%w\n%d messages are left in %s: the next ferry pub --spool %s publishes them first", err, n, p.dir, p.dir)
}

// roughly returns a number of bytes in the largest unit that leaves two digits or more.
func roughly(n int64) string {
	for _, u := range [...]bytesize.Size{1 << 30, 1 << 20, 1 << 10} {
		if n >= 10*int64(u) {
			return (bytesize.Size(n) / u * u).String()
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
