//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/openloop"
	"example.com/ferry/internal/pki"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// probe is the load of the case through a node. The prober publishes small messages at a rate and receives them back. It
// keeps jobs in flight, each on a tag of its own: the next job of a tag is sent after the result of the last one.
type probe struct {
	Addr, Dir    string // of the node
	Rate         float64
	Jobs         int
	Warm, Window time.Duration
	PIDs         []int
}

// The sizes of jobs in units: from least to most, in ten steps.
const (
	leastUnits = 10_000
	mostUnits  = 20_000
	stepUnits  = (mostUnits - leastUnits) / 10
)

// prober is one run.
type prober struct {
	probe
	start time.Time
	sums  map[int]string // the expected response, by units
	ended chan error     // the error of a function or a source

	mu    sync.Mutex
	due   []time.Duration // when each message was due, by message number
	took  []time.Duration // latency of each message; 0 means not back yet
	units uint64          // units of the jobs that have ended
	sent  map[string]int  // units of the job in flight, by tag
}

// runProbe is the prober process: it reads a probe from standard input and writes a Report to standard output.
func runProbe() error {
	p := &prober{ended: make(chan error, 1), sums: map[int]string{}, sent: map[string]int{}}
	if err := json.NewDecoder(os.Stdin).Decode(&p.probe); err != nil {
		return err
	}
	for n, sum := 1, uint32(0); n <= mostUnits; n++ {
		if sum = checksum(sum); n >= leastUnits && n%stepUnits == 0 {
			p.sums[n] = fmt.Sprintf("%08x", sum)
		}
	}
	fifo := openloop.Realtime()
	r, err := p.run()
	if err != nil {
		return err
	}
	r.FIFO = fifo
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (p *prober) run() (*openloop.Report, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	token, err := pki.ReadToken(filepath.Join(p.Dir, pki.TokenFile))
	if err != nil {
		return nil, err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), p.Addr, &stream.Config{Token: []byte(token), Name: "probe", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, f := range []stream.Function{
		{Observe: []string{"ping"}, Handler: stream.Sink(p.pong)},
		{Observe: []string{"checksums/+"}, Handler: stream.Sink(func(ctx context.Context, m *ferry.Message) error { return p.next(ctx, client, m) })},
	} {
		if _, err := client.Start(ctx, f); err != nil {
			return nil, err
		}
	}
	p.start = time.Now()
	for i := range p.Jobs {
		if err := p.send(ctx, client, fmt.Sprint(i)); err != nil {
			return nil, err
		}
	}
	return p.ping(ctx, client)
}

// send sends a job of random size.
func (p *prober) send(ctx context.Context, c *stream.Client, name string) error {
	n := leastUnits + stepUnits*rand.IntN((mostUnits-leastUnits)/stepUnits+1)
	p.mu.Lock()
	p.sent[name] = n
	p.mu.Unlock()
	return c.Send(ctx, ferry.Message{Tag: "checksum/" + name, Type: ferry.JSON, Payload: fmt.Appendf(nil, `{"bytes":%d}`, n*len(block))})
}

// next checks the result of a job and sends the next job.
func (p *prober) next(ctx context.Context, c *stream.Client, m *ferry.Message) error {
	var response struct {
		Bytes int
		CRC32 string
	}
	name := m.Tag[len("checksums/"):]
	p.mu.Lock()
	n := p.sent[name]
	p.units += uint64(n)
	p.mu.Unlock()
	err := json.Unmarshal(m.Payload, &response)
	if err == nil && (response.Bytes != n*len(block) || response.CRC32 != p.sums[n]) {
		err = fmt.Errorf("job %s of %d units: got %s, want %s", name, n, m.Payload, p.sums[n])
	}
	if err == nil {
		err = p.send(ctx, c, name)
	}
	if err != nil && ctx.Err() == nil {
		p.fail(err)
	}
	return err
}

func (p *prober) fail(err error) {
	select {
	case p.ended <- err:
	default: // an earlier error was already reported
	}
}

// pong records the latency of a message that came back.
func (p *prober) pong(_ context.Context, m *ferry.Message) error {
	now := time.Since(p.start)
	number := binary.BigEndian.Uint64(m.Payload)
	p.mu.Lock()
	defer p.mu.Unlock()
	if number >= uint64(len(p.due)) || p.took[number] != 0 {
		p.fail(fmt.Errorf("message %d of %d came back twice, or was never sent", number, len(p.due)))
		return nil
	}
	p.took[number] = now - p.due[number]
	return nil
}

// ping publishes until the end of the window, then reports.
func (p *prober) ping(ctx context.Context, c *stream.Client) (*openloop.Report, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	source, err := c.Source(ctx, "ping")
	if err != nil {
		return nil, err
	}
	r := new(openloop.Report)
	var marks [2]harness.Usage
	var late []time.Duration
	ends := [...]time.Duration{p.Warm, p.Warm + p.Window}
	for due := time.Duration(0); ; due += time.Duration(rand.ExpFloat64() / p.Rate * float64(time.Second)) {
		if err := p.sleepUntil(due); err != nil {
			return nil, err
		}
		if i := len(r.Counts); due >= ends[i] {
			if marks[i], err = harness.Used(p.PIDs); err != nil {
				return nil, err
			}
			r.Counts = append(r.Counts, p.count())
			if i == 1 {
				break
			}
		}
		now := time.Since(p.start)
		p.mu.Lock()
		number := len(p.due)
		p.due, p.took = append(p.due, due), append(p.took, 0)
		p.mu.Unlock()
		if due >= ends[0] {
			late = append(late, now-due)
		}
		if err := source.Send(ctx, ferry.Message{Payload: binary.BigEndian.AppendUint64(nil, uint64(number))}); err != nil {
			return nil, err
		}
	}
	select {
	case err := <-p.ended:
		return nil, err
	default:
	}
	r.Late = openloop.Sorted(late)
	r.Own, r.Foreign = marks[0].Until(marks[1])
	p.report(r)
	return r, nil
}

// count returns the units of the jobs that have ended.
func (p *prober) count() openloop.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := json.Marshal(stats{Checksums: p.units}) // it cannot fail
	return openloop.Response{At: time.Since(p.start), Body: string(text)}
}

// report adds the latencies of the messages that were due in the window.
func (p *prober) report(r *openloop.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var times []time.Duration
	for i, took := range p.took {
		if p.due[i] < p.Warm {
			continue
		}
		if took == 0 {
			took = time.Since(p.start) - p.due[i]
			r.Unanswered++
		}
		times = append(times, took)
	}
	r.Open = []openloop.Times{openloop.Sorted(times)}
}

// sleepUntil sleeps with an error of microseconds; the runtime's timers have an error of up to a millisecond.
func (p *prober) sleepUntil(due time.Duration) error {
	for {
		left := due - time.Since(p.start)
		if left <= 0 {
			return nil
		}
		wait := unix.NsecToTimespec(left.Nanoseconds())
		if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &wait, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("cpu_latency: sleep: %w", err)
		}
	}
}
