package main

import (
	_ "embed" // for the clients
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pinned"
)

//go:embed load.py
var load string

const patience = 2 * time.Minute // for one run of a client

// start starts load.py on core 1.
func (e *experiment) start(c client, way string, s *server, count int, check string) (*pinned.Process, error) {
	return pinned.Start([]int{1}, e.dir, "env", "PYTHONPATH="+filepath.Join(e.root, "clients", "python"),
		e.python, "-c", load, c.name, way, s.addr, strconv.Itoa(count), check)
}

// out has a client publish.
func (e *experiment) out(c client, s *server, count int) (harness.Figures, error) {
	p, err := e.start(c, "out", s, count, "")
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	return finished(p, count)
}

// in has a client receive what publish sends.
func (e *experiment) in(c client, s *server, count int, check string, publish func() error) (harness.Figures, error) {
	p, err := e.start(c, "in", s, count, check)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	if line, err := p.WaitLine(patience); err != nil || line != "ready" {
		return nil, fmt.Errorf("a client printed %q, %w: %s", line, err, p.Output())
	}
	if err := publish(); err != nil {
		return nil, err
	}
	return finished(p, count)
}

// finished waits for the end of load.py, and reads its last line.
func finished(p *pinned.Process, count int) (harness.Figures, error) {
	if err := p.Wait(patience); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	var seconds, cpu float64
	if _, err := fmt.Sscan(lines[len(lines)-1], &seconds, &cpu); err != nil {
		return nil, fmt.Errorf("a client printed %q: %w", p.Output(), err)
	}
	return harness.Figures{rate: float64(count) / seconds, perMsg: cpu * 1e6 / float64(count)}, nil
}

// checkBoth has each client receive what it publishes.
func (e *experiment) checkBoth() error {
	return e.checkEach(func(c client, s *server) error {
		_, err := e.out(c, s, fewest)
		return err
	})
}

// checkIn has each client receive what Go publishes.
func (e *experiment) checkIn() error {
	return e.checkEach(func(c client, s *server) error { return c.publish(s, fewest) })
}

func (e *experiment) checkEach(publish func(client, *server) error) error {
	for _, c := range e.clients() {
		err := func() error {
			s, err := c.serve()
			if err != nil {
				return err
			}
			defer s.Stop()
			_, err = e.in(c, s, fewest, "check", func() error { return publish(c, s) })
			return err
		}()
		if err != nil {
			return fmt.Errorf("%s: %w", c.row, err)
		}
	}
	return nil
}
