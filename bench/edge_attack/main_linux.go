// Edge_attack measures what honest devices of a node notice while others misuse it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"example.com/ferry/bench/internal/device"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
)

func main() {
	device.Main()
	harness.Main(new(experiment).question())
}

// The figures. Memory is the node's.
const (
	p99      = "p99 ms of honest devices"
	p99Valid = "p99 ms beside valid packets"
	times    = "p99, times that beside valid packets"
	growth   = "memory growth, MiB"
	failures = "failures of honest devices"
	attacks  = "operations of the attacker/s"
	closed   = "connections that the node closed/s"
)

const (
	ferryRow = "ferry"
	honest   = 50
	rate     = 1000 // messages a second of all honest devices together
)

// limits are those of the node. allowed is how many MiB they let an attack take.
const limits = "limits: {max_connections: 1000}\nmqtt: {sessions: 1000, retained: 10000, retained_size: 16MiB}\n"

var allowed = map[device.Kind]float64{
	device.Filters:  16, // retained messages, and what one SUBSCRIBE of 1 MiB at most makes
	device.Levels:   16, // retained_size
	device.Away:     4,  // 1000 sessions
	device.Silent:   16, // 1000 connections
	device.Connects: 64, // half-read bytes
	device.Sockets:  64, // half-read bytes
	device.QoS2:     4,  // in_flight
	device.Pages:    4,  // nothing: they are refused
}

type experiment struct{ dir string }

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name: "edge_attack", Title: "Honest devices during an attack", Unit: p99, Better: harness.Lower,
		About: fmt.Sprintf("%d honest devices publish %d messages a second by MQTT with QoS 1, at fixed times; latency counts from when a message was due to its acknowledgement. "+
			"Meanwhile an attacker misuses the listeners of MQTT and HTTP, from the same address and with the same identity, and opens each connection again that the node closes. "+
			"Before that, on a node of its own, the attacker sends valid PUBLISH packets of the same size at the same rate. The node has core 0 to itself; the devices and the attacker "+
			"share core 1, and the attacker has the lowest priority. Memory growth is how much the node's anonymous memory grows at most during the attack, read every 20 ms, over what "+
			"it was with the honest devices connected.", honest, rate),
		Figures: []string{p99Valid, times, growth, failures, attacks, closed},
		Prepare: e.prepare,
		Checks:  []harness.Check{{Name: "each attack gets through to the node, and each message of the honest devices is acknowledged beside valid packets", Run: e.check}},
		Contenders: []harness.Contender{{Name: ferryRow, Kind: harness.Ferry, Version: "this commit", Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			return e.measure(device.Kind(name), max(40*budget, 100*time.Millisecond))
		}}},
		Notes: []string{
			"One filter many times: SUBSCRIBEs of 60 KB, beside 500 retained messages. Topics with many levels: retained messages, each with 1,000 levels. Sessions that are away: clients that " +
				"leave their sessions. Silent connections: 1,100. Half CONNECTs: 200 of 250 KB. Half WebSocket messages: 50 of 900 KB. QoS 2 without PUBREL: 20,000 messages a second. Cross-site " +
				"requests: subscriptions with policy block, as the img of another site makes them.",
		},
	}
	for _, k := range device.Kinds {
		q.Cases = append(q.Cases, string(k))
		q.Goals = append(q.Goals,
			harness.AtMost(1.5, string(k)+": p99, times that beside valid packets", func(r *harness.Result) float64 { return r.Stat(ferryRow, string(k), times).Median }),
			harness.AtMost(1.2*allowed[k], string(k)+": memory growth, MiB", func(r *harness.Result) float64 { return r.Stat(ferryRow, string(k), growth).Max }))
	}
	return q
}

func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return keepalive.PinProcess([]int{1})
}

func (e *experiment) measure(kind device.Kind, window time.Duration) (harness.Figures, error) {
	valid, err := e.run(kind, true, window)
	if err != nil {
		return nil, err
	}
	f, err := e.run(kind, false, window)
	if err != nil {
		return nil, err
	}
	f[p99Valid], f[times] = valid[p99], f[p99]/valid[p99]
	fmt.Fprintf(os.Stderr, "edge_attack: %s: %.3v\n", kind, f)
	return f, nil
}

// run measures the honest devices beside an attack, or beside valid packets.
func (e *experiment) run(kind device.Kind, valid bool, window time.Duration) (harness.Figures, error) {
	node, err := device.Start(e.dir, limits)
	if err != nil {
		return nil, err
	}
	defer node.Stop()
	clients, err := device.Dial(node.Addr, honest, device.Login{})
	if err != nil {
		return nil, err
	}
	defer device.Close(clients)
	before, err := node.Memory()
	if err != nil {
		return nil, err
	}
	enemy, err := device.Attack([]int{1}, device.Spec{Kind: kind, Addr: node.Addr, Web: node.Web, Valid: valid})
	if err != nil {
		return nil, err
	}
	defer enemy.Stop()
	if err := device.WaitCounted(enemy); err != nil {
		return nil, err
	}
	watch := watchMemory(node)
	began := time.Now()
	r := device.Publish(clients, rate, window)
	seconds := time.Since(began).Seconds()
	most, err := watch()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, node.Output())
	}
	count, err := device.Counted(enemy)
	return harness.Figures{
		p99: r.Times.Quantile(0.99).Seconds() * 1000, failures: float64(r.Failures), growth: float64(max(0, most-before.Anon)) / (1 << 20),
		attacks: float64(count.Operations) / seconds, closed: float64(count.Closed) / seconds,
	}, err
}

// watchMemory reads the anonymous memory of a node again and again, until the function that it returns is called. That returns the most.
func watchMemory(node *device.Node) func() (int64, error) {
	stop := make(chan struct{})
	var most int64
	var err error
	var done sync.WaitGroup
	done.Go(func() {
		for {
			m, failed := node.Memory()
			if most, err = max(most, m.Anon), failed; err != nil {
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() (int64, error) {
		close(stop)
		done.Wait()
		return most, err
	}
}

// check runs each attack briefly.
func (e *experiment) check() error {
	for _, kind := range device.Kinds {
		for _, valid := range []bool{true, false} {
			f, err := e.run(kind, valid, 100*time.Millisecond)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			if f[attacks] == 0 || valid && (f[failures] > 0 || f[p99] == 0) {
				return fmt.Errorf("%s, valid packets %v: got %v", kind, valid, f)
			}
		}
	}
	return nil
}
