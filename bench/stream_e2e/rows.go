package main

import (
	"fmt"
	"runtime"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

var sizes = pubsub.Sizes{{Name: "100 B", Bytes: 100, Count: 800_000}, {Name: "1 KiB", Bytes: 1 << 10, Count: 150_000}, {Name: "64 KiB", Bytes: 64 << 10, Count: 4000}}

// row is what is compared.
type row struct {
	name     string
	kind     harness.Kind
	version  string
	system   pubsub.System
	validate string
	relay    string // the row whose rate is a load of this one
	single   bool   // the source calls Send for each message
}

const thisCommit = "this commit"

var rows = []row{
	{relayQUIC, harness.Limit, "quic-go " + harness.Version("github.com/quic-go/quic-go"), pubsub.RelayQUIC, "", relayQUIC, false},
	{relayTCP, harness.Limit, runtime.Version(), pubsub.RelayTCP, "", relayTCP, false},
	{ferryQUIC, harness.Ferry, thisCommit, pubsub.FerryQUIC, "full", relayQUIC, false},
	{ferryTCP, harness.Ferry, thisCommit, pubsub.FerryTCP, "full", relayTCP, false},
	{"ferry tcp, a Send each", harness.Ferry, thisCommit, pubsub.FerryTCP, "full", relayTCP, true},
	{"ferry quic, validate off", harness.Ferry, thisCommit, pubsub.FerryQUIC, "off", relayQUIC, false},
	{"ferry tcp, validate off", harness.Ferry, thisCommit, pubsub.FerryTCP, "off", relayTCP, false},
	{natsCore, harness.Peer, "nats-server " + harness.Version("github.com/nats-io/nats-server/v2") + ", nats.go " + harness.Version("github.com/nats-io/nats.go"), pubsub.NATS, "", relayTCP, false},
}

// yomo uses the middle of each recorded range, in messages a second: 55,000 to 108,000; 29,000; 1,500 to 1,700.
var yomo = harness.Contender{
	Name: "YoMo, as recorded", Kind: harness.Seed, Version: "v1.22.3, one process, recorded on another day",
	Recorded: map[string]harness.Figures{
		"100 B":  {perSecond: 81_500, allocated: 11_100},
		"1 KiB":  {perSecond: 29_000, allocated: 27_000},
		"64 KiB": {perSecond: 1600, allocated: 1_240_000},
	},
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir    string
	relays map[string]*session // that are open, by the name of the row
}

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

// check sends a few messages through each row in each case.
func (e *experiment) check() error {
	for _, r := range rows {
		start := func(s pubsub.Size) (*pubsub.Run, error) { return e.start(r, s) }
		if err := sizes.Check(start, nil); err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) start(r row, s pubsub.Size) (*pubsub.Run, error) {
	return pubsub.Start(pubsub.Setup{System: r.system, Dir: e.dir, Validate: r.validate, Size: s.Bytes, Single: r.single})
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Again: r.name == ferryTCP, Open: func(name string) (harness.Session, error) {
		for _, s := range sizes {
			if s.Name == name {
				opened, err := e.open(r, s)
				if err != nil {
					return nil, err // a nil *session would be a Session
				}
				return opened, nil
			}
		}
		return nil, fmt.Errorf("stream_e2e: no case %q", name)
	}}
}
