// Mqtt_broker measures what a message by MQTT costs at a broker, and what an idle client costs: ferry's listener as it ships, mosquitto, NATS
// and mochi.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
)

func main() {
	brokerMain() // does not return in the process of a broker
	harness.Main(question())
}

const (
	perMessage = "CPU us/message"
	rate       = "messages/s"
	perPaced   = "CPU us/message, 5,000/s"
	p50        = "p50 us, 5,000/s"
	p99        = "p99 us, 5,000/s"
	perIdle    = "bytes/idle client"
	perSubbed  = "bytes/idle client that subscribes"
	foreign    = harness.Foreign
)

const (
	many  = 100   // clients on one side
	paced = 5_000 // messages a second that are delivered
	idle  = 10_000
)

// load is who sends to how many.
type load struct {
	name                    string
	qos                     byte
	publishers, subscribers int
}

var loads = []load{
	{"QoS 0, 1 to 1", 0, 1, 1},
	{"QoS 0, 1 to 100", 0, 1, many},
	{"QoS 0, 100 to 1", 0, many, 1},
	{"QoS 1, 1 to 1", 1, 1, 1},
	{"QoS 1, 1 to 100", 1, 1, many},
	{"QoS 1, 100 to 1", 1, many, 1},
}

type experiment struct {
	dir     string
	loads   []load
	idle    int // clients of the case idleCase
	brokers []broker
}

// newExperiment takes as many idle clients as the limit of descriptors allows, and at most n.
func newExperiment(loads []load, n int) *experiment {
	e := &experiment{loads: loads, idle: n}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < uint64(n+spare) {
		e.idle = max(1, int(limit.Max)-spare)
	}
	e.brokers = brokers(e)
	return e
}

// spare is how many descriptors a process has besides those of clients.
const spare = 500

func (e *experiment) idleCase() string { return fmt.Sprintf("%d idle clients", e.idle) }

func question() harness.Question { return newExperiment(loads, idle).question() }

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name: "mqtt_broker", Title: "Messages through a broker, by MQTT", Unit: perMessage, Better: harness.Lower,
		About: "Clients of MQTT 3.1.1 publish JSON of 256 B, each on a topic of its own, and subscribe to all of these topics. First, publishers send as " +
			"fast as they can, with 200 messages on their way to the slowest subscriber. Then messages come at fixed times, so that 5,000 a second are " +
			"delivered; latency counts from when a message was due. A message counts once for each subscriber that gets it. Each message is " +
			"checked: all arrive, in the order of their publisher, byte for byte; with QoS 1 each is acknowledged too. CPU time is the broker's, user and system. The " +
			"broker has core 0. All clients are goroutines of one process on core 1, the same for each broker; at full speed they bound messages/s.",
		Figures: []string{rate, perPaced, p50, p99, perIdle, perSubbed, foreign},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each broker delivers every message of each case in order, byte for byte, and acknowledges QoS 1", Run: e.checkDelivered},
		},
		Notes: []string{
			"ferry validates each message in full at its listener, as it ships: it reads all of the JSON. The others do not look at payloads.",
			"Subscribers acknowledge QoS 1 once for each read, with all acknowledgements in one write.",
			"Rows that store keep messages with QoS 1 on disk before they acknowledge them, in a stream. Of ferry it is an at-least-once tag; NATS stores each " +
				"message with QoS 1, in JetStream. They sync each second, or before each acknowledgement.",
			"mosquitto has set_tcp_nodelay, as the other brokers do. As it ships, Nagle's algorithm collects messages: that costs less CPU time at full speed, but the last " +
				"messages go only when TCP has acknowledged those before, which takes 40 ms if the subscriber sends nothing.",
			"A p50 of seconds means that the broker does not reach 5,000 messages a second.",
			"Bytes of an idle client are by how much the broker's resident memory has grown, over the number of clients: first connected, then with a subscription each, " +
				"to a topic of its own. What the kernel holds for a connection is not counted.",
		},
	}
	if e.idle < idle {
		q.Notes = append(q.Notes, fmt.Sprintf("The limit of descriptors allows %d idle clients here.", e.idle))
	}
	if mosquittoVersion() == "" {
		q.Notes = append(q.Notes, "mosquitto is not installed here.")
	}
	for _, l := range e.loads {
		q.Cases = append(q.Cases, l.name)
	}
	q.Cases = append(q.Cases, e.idleCase())
	for _, b := range e.brokers {
		q.Contenders = append(q.Contenders, harness.Contender{Name: b.row, Kind: b.kind, Version: b.version, Measure: e.measure(b)})
	}
	q.Goals = e.goals()
	return q
}

func (e *experiment) goals() (all []harness.Goal) {
	times := func(limit float64, name, text, figure string) {
		all = append(all, harness.AtMost(limit, name+": "+text+", times mosquitto", func(r *harness.Result) float64 {
			return r.Ratio(ferryRow, mosquittoRow, name, figure)
		}))
	}
	for _, l := range e.loads {
		times(0.8, l.name, "CPU time a message", perMessage)
		times(0.8, l.name, "CPU time a message at 5,000/s", perPaced)
		times(1, l.name, "p99", p99)
	}
	return append(all, harness.AtMost(600, "bytes of an idle client", func(r *harness.Result) float64 {
		return r.Stat(ferryRow, e.idleCase(), perIdle).Median
	}))
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

// measure measures for 8 budgets at full speed, and for 12 at the fixed rate: 0.4 s and 0.6 s.
func (e *experiment) measure(b broker) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (f harness.Figures, err error) {
		l, ok := e.load(name)
		if b.stored && (!ok || l.qos == 0) {
			return nil, nil
		}
		s, err := e.start(b)
		if err != nil {
			return nil, err
		}
		defer s.Stop()
		if ok {
			f, err = e.run(s, l, max(8*budget, 10*time.Millisecond), max(12*budget, 20*time.Millisecond))
		} else {
			f, err = e.idleClients(s, min(300*time.Millisecond, 6*budget))
		}
		if err != nil {
			return nil, fmt.Errorf("mqtt_broker: %s, %s: %w", b.row, name, err)
		}
		fmt.Fprintf(os.Stderr, "mqtt_broker: %s, %s: %.3v\n", b.row, name, f)
		return f, nil
	}
}

func (e *experiment) load(name string) (load, bool) {
	for _, l := range e.loads {
		if l.name == name {
			return l, true
		}
	}
	return load{}, false
}

// run warms up for a quarter of full, and then measures.
func (e *experiment) run(s *server, l load, full, fixed time.Duration) (harness.Figures, error) {
	t, err := connect(s.addr, l)
	defer t.end()
	if err != nil {
		return nil, err
	}
	if _, err := t.flood(full / 4); err != nil {
		return nil, err
	}
	before, err := harness.Used(s.Family())
	if err != nil {
		return nil, err
	}
	f := harness.Figures{}
	began := time.Now()
	if f[perMessage], err = s.perMessage(func() (n int, err error) {
		n, err = t.flood(full)
		f[rate] = float64(n) / time.Since(began).Seconds()
		return n, err
	}); err != nil {
		return nil, err
	}
	if f[perPaced], err = s.perMessage(func() (n int, err error) {
		n, times, err := t.pace(paced, fixed)
		f[p50], f[p99] = microseconds(times.Quantile(0.5)), microseconds(times.Quantile(0.99))
		return n, err
	}); err != nil {
		return nil, err
	}
	after, err := harness.Used(s.Family())
	if err != nil {
		return nil, err
	}
	_, f[foreign] = before.Until(after)
	return f, nil
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// perMessage returns the broker's CPU time for each message that send has delivered, in microseconds.
func (s *server) perMessage(send func() (int, error)) (float64, error) {
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	n, err := send()
	if err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return microseconds(after-before) / float64(n), err
}

func (e *experiment) checkDelivered() error {
	for _, b := range e.brokers {
		if err := e.checkBroker(b); err != nil {
			return fmt.Errorf("%s: %w", b.row, err)
		}
	}
	return nil
}

func (e *experiment) checkBroker(b broker) error {
	s, err := e.start(b)
	if err != nil {
		return err
	}
	defer s.Stop()
	for _, l := range e.loads {
		if b.stored && l.qos == 0 {
			continue
		}
		if _, err := e.run(s, l, 10*time.Millisecond, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}
