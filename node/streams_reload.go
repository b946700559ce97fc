package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"example.com/ferry/node/config"
)

// prepareStreams opens the streams that the next configuration adds. A changed retention removes messages at once, and a refused file must
// change nothing: so the engine gets it when all sections are ready. The rules of config refuse other changes of what the engine keeps.
func (n *Node) prepareStreams(r *reload) (change, error) {
	fields := r.last.Changed(r.next, "streams")
	switch {
	case len(fields) == 0 || n.broker == nil:
		return change{}, nil
	case r.last.Engine != r.next.Engine:
		return change{}, nil // the section engine refuses it
	}
	p := restored{streams: n.streams}
	if err := p.open(r.next.Streams); err != nil {
		p.abort()
		return change{}, err
	}
	set, err := n.broker.PrepareStreams(n.streams.brokerStreams(p.list))
	if err != nil {
		p.abort()
		return change{}, fmt.Errorf("streams: %w", err)
	}
	return change{differences(p.added, p.removed, p.changed), func() {
		set()
		p.bound(n.log)
		n.streams.replace(p.list)
	}, p.abort}, nil
}

// restored is a prepared change of the streams.
type restored struct {
	streams                 *storedStreams
	list                    []storedStream
	added, removed, changed []string
	made                    []string // streams that the engine did not have before
	bounded                 []int    // indices in list of the streams with another retention
}

// open opens those of next that are new.
func (p *restored) open(next []config.Stream) error {
	var errs []error
	for i, c := range next {
		at := fmt.Sprintf("streams[%d]", i)
		old, known := p.streams.find(c.Name)
		if !known {
			errs = append(errs, p.add(at, c))
			continue
		}
		if !reflect.DeepEqual(old.config, c) {
			p.changed = append(p.changed, c.Name)
		}
		if !reflect.DeepEqual(old.settings, engineConfig(c)) {
			p.bounded = append(p.bounded, len(p.list))
		}
		old.config = c
		p.list = append(p.list, old)
	}
	for _, old := range p.streams.all() {
		if !slices.ContainsFunc(next, func(c config.Stream) bool { return c.Name == old.config.Name }) {
			p.removed = append(p.removed, old.config.Name)
		}
	}
	return errors.Join(errs...)
}

// add opens a stream. It exists already if an earlier configuration had it.
func (p *restored) add(at string, c config.Stream) error {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	before, err := p.streams.engine.List(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	opened, err := p.streams.open(c)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	existed := false
	for _, info := range before {
		existed = existed || info.Config.Name == c.Name
	}
	if !existed {
		p.made = append(p.made, c.Name)
	}
	p.list, p.added = append(p.list, opened), append(p.added, c.Name)
	return nil
}

// bound has the engine keep what the next configuration says.
func (p *restored) bound(log *slog.Logger) {
	for _, i := range p.bounded {
		s := &p.list[i]
		opened, err := p.streams.open(s.config)
		if err != nil { // the settings stay those of before: the next reload tries again
			log.Error("the retention of a stream is not changed: reload again with another change of streams, or restart the node", "stream", s.config.Name, "err", err)
			continue
		}
		*s = opened
	}
}

// abort removes the streams that were made.
func (p *restored) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	for _, name := range p.made {
		_ = p.streams.engine.Delete(ctx, name) // it is empty, and the next start reports it
	}
}
