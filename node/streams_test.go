package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
)

// stores returns a configuration whose streams are these.
func stores(t *testing.T, address string, streams ...config.Stream) *config.Config {
	t.Helper()
	cfg := quiet(t)
	cfg.Engine.Address = address
	cfg.Streams = streams
	return cfg
}

// orders is a stream that is delivered at least once, and dead the one of its dead letters.
func orders() (orders, dead config.Stream) {
	return config.Stream{
			Tags: config.Filters{"orders/#"}, Delivery: config.AtLeastOnce, DeadLetter: "dead/orders",
			Redelivery: config.Redelivery{Max: 2, Backoff: []time.Duration{time.Millisecond}},
		},
		config.Stream{Tags: config.Filters{"dead/#"}, Delivery: config.AtLeastOnce}
}

// await calls f until it returns true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// state returns the state of one stream.
func state(t *testing.T, n *Node, name string) admin.StoredState {
	t.Helper()
	s, err := n.streams.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range s.Streams {
		if each.Name == name {
			return each
		}
	}
	t.Fatalf("no stream %s in %+v", name, s)
	return admin.StoredState{}
}

// TestEngineOnDisk publishes, stops the node, and finds the messages in the next one with the same data directory.
func TestEngineOnDisk(t *testing.T) {
	const address = config.EmbeddedEngine
	orders, dead := orders()
	cfg := stores(t, address, orders, dead)
	n := build(t, cfg)
	if want := "orders, dead, stored by engine " + address + ", sync always: a message that the node has acknowledged survives a power failure"; n.Engine() != want {
		t.Errorf("got  %s\nwant %s", n.Engine(), want)
	}
	stop := run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		send(t, c, fmt.Sprintf("orders/%d", i), "a")
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := state(t, n, "orders"); s.Records != 10 || s.Last != 10 || s.Appended != 10 || s.Pending != 0 || s.Error != "" || s.Delivery != "at-least-once" || s.Storage != "file" {
		t.Errorf("got %+v", s)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	old := filepath.Join(cfg.DataDir, streamsDir, jetStreamDir)
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(cfg, extensions()); err == nil || !strings.Contains(err.Error(), "ferry stream copy --from nats://127.0.0.1:4222 --to-dir "+cfg.DataDir) {
		t.Errorf("with streams of an earlier version: %v", err)
	}
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	n = build(t, cfg)
	run(t, n)
	if c, err = client(t, n, "tcp", n.id.Token()); err != nil {
		t.Fatal(err)
	}
	got := make(chan ferry.Message, 100)
	_, err = c.Start(t.Context(), stream.Function{
		Observe: []string{"orders/#"}, From: stream.FromFirst(), Durable: "billing",
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error { got <- in.Clone(); return nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]uint64{} // tags have no order among each other
	for range 10 {
		m := next(t, got)
		stored[m.Tag] = m.Sequence
	}
	for i := range 10 {
		if tag := fmt.Sprintf("orders/%d", i); stored[tag] != uint64(i+1) {
			t.Errorf("%s has sequence number %d, want %d", tag, stored[tag], i+1)
		}
	}
	await(t, "the durable is done", func() bool {
		d := state(t, n, "orders").Durables
		return len(d) == 1 && d[0].Name == "billing" && d[0].Lag == 0 && d[0].Here && len(d[0].Members) == 1 && d[0].Delivered == 10
	})
}

// TestReplay has a message fail until it is a dead letter, and replays it.
func TestReplay(t *testing.T) {
	orders, dead := orders()
	n := build(t, stores(t, "", orders, dead))
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan ferry.Message, 100)
	_, err = c.Start(t.Context(), stream.Function{
		Observe: []string{"orders/#"}, Durable: "billing",
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			got <- in.Clone()
			return errors.New("the database is away")
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "orders/1", "a")
	for range 2 {
		next(t, got)
	}
	await(t, "a dead letter", func() bool { return state(t, n, "dead").Records == 1 })
	await(t, "it is counted", func() bool {
		d := state(t, n, "orders").Durables
		return len(d) == 1 && d[0].DeadLetters == 1 && d[0].Redelivered == 1 && d[0].Lag == 0
	})
	if _, err := n.streams.Replay(t.Context(), "none", nil); !errors.Is(err, admin.ErrNoStream) {
		t.Errorf("an unknown stream: %v", err)
	}
	if _, err := n.streams.Replay(t.Context(), "orders", []uint64{1}); !errors.Is(err, engine.ErrNoRecord) {
		t.Errorf("a message that is no dead letter: %v", err)
	}
	if n, err := n.streams.Replay(t.Context(), "orders", nil); n != 0 || err != nil {
		t.Errorf("a stream without dead letters: %d, %v", n, err)
	}
	if n, err := n.streams.Replay(t.Context(), "dead", nil); n != 1 || err != nil {
		t.Errorf("replayed %d, %v, want 1", n, err)
	}
	if m := next(t, got); m.Tag != "orders/1" || string(m.Payload) != `"a"` && string(m.Payload) != "a" {
		t.Errorf("got %s %s", m.Tag, m.Payload)
	}
	await(t, "it is a dead letter again", func() bool { s := state(t, n, "dead"); return s.Records == 1 && s.Last == 2 })
	if n, err := n.streams.Replay(t.Context(), "dead", []uint64{2}); n != 1 || err != nil {
		t.Errorf("replayed %d by number, %v, want 1", n, err)
	}
	if err := n.streams.DeleteDurable(t.Context(), "orders", "none"); !errors.Is(err, admin.ErrNoDurable) {
		t.Errorf("an unknown durable: %v", err)
	}
}

// TestDurableWorker has a worker process die of a message of a stream, each time it is delivered. The others are handled, those too that
// were published before the function started.
func TestDurableWorker(t *testing.T) {
	cfg := stores(t, "",
		config.Stream{
			Tags: config.Filters{"do/#"}, Delivery: config.AtLeastOnce, DeadLetter: "dead/do",
			Redelivery: config.Redelivery{Max: 2, Backoff: []time.Duration{time.Millisecond}},
		},
		config.Stream{Tags: config.Filters{"dead/#"}, Delivery: config.AtLeastOnce})
	cfg.Functions = []config.Function{{
		Name: "obedient", Run: "obey", Observe: []string{"do/#"}, CPU: config.Worker, Durable: "obedient", From: "first",
	}}
	n := build(t, cfg)
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	done := observe(t, c, "done/#")
	if err := n.functions.Stop("obedient"); err != nil {
		t.Fatal(err)
	}
	for i, order := range []string{"one", "die", "two"} {
		send(t, c, fmt.Sprintf("do/%d", i), order)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.functions.Start("obedient"); err != nil {
		t.Fatal(err)
	}
	handled := map[string]bool{}
	for !handled["one"] || !handled["two"] {
		m := next(t, done)
		handled[string(m.Payload)] = true
	}

	await(t, "a dead letter", func() bool { return state(t, n, "dead").Records == 1 })
	await(t, "all is done", func() bool {
		d := state(t, n, "do").Durables
		return len(d) == 1 && d[0].Lag == 0 && d[0].DeadLetters == 1
	})
}

// gone is a stream of which retention has removed a record that Info counts.
type gone struct{ engine.Stream }

func (g gone) Info(ctx context.Context) (engine.Info, error) {
	info, err := g.Stream.Info(ctx)
	info.Records++
	info.Last++
	return info, err
}

// TestReplayOfFewer: replaying ends when a dead letter that was counted does not come.
func TestReplayOfFewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storedStreams{engine: memory.New()}
		dead, err := s.open(config.Stream{Name: "dead", Tags: config.Filters{"dead/#"}, Storage: config.StorageMemory})
		if err != nil {
			t.Fatal(err)
		}
		dead.stream = gone{dead.stream}
		s.replace([]storedStream{dead})
		stored := make(chan error, 1)
		dead.stream.Append([]engine.Record{{Tag: "dead/a", Payload: []byte("a")}}, func(err error) { stored <- err })
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
		if n, err := s.Replay(t.Context(), "dead", nil); n != 0 || err != nil {
			t.Errorf("replayed %d, %v, want 0 and no error", n, err)
		}
	})
}

// TestMemoryEngine stores for replay only.
func TestMemoryEngine(t *testing.T) {
	n := build(t, stores(t, "", config.Stream{Tags: config.Filters{"last/#"}, Retention: config.Retention{PerTag: 1}}))
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "c"} {
		send(t, c, "last/1", text)
	}
	await(t, "one record", func() bool { s := state(t, n, "last"); return s.Appended == 3 && s.Records == 1 && s.Last == 3 })
}

// TestPowerLoss: what the node prints names the cost.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for want, can := range map[string]engine.Capabilities{
		"survives a power failure":                 {Sync: engine.SyncAlways},
		"in the last 3s":                           {Sync: engine.SyncInterval, Interval: 3 * time.Second},
		"end with this process":                    {Sync: engine.SyncNever},
		"may cost messages that the node has ackn": {Sync: engine.SyncUnknown},
	} {
		if got := powerLoss(can); !strings.Contains(got, want) {
			t.Errorf("%v: got %s, want %s", can.Sync, got, want)
		}
	}
}

// silent is a stream whose engine does not respond.
type silent struct{ engine.Stream }

func (silent) Info(ctx context.Context) (engine.Info, error) {
	<-ctx.Done()
	return engine.Info{}, errors.Join(ctx.Err(), errors.New("no server"))
}

func (silent) Cursors(ctx context.Context) ([]engine.CursorInfo, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStateOfSilentEngine: the state is there soon, in one line, without figures.
func TestStateOfSilentEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storedStreams{engine: memory.New(), address: "nats://n1", started: time.Now(), broker: func() broker.Snapshot { return broker.Snapshot{} }}
		s.replace([]storedStream{{config: config.Stream{Name: "orders"}, stream: silent{}}})
		got, err := s.State(t.Context())
		if err != nil || len(got.Streams) != 1 || got.Streams[0].Error != "engine nats://n1 does not respond: context deadline exceeded: no server" {
			t.Errorf("got %+v, %v", got, err)
		}
		if took := time.Since(s.started); took > stateTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// TestEngineDoesNotStart: what is wrong with an engine is an error of Build that names the field.
func TestEngineDoesNotStart(t *testing.T) {
	orders, dead := orders()
	cfg := stores(t, "nats://127.0.0.1:1", orders, dead)
	if _, err := Build(cfg, extensions()); err == nil || !strings.Contains(err.Error(), "engine.address: nats://127.0.0.1:1 does not start: ") {
		t.Errorf("no server: %v", err)
	}
	cfg = stores(t, "", orders, dead)
	n := build(t, cfg)
	t.Cleanup(n.Close)
	second := *cfg
	second.Listeners = []config.Listener{{Address: "tcp://127.0.0.1:0"}}
	if _, err := Build(&second, extensions()); err == nil || !strings.Contains(err.Error(), filepath.Join(cfg.DataDir, dataLock)) {
		t.Errorf("a store in use: %v", err)
	}
}

// TestRenamedStream: the stream of the former name has the tags, and the error says how to go on.
func TestRenamedStream(t *testing.T) {
	orders, dead := orders()
	cfg := stores(t, "", orders, dead)
	n := build(t, cfg)
	n.Close()
	next := *cfg
	next.Streams = slices.Clone(cfg.Streams)
	next.Streams[0].Name = "sales"
	want := "the store has orders, which the configuration does not have: give a stream its former name, or remove it with ferry stream rm --data-dir " + cfg.DataDir
	if _, err := Build(&next, extensions()); err == nil || !strings.HasPrefix(err.Error(), "streams[0]: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestReadyAfterRecovery: while the engine recovers what it stores, /ping responds and /ready says no.
func TestReadyAfterRecovery(t *testing.T) {
	orders, dead := orders()
	cfg := stores(t, "", orders, dead)
	recovering, recovered, url := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	x := extensions()
	x.Log = slog.New(slog.NewJSONHandler(writerFunc(func(line []byte) {
		var entry struct{ Msg, Admin string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "engine starts" {
			url <- entry.Admin
		}
	}), nil))
	x.Engines = Engines()
	for i := range x.Engines {
		start := x.Engines[i].Start
		x.Engines[i].Start = func(ctx context.Context, s EngineSettings) (engine.Engine, error) {
			close(recovering)
			<-recovered
			return start(ctx, s)
		}
	}
	built := make(chan *Node, 1)
	go func() {
		n, err := Build(cfg, x)
		if err != nil {
			t.Error(err)
		}
		built <- n
	}()
	<-recovering
	admin := <-url
	status := func(path string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if ping, ready, backup := status("ping"), status("ready"), status("api/backup"); ping != http.StatusOK || ready != http.StatusServiceUnavailable || backup != http.StatusNotFound {
		t.Errorf("while the engine recovers: /ping %d, /ready %d, /api/backup %d", ping, ready, backup)
	}
	close(recovered)
	n := <-built
	if n == nil {
		return
	}
	run(t, n)
	if ready, streams := status("ready"), status("api/streams"); ready != http.StatusOK || streams != http.StatusOK {
		t.Errorf("once it runs: /ready %d, /api/streams %d", ready, streams)
	}
}

// TestApplyStreams adds and removes a stream, and refuses what a reload cannot change.
func TestApplyStreams(t *testing.T) {
	orders, dead := orders()
	n := build(t, stores(t, "", orders, dead))
	run(t, n)
	for want, change := range map[string]func(*config.Config){
		"engine.sync: this change needs a restart":    func(c *config.Config) { c.Engine.Sync = config.SyncInterval },
		"engine.address: this change needs a restart": func(c *config.Config) { c.Engine = config.Engine{Address: "nats://127.0.0.1:4222"} },
		"streams[1].storage: this change needs a restart": func(c *config.Config) {
			c.Streams = slices.Clone(c.Streams)
			c.Streams[0].DeadLetter = ""
			c.Streams[1].Delivery, c.Streams[1].Redelivery, c.Streams[1].Storage = config.AtMostOnce, config.Redelivery{}, config.StorageMemory
		},
	} {
		if err := n.Apply(changed(n, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	events := config.Stream{Tags: config.Filters{"events/#"}, Delivery: config.AtLeastOnce}
	if err := n.Apply(changed(n, func(c *config.Config) {
		c.Streams = append(slices.Clone(c.Streams), events)
		c.Limits.MaxFrame *= 2
	})); err == nil {
		t.Error("max_frame has changed")
	}
	if all, err := n.streams.engine.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("after a refusal the engine has %d streams, %v", len(all), err)
	}
	apply(t, n, func(c *config.Config) { c.Streams = append(slices.Clone(c.Streams), events) })
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "events/1", "a")
	await(t, "the message is stored", func() bool { return state(t, n, "events").Records == 1 })
	apply(t, n, func(c *config.Config) { c.Streams = c.Streams[:2] })
	if _, known := n.streams.Stream("events"); known {
		t.Error("the removed stream is there")
	}
	apply(t, n, func(c *config.Config) { c.Streams = append(slices.Clone(c.Streams), events) })
	if s := state(t, n, "events"); s.Records != 1 {
		t.Errorf("the stream that came back has %d records, want 1", s.Records)
	}
}

// TestReloadRetention: a smaller retention removes messages at once, if the whole configuration is applied. Publishers and the next start go on with it.
func TestReloadRetention(t *testing.T) {
	t.Parallel()
	orders, dead := orders()
	cfg := stores(t, config.EmbeddedEngine, orders, dead)
	n := build(t, cfg)
	stop := run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	publish := func() {
		t.Helper()
		for range 10 {
			send(t, c, "orders/1", "a")
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	keep := func(records int64) func(*config.Config) {
		return func(c *config.Config) {
			c.Streams = slices.Clone(c.Streams)
			c.Streams[0].Retention.Messages = records
		}
	}
	if err := n.Apply(changed(n, func(c *config.Config) { keep(3)(c); c.Limits.MaxFrame *= 2 })); err == nil {
		t.Fatal("max_frame has changed")
	}
	if s := state(t, n, "orders"); s.Records != 10 {
		t.Errorf("a refused configuration has left %d of 10 records", s.Records)
	}
	apply(t, n, keep(3))
	if s := state(t, n, "orders"); s.Records != 3 || s.Last != 10 {
		t.Errorf("%d records up to %d are left, want 3 up to 10", s.Records, s.Last)
	}
	publish()
	apply(t, n, keep(30))
	publish()
	if s := state(t, n, "orders"); s.Records != 13 || s.Last != 30 {
		t.Errorf("%d records up to %d are left, want 13 up to 30", s.Records, s.Last)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	run(t, build(t, n.config()))
}
