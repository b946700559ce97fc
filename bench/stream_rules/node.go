package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
	"example.com/ferry/internal/pki"
)

const (
	perConnection = 256  // subscriptions of a connection: the node's limit
	changed       = 1000 // rules that are added and removed
	patience      = 20 * time.Second
	enough        = 1 << 20 // messages with a budget of 50 ms, in a case without a match
)

// config is the configuration of the node. All other fields have their defaults.
const config = `listeners:
  - address: tcp://%s
admin:
  address: %s
data_dir: %s
`

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

// check measures a few messages with few rules.
func (e *experiment) check() error {
	s := setup{kinds[0], 100}
	if _, err := e.measureFerry(s, time.Microsecond); err != nil {
		return err
	}
	_, err := e.measureNATS(s, time.Microsecond)
	return err
}

// load returns how many messages are published in a case, fewer if more of them are delivered.
func load(s setup, budget time.Duration) int {
	expected := 1 + float64(s.n)*map[string]float64{seldom: 0.0001, often: 0.01}[s.share]
	return max(1000, int(enough/4*float64(budget)/float64(50*time.Millisecond)/expected))
}

// expect returns how many of n messages each rule receives, all together.
func expect(rules []rule, docs [][]byte, n int) (int, error) {
	f, err := openFerry(rules)
	if err != nil {
		return 0, err
	}
	each := make([]int, len(docs))
	for i, doc := range docs {
		each[i] = len(f.find(doc, nil))
	}
	sum := 0
	for i := range n {
		sum += each[i&(len(docs)-1)]
	}
	return sum, nil
}

// measureFerry starts a node, subscribes with all rules, and publishes.
func (e *experiment) measureFerry(s setup, budget time.Duration) (f harness.Figures, err error) {
	dir, err := os.MkdirTemp(e.dir, "node-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var addrs [2]string
	for i := range addrs {
		if addrs[i], err = ferrynode.FreeAddr(); err != nil {
			return nil, err
		}
	}
	file, data := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "data")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, addrs[0], addrs[1], data), 0o600); err != nil {
		return nil, err
	}
	node, err := child.Program("", "ferry run", filepath.Join(e.dir, ferrynode.Binary), "run", "-c", file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if said := node.End(); err != nil && said != "" {
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}()
	if err := ferrynode.WaitReady(addrs[1]); err != nil {
		return nil, err
	}
	token, err := pki.ReadToken(filepath.Join(data, pki.TokenFile))
	if err != nil {
		return nil, err
	}
	rules, docs, n := s.rules(), encode(messages()), load(s, budget)
	want, err := expect(rules, docs, n)
	if err != nil {
		return nil, err
	}
	var subscribers []*client
	defer func() {
		for _, c := range subscribers {
			c.close()
		}
	}()
	for from := 0; from < len(rules); from += perConnection {
		c, err := dial(addrs[0], token)
		if err != nil {
			return nil, err
		}
		subscribers = append(subscribers, c)
		if err := c.subscribe(rules[from:min(from+perConnection, len(rules))]); err != nil {
			return nil, err
		}
		go c.count()
	}
	publisher, err := dial(addrs[0], token)
	if err != nil {
		return nil, err
	}
	defer publisher.close()
	if err := publisher.openTag(); err != nil {
		return nil, err
	}
	before := pubsub.CPU(node.PID())
	if err := publisher.publish(docs, n); err != nil {
		return nil, err
	}
	if err := await(subscribers, want); err != nil {
		return nil, err
	}
	spent := pubsub.CPU(node.PID()) - before
	f = harness.Figures{harness.NsPerOp: float64(spent.Nanoseconds()) / float64(n), delivered: float64(want) / float64(n)}
	other, err := dial(addrs[0], token)
	if err != nil {
		return nil, err
	}
	defer other.close()
	took, err := other.change(s)
	f[change] = float64(took.Nanoseconds()) / changed / 1000
	return f, err
}

// await waits until the subscribers have received want messages, and none more.
func await(subscribers []*client, want int) error {
	got := 0
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = 0
		for _, c := range subscribers {
			got += int(c.received.Load())
		}
		if got == want {
			return nil
		}
	}
	return errors.New("stream_rules: " + strconv.Itoa(got) + " messages were delivered, want " + strconv.Itoa(want))
}
