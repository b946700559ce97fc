// Python_client measures what a client in Python sends and receives: ferry_client, nats-py and paho-mqtt, each with its own server.
package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/natsnode"
)

func main() {
	serverMain() // does not return in the process of the NATS server
	harness.Main(question())
}

const (
	rate    = "messages/s"
	perMsg  = "CPU us/message"
	foreign = harness.Foreign

	out = "out, 256 B"
	in  = "in, 256 B"

	oneRow   = "ferry_client"
	batchRow = "ferry_client, batches"
	natsRow  = "nats-py"
	pahoRow  = "paho-mqtt"
)

// fewest and most bound the messages of a measurement. NATS drops a subscriber for which 64 MiB wait.
const fewest, most = 2000, 200_000

type experiment struct {
	dir    string
	python string
	root   string
}

func question() harness.Question {
	e := &experiment{}
	q := harness.Question{
		Name: "python_client", Title: "A client in Python", Unit: rate, Better: harness.Higher,
		About: "One client in Python, on core 1, publishes messages of 256 B or receives them. Its server is on core 0, with the Go program that sends what " +
			"the client receives. `out` ends when the server has confirmed the last message, `in` when the client's loop or callback has got it. " +
			"ferry_client sends with `send`, and in batches with `send_many`; it receives with `async for`, and in batches with `batches()`. The peers have no " +
			"batches: nats-py sends with `publish` and receives with a callback, paho-mqtt sends with QoS 0 and a thread. All event loops are asyncio's " +
			"own. CPU time is the Python process's.",
		Figures: []string{perMsg, foreign},
		Cases:   []string{out, in},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "what each client publishes, it receives: every message, in order, byte for byte", Run: e.checkBoth},
			{Name: "what Go publishes, each client receives: every message, in order, byte for byte", Run: e.checkIn},
		},
		Notes: []string{"ferry validates each message in full at its listener, as it ships; the payloads are raw bytes, of which there is nothing to validate."},
	}
	for _, c := range e.clients() {
		kind := harness.Peer
		if strings.HasPrefix(c.row, oneRow) {
			kind = harness.Ferry
		}
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.row, Kind: kind, Version: c.version, Measure: e.measure(c)})
	}
	for _, peer := range []string{natsRow, pahoRow} {
		for _, name := range q.Cases {
			q.Goals = append(q.Goals, harness.AtLeast(1, name+": messages a second, times "+peer, func(r *harness.Result) float64 {
				return r.Ratio(oneRow, peer, name, rate)
			}))
		}
	}
	return q
}

// client is a client of load.py, and its server.
type client struct {
	row, name, version string
	perSecond          float64 // about how many messages it can send in a second
	serve              func() (*server, error)
	publish            func(s *server, count int) error // by Go
}

func (e *experiment) clients() []client {
	python, versions := libraries()
	e.python = python
	list := []client{
		{oneRow, "ferry", "this commit", 1.5e6, e.ferryServer, publishFerry},
		{batchRow, "ferry-batches", "this commit", 3e6, e.ferryServer, publishFerry},
	}
	if versions != nil {
		list = append(list,
			client{natsRow, "nats", "v" + versions[0] + ", " + natsnode.Version, 3e5, e.natsServer, publishNATS},
			client{pahoRow, "paho", "v" + versions[1] + ", " + mosquittoVersion(), 1e5, e.mosquitto, publishMQTT})
	}
	return list
}

// libraries returns the Python that has the peers, and the versions of nats-py and paho-mqtt; without them any Python.
func libraries() (python string, versions []string) {
	if root, err := harness.Root(); err == nil {
		python = filepath.Join(root, "bin", "python", "bin", "python")
		const program = "from importlib.metadata import version as v; print(v('nats-py'), v('paho-mqtt'))"
		if text, err := exec.Command(python, "-c", program).Output(); err == nil && mosquittoVersion() != "" {
			return python, strings.Fields(string(text))
		}
	}
	return "python3", nil
}

func (e *experiment) prepare(dir string) (err error) {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if e.root, err = harness.Root(); err != nil {
		return err
	}
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return keepalive.PinProcess([]int{0})
}

func (e *experiment) measure(c client) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		count := min(max(int(c.perSecond*20*budget.Seconds()), fewest), most)
		s, err := c.serve()
		if err != nil {
			return nil, err
		}
		defer s.Stop()
		before, err := harness.Used(s.Family())
		if err != nil {
			return nil, err
		}
		var figures harness.Figures
		if name == out {
			figures, err = e.out(c, s, count)
		} else {
			figures, err = e.in(c, s, count, "", func() error { return c.publish(s, count) })
		}
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.row, name, err)
		}
		after, err := harness.Used(s.Family())
		if err != nil {
			return nil, err
		}
		_, figures[foreign] = before.Until(after)
		return figures, nil
	}
}
