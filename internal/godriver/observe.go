package godriver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native/conformance"
	"example.com/ferry/stream"
)

// subscription is a function that reports its messages.
type subscription struct {
	driver   *driver
	number   int
	running  *stream.Running
	publish  string        // tag on which the handler publishes each payload; "" means none
	released chan struct{} // closed by release
	once     sync.Once

	mu       sync.Mutex
	outcomes []string // of the next messages; the last one stays
}

func (s *subscription) release() { s.once.Do(func() { close(s.released) }) }

func (d *driver) subscribe(i *conformance.Instruction) error {
	policy, err := stream.ParsePolicy(cmpOr(i.Policy, "block"))
	if err != nil {
		return err
	}
	from, err := parseFrom(i.From, i.Value)
	if err != nil {
		return err
	}
	s := &subscription{driver: d, number: i.Sub, publish: i.Publish, released: make(chan struct{}), outcomes: i.Outcomes}
	s.running, err = d.client.Start(d.ctx, stream.Function{
		Observe: []string{i.Filter}, Where: i.Where, Group: i.Group, Addressed: i.Addressed, Policy: policy, Window: int(i.Window), Queue: int(i.Queue),
		Durable: i.Durable, From: from, Handler: ferry.HandlerFunc(s.handle),
	})
	if err != nil {
		return err
	}
	d.subs[i.Sub] = s
	d.tasks.Go(func() {
		select {
		case <-s.running.Done():
		case <-d.ctx.Done():
			return
		}
		if err := s.running.Err(); err != nil && !errors.Is(err, stream.ErrClosed) {
			d.report(conformance.Report{Event: "ended", Sub: s.number, Code: codeOf(err), Error: err.Error()})
		}
	})
	return nil
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// parseFrom returns the place in a stream of an instruction.
func parseFrom(from string, value uint64) (stream.From, error) {
	switch from {
	case "":
		return stream.From{}, nil
	case "sequence":
		return stream.FromSequence(value), nil
	case "time":
		return stream.FromTime(time.Unix(0, int64(value))), nil
	}
	return stream.ParseFrom(from)
}

// errByOrder is the error of a handler that the kit wants to fail.
var errByOrder = errors.New("by order of the kit")

// handle reports a message, and does what the kit wants.
func (s *subscription) handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	s.driver.report(conformance.Report{
		Event: "message", Sub: s.number, Tag: in.Tag, Type: in.Type.String(), Payload: in.Payload, Time: in.Time, Source: uint32(in.Source),
		Sequence: in.Sequence, Deliveries: in.Deliveries, Key: string(in.Key), MessageID: in.ID,
	})
	if s.publish != "" {
		if err := out.Send(ctx, ferry.Message{Tag: s.publish, Payload: in.Payload}); err != nil {
			return err
		}
	}
	what, argument, _ := strings.Cut(s.outcome(), ":")
	switch what {
	case "ok":
		return nil
	case "hold":
		select {
		case <-s.released:
		case <-ctx.Done():
		}
		return nil
	case "fail":
		if argument == "" {
			return errByOrder
		}
		ms, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return stream.Retry(errByOrder, time.Duration(ms)*time.Millisecond)
	case "reject":
		return stream.Reject(errByOrder)
	}
	return fmt.Errorf("outcome %q: want ok, fail, fail:MS, reject or hold", what)
}

// outcome returns what becomes of the next message.
func (s *subscription) outcome() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.outcomes) == 0 {
		return "ok"
	}
	first := s.outcomes[0]
	if len(s.outcomes) > 1 {
		s.outcomes = s.outcomes[1:]
	}
	return first
}

func (d *driver) release(i *conformance.Instruction) error {
	s, err := d.subscription(i)
	if err == nil {
		s.release()
	}
	return err
}

func (d *driver) unsubscribe(i *conformance.Instruction) error {
	s, err := d.subscription(i)
	if err == nil {
		s.running.Stop()
	}
	return err
}

func (d *driver) subscription(i *conformance.Instruction) (*subscription, error) {
	s := d.subs[i.Sub]
	if s == nil {
		return nil, fmt.Errorf("there is no subscription %d", i.Sub)
	}
	return s, nil
}
