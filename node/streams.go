package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/broker/stored"
	"example.com/ferry/engine"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
)

// storedStreams are the streams that the node's engine stores. They implement admin.Streams.
type storedStreams struct {
	engine  engine.Engine
	address string // of the engine, as the configuration has it
	holder  string // name of the node at the engine
	started time.Time
	broker  func() broker.Snapshot
	forget  func(stream, durable string) error // see broker.Broker.ForgetDurable

	mu   sync.Mutex
	list []storedStream // in the order of the configuration; replaced, not changed
}

var _ admin.Streams = (*storedStreams)(nil)

// storedStream is one stream.
type storedStream struct {
	config   config.Stream
	settings engine.Config
	stream   engine.Stream
}

// all returns the streams of the moment.
func (s *storedStreams) all() []storedStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// replace makes list the streams.
func (s *storedStreams) replace(list []storedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

// find returns the stream of that name.
func (s *storedStreams) find(name string) (storedStream, bool) {
	for _, each := range s.all() {
		if each.config.Name == name {
			return each, true
		}
	}
	return storedStream{}, false
}

// Stream returns the stream of that name.
func (s *storedStreams) Stream(name string) (engine.Stream, bool) {
	found, ok := s.find(name)
	return found.stream, ok
}

// holdWait is how long DeleteDurable waits for a node that serves the durable to free it. A node that has died is found within that.
const holdWait = 4 * time.Second

// DeleteDurable removes a durable and its position.
func (s *storedStreams) DeleteDurable(ctx context.Context, stream, durable string) error {
	return s.endDurable(ctx, stream, durable, nil)
}

// ResetDurable moves the position of a durable, which keeps its filter, its predicate and its owner.
func (s *storedStreams) ResetDurable(ctx context.Context, stream, durable string, from engine.Start) error {
	return s.endDurable(ctx, stream, durable, &from)
}

// endDurable removes a durable, and makes it again if it is to begin elsewhere. It holds the durable for that, so no node serves it
// meanwhile: one with members would begin again at the place that they ask for.
func (s *storedStreams) endDurable(ctx context.Context, stream, durable string, from *engine.Start) error {
	found, ok := s.find(stream)
	if !ok {
		return fmt.Errorf("%w: %s", admin.ErrNoStream, stream)
	}
	all, err := found.stream.Cursors(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c engine.CursorInfo) bool { return c.Name == durable })
	if i < 0 {
		return fmt.Errorf("%w: %s of stream %s", admin.ErrNoDurable, durable, stream)
	}
	if err := s.forget(stream, durable); err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInUse, err)
	}
	wait, cancel := context.WithTimeout(ctx, holdWait)
	defer cancel()
	held, err := found.stream.Cursor(wait, engine.CursorConfig{Name: durable, Filter: all[i].Filter, Where: all[i].Where, Holder: s.holder})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: node %s serves durable %s of stream %s: stop its members first", admin.ErrInUse, all[i].Holder, durable, stream)
	}
	if err != nil {
		return err
	}
	defer func() { _ = held.Close(ctx) }() // it was deleted, or keeps its position
	if err := found.stream.DeleteCursor(ctx, durable); err != nil || from == nil {
		return err
	}
	return found.stream.CreateCursor(ctx, engine.CursorConfig{Name: durable, Filter: all[i].Filter, Where: all[i].Where, Owner: all[i].Owner, Start: *from})
}

// stateTimeout bounds how long an engine elsewhere may take to say what it stores.
const stateTimeout = 3 * time.Second

// State returns the state of all streams. It asks the engine for them at the same time, so that a slow one costs its time once.
// A stream that the engine says nothing of has the error instead of figures.
func (s *storedStreams) State(ctx context.Context) (admin.StreamsState, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	can, list := s.engine.Capabilities(), s.all()
	state := admin.StreamsState{
		Now: time.Since(s.started).Seconds(),
		Engine: admin.StreamEngine{
			Name: can.Name, Address: can.Address, Durable: can.Durable, Sync: can.Sync.String(),
			Interval: can.Interval.Seconds(), MaxReplicas: can.MaxReplicas,
		},
		Streams: make([]admin.StoredState, len(list)),
	}
	routed := map[string]stored.StreamStats{}
	for _, each := range s.broker().Streams {
		routed[each.Name] = each
	}
	var asked sync.WaitGroup
	for i, each := range list {
		asked.Go(func() { state.Streams[i] = s.stateOf(ctx, each, routed[each.config.Name]) })
	}
	asked.Wait()
	slices.SortFunc(state.Streams, func(a, b admin.StoredState) int { return cmp.Compare(a.Name, b.Name) })
	return state, nil
}

// stateOf joins what the engine, the configuration and the broker know of a stream.
func (s *storedStreams) stateOf(ctx context.Context, each storedStream, routed stored.StreamStats) admin.StoredState {
	c := each.config
	state := admin.StoredState{
		Name: c.Name, Tags: c.Tags, Delivery: string(c.Delivery), Storage: string(c.Storage), DeadLetter: c.DeadLetter,
		Retention: admin.Retention{
			Age: c.Retention.Age.Seconds(), Size: int64(c.Retention.Size), Messages: c.Retention.Messages, PerTag: c.Retention.PerTag,
		},
		Pending: int(routed.Pending.Bytes), Appended: routed.Stored.Messages, Dropped: routed.Dropped + routed.Refused,
		Duplicates: routed.Duplicates,
	}
	info, err := each.stream.Info(ctx)
	if err == nil {
		err = info.Err
		state.Records, state.Bytes, state.First, state.Last = info.Records, info.Bytes, info.First, info.Last
		for _, r := range info.Replicas {
			state.Replicas = append(state.Replicas, admin.StreamReplica{Name: r.Name, Leader: r.Leader, Current: r.Current, Behind: r.Behind})
		}
	}
	cursors, cursorsErr := each.stream.Cursors(ctx)
	switch {
	case routed.Waiting != "":
		state.Error = oneLine(routed.Waiting)
	case err != nil:
		state.Error = s.explain(err)
	case cursorsErr != nil:
		state.Error = s.explain(cursorsErr)
	}
	state.Durables = s.durables(cursors, routed.Durables)
	return state
}

// explain returns an error of the engine as one line.
func (s *storedStreams) explain(err error) string {
	text := oneLine(err.Error())
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("engine %s does not respond: %s", s.address, text)
	}
	return text
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", ": ") }

// durables joins the cursors that the engine stores with the durables that the broker serves.
func (s *storedStreams) durables(cursors []engine.CursorInfo, served []stored.DurableStats) []admin.DurableState {
	all := make([]admin.DurableState, 0, len(cursors))
	for _, c := range cursors {
		all = append(all, admin.DurableState{
			Name: c.Name, Filter: c.Filter, Holder: c.Holder, Here: c.Holder == s.holder, Floor: c.Position.Floor, Lag: c.Lag,
		})
	}
	for _, d := range served {
		i := slices.IndexFunc(all, func(state admin.DurableState) bool { return state.Name == d.Name })
		if i < 0 { // its cursor was made after the engine had listed them
			all = append(all, admin.DurableState{Name: d.Name, Filter: d.Filter})
			i = len(all) - 1
		}
		state := &all[i]
		state.Where, state.Held, state.Waiting = d.Where, d.InFlight, d.Delayed
		state.Delivered, state.Redelivered, state.DeadLetters = d.Delivered.Messages, d.Redelivered, d.DeadLetters+d.Dropped
		for _, m := range d.Members {
			state.HeldBytes += m.InFlightBytes
			state.Members = append(state.Members, admin.MemberState{Client: m.Client, Held: m.InFlight, HeldBytes: m.InFlightBytes, Credit: m.Credit})
		}
	}
	slices.SortFunc(all, func(a, b admin.DurableState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
