package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// idleClients connects clients, which then subscribe. It reads the broker's memory before and after, when settle is over.
func (e *experiment) idleClients(s *server, settle time.Duration) (harness.Figures, error) {
	start, err := s.resident(settle)
	if err != nil {
		return nil, err
	}
	var clients []*client
	defer func() {
		for _, c := range clients {
			_ = c.conn.Close()
		}
	}()
	for i := range e.idle {
		c, err := dial(s.addr, fmt.Sprintf("device-%d", i))
		if err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		clients = append(clients, c)
	}
	connected, err := s.resident(settle)
	if err != nil {
		return nil, err
	}
	for i, c := range clients {
		if err := c.subscribe(fmt.Sprintf("device/%d/order", i), 0); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
	}
	subscribed, err := s.resident(settle)
	if err != nil {
		return nil, err
	}
	each := func(bytes int64) float64 { return float64(bytes) / float64(e.idle) }
	return harness.Figures{perIdle: each(connected - start), perSubbed: each(subscribed - start)}, nil
}

func (s *server) resident(settle time.Duration) (int64, error) {
	time.Sleep(settle)
	m, err := s.Memory()
	return m.RSS, err
}
