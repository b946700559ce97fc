package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/codec/cbor"
)

// Sensors publishes this machine's sensors, one event a sensor and interval, on sensors/HOST/NAME.
type Sensors struct {
	Host     string        // device name, and second level of the tags
	Interval time.Duration // between two readings; 0 means 100 ms
	Log      *slog.Logger  // nil means slog.Default
}

// Run publishes on out until ctx ends, and then returns nil. A sensor that cannot be read is logged once and retried. A slow
// sensor, or one without credit, delays no other sensor.
func (s Sensors) Run(ctx context.Context, out ferry.Sender) error {
	if s.Interval == 0 {
		s.Interval = 100 * time.Millisecond
	}
	if s.Log == nil {
		s.Log = slog.Default()
	}
	var wg sync.WaitGroup
	for _, each := range machine() {
		wg.Go(func() { s.follow(ctx, each, out) })
	}
	wg.Wait()
	return nil
}

func (s Sensors) follow(ctx context.Context, each sensor, out ferry.Sender) {
	interval := s.Interval
	if each.slow {
		interval = max(interval, time.Second)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	tag := "sensors/" + s.Host + "/" + each.name
	failing := false
	for {
		err := s.publish(ctx, each, tag, out)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			s.Log.Warn("sensor cannot be read or published", "sensor", each.name, "err", err)
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s Sensors) publish(ctx context.Context, each sensor, tag string, out ferry.Sender) error {
	readings, err := each.read(ctx)
	if err != nil || len(readings) == 0 {
		return err
	}
	now := time.Now().UnixNano()
	event, err := newEvent(s.Host, each.name, now, readings)
	if err != nil {
		return err
	}
	payload, err := cbor.Codec{}.Marshal(event)
	if err != nil {
		return err
	}
	return out.Send(ctx, ferry.Message{Tag: tag, Type: ferry.CBOR, Time: now, Payload: payload})
}
