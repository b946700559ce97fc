// Stream_replay measures how fast a client reads a stored stream from its first message.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ferry/bench/internal/durable"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/kafka"
)

func main() {
	durable.Main()
	if err := kafka.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	harness.Main(question(kafka.Installed()))
}

// The names of the figures.
const (
	perSecond = "msg/s"
	scanned   = "msg/s looked at, where takes 1 %"
	stored    = "msg/s stored before"
)

const (
	size     = 1 << 10 // bytes of a message
	millions = 1_000_000
	oneCase  = "1M messages of 1 KiB"

	natsConsumer = "nats.go consumer"
)

// question returns the question, with a row of Kafka or without.
func question(withKafka bool) harness.Question {
	e := &experiment{rows: rows}
	q := harness.Question{
		Name:   "stream_replay",
		Title:  "Reading a stored stream from its first message",
		Unit:   perSecond,
		Better: harness.Higher,
		About: "One million messages of 1 KiB are stored on disk. Then a client reads all of them, over TCP, and compares each byte for byte; and those that a predicate takes, " +
			"which is one in a hundred. ferry evaluates the predicate in the node. JetStream does not look into messages, so its client reads all of them and evaluates the same predicate with ferry's code. " +
			"The files are in the page cache. Nothing is acknowledged. Servers, ferry's node and the client are processes of their own.",
		Cases:   []string{oneCase},
		Figures: []string{scanned, stored},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each row reads what was stored, all of it or what the predicate takes, in order and byte for byte; again in each measurement", Run: e.check},
		},
		Goals: []harness.Goal{
			harness.AtLeast(4, "ferry, messages a second, times nats.go's consumer", func(r *harness.Result) float64 {
				return r.Ratio(string(durable.Ferry), natsConsumer, oneCase, perSecond)
			}),
			harness.AtLeast(6, "ferry, messages a second looked at with where, times nats.go's consumer", func(r *harness.Result) float64 {
				return r.Ratio(string(durable.Ferry), natsConsumer, oneCase, scanned)
			}),
		},
		Notes: []string{
			"nats.go reads with an ordered consumer whose requests ask for 20,000 messages, which is faster than the 500 it has by default. franz-go fetches up to 16 MiB at a time.",
			"Messages stored a second are those of the first round, published with as many on the way as the client allows by default: ferry's window, 4096 for nats.go. They are no part of the comparison.",
		},
	}
	if withKafka {
		e.rows = append(slices.Clone(rows), row{string(durable.Kafka), harness.Peer, "Kafka " + kafka.Version + ", franz-go " + harness.Version("github.com/twmb/franz-go"), durable.Kafka})
	} else {
		q.Notes = append(q.Notes, "There is no row of Kafka: this machine has no java, or no mvn to install it with.")
	}
	for _, r := range e.rows {
		q.Contenders = append(q.Contenders, harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Measure: func(_ string, budget time.Duration) (harness.Figures, error) {
			return e.measure(r, max(1000, int(millions*float64(budget)/float64(50*time.Millisecond))))
		}})
	}
	return q
}

// row is what is compared.
type row struct {
	name    string
	kind    harness.Kind
	version string
	system  durable.System
}

var natsVersion = "nats-server " + harness.Version("github.com/nats-io/nats-server/v2") + ", nats.go " + harness.Version("github.com/nats-io/nats.go")

const thisCommit = "this commit"

var rows = []row{
	{string(durable.Ferry), harness.Ferry, thisCommit, durable.Ferry},
	{string(durable.FerryExternal), harness.Ferry, thisCommit, durable.FerryExternal},
	{natsConsumer, harness.Peer, natsVersion, durable.NATS},
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	rows   []row
	dir    string
	filled map[string]float64 // messages a second that were stored, by row and count
}

func (e *experiment) prepare(dir string) error {
	e.dir, e.filled = dir, map[string]float64{}
	return ferrynode.Build(dir)
}

// check reads a few messages with each row.
func (e *experiment) check() error {
	for _, r := range e.rows {
		if _, err := e.measure(r, 1000); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// measure starts a row over its data, which it stores first if that was not done, and reads n messages.
func (e *experiment) measure(r row, n int) (f harness.Figures, err error) {
	name := fmt.Sprintf("replay-%s-%d", strings.Map(letters, r.name), n)
	var servers *durable.Servers
	if r.system != durable.Ferry {
		if servers, err = r.servers(filepath.Join(e.dir, name)); err != nil {
			return nil, err
		}
		defer servers.Close()
	}
	s, err := durable.Open(durable.Setup{System: r.system, Servers: servers, Dir: e.dir, Name: name, Replicas: 1, Size: size})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if e.filled[name] == 0 {
		if e.filled[name], err = s.Fill(n); err != nil {
			return nil, err
		}
	}
	f = harness.Figures{stored: e.filled[name]}
	if f[perSecond], err = s.Replay(n, false); err != nil {
		return nil, err
	}
	f[scanned], err = s.Replay(n, true)
	return f, err
}

// servers starts the servers of the row. They store their data below dir.
func (r row) servers(dir string) (*durable.Servers, error) {
	if r.system == durable.Kafka {
		return durable.StartKafka(dir)
	}
	return durable.StartServers(dir, 1, false)
}

// letters maps all other characters to hyphens.
func letters(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return '-'
}
