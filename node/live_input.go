package node

import (
	"context"
	"fmt"
	"os"
	"time"

	"example.com/ferry/node/live"
)

// sensors publishes the machine's sensors until stop is called.
type sensors struct {
	end  context.CancelFunc
	done chan struct{}
}

// startSensors publishes. If that ends by itself, failed gets the reason.
func (n *Node) startSensors(interval time.Duration, failed func(error)) *sensors {
	ctx, end := context.WithCancel(context.Background())
	s := &sensors{end, make(chan struct{})}
	go func() {
		defer close(s.done)
		if err := n.publishSensors(ctx, interval); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("node: sensors: %w", err))
		}
	}()
	return s
}

// stop ends the publishing and waits for the end. s may be nil.
func (s *sensors) stop() {
	if s != nil {
		s.end()
		<-s.done
	}
}

func (n *Node) publishSensors(ctx context.Context, interval time.Duration) error {
	client, err := n.dial(ctx, "sensors")
	if err != nil {
		return err
	}
	defer closeQuietly(client)
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return live.Sensors{Host: tagLevel(host), Interval: interval, Log: n.log}.Run(ctx, client)
}

// prepareLive starts the sensors again if they change. The functions of live belong to the section functions.
func (n *Node) prepareLive(r *reload) (change, error) {
	was, is := r.last.Live, r.next.Live
	if was.Sensors == is.Sensors && (was.Interval == is.Interval || !is.Sensors) {
		return change{}, nil
	}
	return change{what: "sensors", commit: func() {
		n.sensors.stop()
		n.sensors = nil
		if is.Sensors {
			n.sensors = n.startSensors(is.Interval, func(err error) { n.log.Error("the sensors are not published", "err", err) })
		}
	}}, nil
}
