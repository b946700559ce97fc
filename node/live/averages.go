package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/edgex"
)

// maxWindows bounds the (tag, resource) pairs that have a window.
const maxWindows = 4096

// Averages is a handler for events on sensors/...: it publishes each on averages/..., with each numeric reading
// replaced by the average of its resource over Span.
type Averages struct {
	Span time.Duration // 0 means 10 s

	mu      sync.Mutex
	windows map[[2]string]*window // by tag and resource
}

// Handle handles one event, in CBOR or JSON, and publishes in the same format.
func (a *Averages) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	rest, ok := strings.CutPrefix(in.Tag, "sensors/")
	if !ok {
		return fmt.Errorf("live: averages got tag %q: want one below sensors/", in.Tag)
	}
	c, err := codecOf(in.Type)
	if err != nil {
		return err
	}
	var event edgex.Event
	if err := edgex.Unmarshal(c, in.Payload, &event, maxEvent); err != nil {
		return fmt.Errorf("live: averages: event on %s: %w", in.Tag, err)
	}
	averaged := edgex.NewEvent(event.ProfileName, event.DeviceName, event.SourceName)
	for i := range event.Readings {
		r := &event.Readings[i]
		v, ok := number(r)
		if !ok {
			continue // text and bytes have no average
		}
		avg, err := a.add(in.Tag, r.ResourceName, in.Time, v)
		if err != nil {
			return err
		}
		if err := addFloat(&averaged, r.ResourceName, r.Units, avg); err != nil {
			return err
		}
	}
	if len(averaged.Readings) == 0 {
		return nil
	}
	stamp(&averaged, event.Origin)
	payload, err := c.Marshal(averaged)
	if err != nil {
		return err
	}
	return out.Send(ctx, ferry.Message{Tag: "averages/" + rest, Type: in.Type, Time: in.Time, Payload: payload})
}

func (a *Averages) add(tag, resource string, t int64, v float64) (float64, error) {
	span := a.Span
	if span == 0 {
		span = 10 * time.Second
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{tag, resource}
	w := a.windows[key]
	if w == nil {
		if len(a.windows) >= maxWindows {
			a.forget(t - int64(span))
		}
		if len(a.windows) >= maxWindows {
			return 0, fmt.Errorf("live: averages keeps %d resources already: %s of %s is left out", maxWindows, resource, tag)
		}
		if a.windows == nil {
			a.windows = map[[2]string]*window{}
		}
		w = new(window)
		a.windows[key] = w
	}
	return w.add(t, v, span), nil
}

// forget drops the windows without a value since t.
func (a *Averages) forget(t int64) {
	for key, w := range a.windows {
		if w.newest() < t {
			delete(a.windows, key)
		}
	}
}
