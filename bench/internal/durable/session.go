package durable

import (
	"fmt"
	"strconv"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/harness"
)

// Many is the number of publishers besides one.
const Many = 64

// phase is a part of a slice, with the names of its figures.
type phase struct {
	do             string
	workers        int
	rate, p50, p99 string
}

func phaseOf(do string, workers int) phase {
	by := fmt.Sprintf(", %d at a time", workers)
	return phase{do, workers, "msg/s to " + do + by, do + " p50 us" + by, do + " p99 us" + by}
}

var phases = []phase{phaseOf(toAck, 1), phaseOf(toAck, Many), phaseOf(toHandler, 1), phaseOf(toHandler, Many)}

// Rate returns the name of a figure: messages a second from publishing to the acknowledgement (ack) or to the handler (handler), with
// a number of messages on the way.
func Rate(to string, workers int) string { return phaseOf(to, workers).rate }

// The two ends of a Rate.
const (
	ToAck     = toAck
	ToHandler = toHandler
)

// Figures returns the names of all figures.
func Figures() (all []string) {
	for _, p := range phases {
		all = append(all, p.rate, p.p50, p.p99)
	}
	return all
}

// Setup is what a client needs.
type Setup struct {
	System   System
	Servers  *Servers // not used by Ferry
	Dir      string   // with ferry's binary; data is stored below it
	Name     string   // of the data, below Dir, and of the stream: a system that finds data of this name has its messages
	Replicas int
	Always   bool // sync before each acknowledgement
	Size     int
	Keep     int64 // bytes that the stream keeps; 0 means all
}

// Session is a started client, with a node if the system has one. It implements harness.Session.
type Session struct {
	setup  Setup
	node   *child.Process // nil without one
	client *child.Process
	sums   []report // of each phase
}

// Open starts the processes.
func Open(s Setup) (_ *Session, err error) {
	t := &Session{setup: s, sums: make([]report, len(phases))}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	one := spec{Role: clientRole, System: s.System, Stream: s.Name, Dir: s.Dir, Replicas: s.Replicas, Size: s.Size, Keep: s.Keep}
	if s.System == Ferry || s.System == FerryExternal {
		var addr string
		if t.node, addr, err = startFerry(s); err != nil {
			return nil, err
		}
		one.Addrs, one.Dir = []string{addr}, s.data()
	} else {
		one.Addrs = s.Servers.addrs
	}
	t.client, err = child.Role(one.name(), variable, one, new(report), patience)
	return t, err
}

// Run measures each phase for a part of d.
func (t *Session) Run(d time.Duration) error {
	for i, p := range phases {
		r, err := t.ask(order{Do: p.do, Workers: p.workers, Time: d / time.Duration(len(phases))})
		if err != nil {
			return err
		}
		t.sums[i].Elapsed += r.Elapsed
		t.sums[i].Count += r.Count
		t.sums[i].Latency.Merge(r.Latency)
	}
	return nil
}

func (t *Session) ask(o order) (r report, err error) {
	err = t.client.Ask(o, &r, o.Time+orderTimeout(o)+patience)
	return r, err
}

// Figures returns the figures of all slices so far.
func (t *Session) Figures() (harness.Figures, error) {
	f := harness.Figures{}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	for i, p := range phases {
		sum := &t.sums[i]
		if sum.Count == 0 {
			return nil, fmt.Errorf("durable: %s: no message", p.rate)
		}
		f[p.rate] = float64(sum.Count) / sum.Elapsed.Seconds()
		f[p.p50], f[p.p99] = us(sum.Latency.Quantile(0.5)), us(sum.Latency.Quantile(0.99))
	}
	return f, nil
}

// Check publishes n messages by one and by several publishers. It returns an error unless each reaches the handler once, in order for
// each publisher, and byte for byte.
func (t *Session) Check(n int) error {
	for _, workers := range []int{1, 8} {
		r, err := t.ask(order{Do: toHandler, Workers: workers, Count: n})
		if err == nil && r.Count != n*workers {
			err = fmt.Errorf("%d messages were handled, want %d", r.Count, n*workers)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.setup.System, err)
		}
	}
	return nil
}

// Fill publishes messages 0 to n-1, and returns how many a second were stored.
func (t *Session) Fill(n int) (float64, error) {
	r, err := t.ask(order{Do: fill, Count: n})
	return float64(n) / r.Elapsed.Seconds(), err
}

// Replay reads messages 0 to n-1 from the first on, or with where those for which numbered.Where is true, and compares each. It returns
// how many messages a second were looked at.
func (t *Session) Replay(n int, where bool) (float64, error) {
	r, err := t.ask(order{Do: replay, Count: n, Where: where})
	want := n
	if where {
		want = (n + rareth - 1) / rareth
	}
	if err == nil && r.Count != want {
		err = fmt.Errorf("%s: %d messages were read, want %d", t.setup.System, r.Count, want)
	}
	return float64(n) / r.Elapsed.Seconds(), err
}

// Close ends the processes.
func (t *Session) Close() {
	t.client.End()
	t.node.End()
}

// Size returns the name of a case's size.
func Size(bytes int) string {
	if bytes%1024 == 0 {
		return strconv.Itoa(bytes/1024) + " KiB"
	}
	return strconv.Itoa(bytes) + " B"
}
