package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/natsnode"
	"example.com/ferry/bench/internal/pubsub"
)

var natsVersion = natsnode.Version + ", nats.go " + harness.Version("github.com/nats-io/nats.go")

// natsVariable is set in the environment of a process of this program that is a NATS server.
const natsVariable = "FERRY_BENCH_RULES_NATS"

type natsSpec struct{ Addr string }

type natsReady struct{ Addr string }

// natsMain runs a server if this process was started as one, and does not return then.
func natsMain() {
	child.Main(natsVariable, func(natsSpec) string { return "nats-server" }, func(s natsSpec) (func(struct{}) natsReady, natsReady, error) {
		addr, err := natsnode.Start(s.Addr)
		return func(struct{}) natsReady { return natsReady{addr} }, natsReady{addr}, err
	})
}

// measureNATS starts a server. The publisher puts the device into the subject, and each rule of the kind equality is a subscription to
// one subject. Other kinds have no such form.
func (e *experiment) measureNATS(s setup, budget time.Duration) (f harness.Figures, err error) {
	if s.name != kinds[0].name {
		return nil, nil
	}
	var ready natsReady
	server, err := child.Role("nats-server", natsVariable, natsSpec{"127.0.0.1:0"}, &ready, patience)
	if err != nil {
		return nil, err
	}
	defer func() {
		if said := server.End(); err != nil && said != "" {
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}()
	subscriber, err := nats.Connect("nats://"+ready.Addr, nats.NoReconnect())
	if err != nil {
		return nil, err
	}
	defer subscriber.Close()
	publisher, err := nats.Connect("nats://"+ready.Addr, nats.NoReconnect())
	if err != nil {
		return nil, err
	}
	defer publisher.Close()
	var received atomic.Int64
	messages := messages()
	rules, docs, n := s.rules(), encode(messages), load(s, budget)
	want, err := expect(rules, docs, n)
	if err != nil {
		return nil, err
	}
	subject := func(device string) string { return "events.a." + device }
	for _, r := range rules {
		if _, err := subscriber.Subscribe(subject(r[0].text), func(*nats.Msg) { received.Add(1) }); err != nil {
			return nil, err
		}
	}
	if err := subscriber.Flush(); err != nil {
		return nil, err
	}
	subjects := make([]string, len(messages))
	for i := range messages {
		subjects[i] = subject(messages[i].Device)
	}
	before := pubsub.CPU(server.PID())
	for i := range n {
		at := i & (len(docs) - 1)
		if err := publisher.Publish(subjects[at], docs[at]); err != nil {
			return nil, err
		}
	}
	if err := publisher.FlushTimeout(patience); err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); int(received.Load()) < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return nil, fmt.Errorf("stream_rules: NATS delivered %d messages, want %d", received.Load(), want)
		}
	}
	spent := pubsub.CPU(server.PID()) - before
	start := time.Now()
	for i := range changed {
		sub, err := subscriber.Subscribe(fmt.Sprintf("events.a.other-%d", i), func(*nats.Msg) {})
		if err != nil {
			return nil, err
		}
		if err := sub.Unsubscribe(); err != nil {
			return nil, err
		}
	}
	if err := subscriber.FlushTimeout(patience); err != nil {
		return nil, err
	}
	return harness.Figures{
		harness.NsPerOp: float64(spent.Nanoseconds()) / float64(n), delivered: float64(want) / float64(n),
		change: float64(time.Since(start).Nanoseconds()) / changed / 1000,
	}, nil
}
