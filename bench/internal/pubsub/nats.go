package pubsub

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ferry/bench/internal/natsnode"
)

// NATS drops the messages of a slow subscriber and does not slow down publishers. To avoid losses, the function reports every
// natsStep bytes how much it has received, and the source waits while more than natsWindow bytes are in flight.
const (
	natsStep   = 1 << 20
	natsWindow = 4 << 20
	natsReport = "received"
)

func natsNode(s spec, _ func(error)) (string, error) { return natsnode.Start(s.Addr) }

func natsDial(s spec, fail func(error)) (*nats.Conn, error) {
	return nats.Connect("nats://"+s.Addr, nats.NoReconnect(), nats.Name(s.Role), nats.Timeout(10*time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { fail(err) }))
}

type natsSource struct {
	conn     *nats.Conn
	subjects []string
	reports  *nats.Subscription
	sent     uint64 // bytes
	received uint64 // bytes, as the function reports
}

func natsPublish(_ context.Context, s spec) (publisher, error) {
	conn, err := natsDial(s, func(error) {}) // send returns the error
	if err != nil {
		return nil, err
	}
	n := &natsSource{conn: conn}
	for tag := range s.Tags {
		n.subjects = append(n.subjects, tagName(tag, "."))
	}
	if n.reports, err = conn.SubscribeSync(natsReport); err != nil {
		return nil, err
	}
	return n, conn.Flush()
}

func (n *natsSource) send(tag int, payload []byte) error {
	n.sent += uint64(len(payload))
	for n.sent > n.received+natsWindow {
		m, err := n.reports.NextMsg(10 * time.Second)
		if err != nil {
			return fmt.Errorf("pubsub: the function says nothing: %w", err)
		}
		n.received = binary.BigEndian.Uint64(m.Data)
	}
	return n.conn.Publish(n.subjects[tag], payload)
}

// flush does nothing. The NATS client writes published messages as soon as it can.
func (n *natsSource) flush() error { return nil }

func (n *natsSource) connects() int { return 1 }

func natsSubscribe(_ context.Context, s spec, take func(tag int, payload []byte), fail func(error)) (func() int, error) {
	conn, err := natsDial(s, fail)
	if err != nil {
		return nil, err
	}
	var received, told uint64
	sub, err := conn.Subscribe("bench.*", func(m *nats.Msg) {
		take(tagNumber(m.Subject), m.Data)
		if received += uint64(len(m.Data)); received-told >= natsStep {
			told = received
			if err := conn.Publish(natsReport, binary.BigEndian.AppendUint64(nil, told)); err != nil {
				fail(err)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	return once, conn.Flush()
}
