package discovery

import (
	"context"
	"slices"
	"time"
)

const (
	lookupTimeout = 2 * time.Second // limit of one lookup
	lookupRetry   = time.Second     // delay after a failed lookup

	// minTTL bounds the load on name servers: some services have records with a TTL of 0.
	minTTL = time.Second
)

// lookup finds all endpoints once. ttl is the time for which they are valid; 0 means unknown. With an error, the list has
// those endpoints that could be found; if it is nil, those of the lookup before stay valid.
type lookup func(ctx context.Context) (list []Endpoint, ttl time.Duration, err error)

// polled is a source that looks its endpoints up again and again.
type polled struct {
	name     string
	lookup   lookup
	interval time.Duration // longest time between two lookups

	list    []Endpoint
	known   bool      // a lookup has succeeded
	failing bool      // the last lookup has failed
	due     time.Time // time of the next lookup
}

// String implements Source.
func (p *polled) String() string { return p.name }

// Next implements Source.
func (p *polled) Next(ctx context.Context) ([]Endpoint, error) {
	for {
		if err := wait(ctx, p.due); err != nil {
			return nil, err
		}
		within, cancel := context.WithTimeout(ctx, lookupTimeout)
		list, ttl, err := p.lookup(within)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err() // the lookup was canceled
		}
		pause := p.interval
		switch {
		case err != nil:
			pause = min(pause, lookupRetry)
		case ttl > 0:
			pause = min(pause, max(ttl, minTTL))
		}
		p.due = time.Now().Add(pause)
		if err != nil {
			p.failing = true
			if list != nil {
				p.list, p.known = list, true
			}
			return list, err
		}
		unchanged := p.known && !p.failing && slices.Equal(list, p.list)
		p.list, p.known, p.failing = list, true, false
		if !unchanged {
			return list, nil
		}
	}
}

// wait waits until due or until ctx ends, and returns the error of ctx.
func wait(ctx context.Context, due time.Time) error {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
