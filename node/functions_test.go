package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/cpu/worker"
	"example.com/ferry/format/all"
	"example.com/ferry/node/config"
	"example.com/ferry/node/live"
	"example.com/ferry/stream"
)

// asWorker as the first argument runs the test binary as a worker process. The second argument is the function's name.
const asWorker = "worker"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asWorker {
		for _, f := range testFunctions() {
			if f.Name != os.Args[2] {
				continue
			}
			if err := worker.Serve(context.Background(), f.New()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		return
	}
	os.Exit(m.Run())
}

// testFunctions returns the functions of package live, and obey.
func testFunctions() []Function {
	return []Function{
		{"averages", func() ferry.Handler { return new(live.Averages) }},
		{"alerts", func() ferry.Handler { return new(live.Alerts) }},
		{"checksum", func() ferry.Handler { return live.Checksum{Formats: all.Formats()} }},
		{"obey", func() ferry.Handler { return ferry.HandlerFunc(obey) }},
	}
}

// obey carries out the command in the payload, and publishes on done/....
func obey(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	_, rest, _ := strings.Cut(in.Tag, "/")
	switch order := string(in.Payload); order {
	case "fail":
		return errors.New("fails as requested")
	case "die":
		fmt.Println("last words")
		os.Exit(3)
	case "hang":
		if err := out.Send(ctx, ferry.Message{Tag: "done/" + rest, Payload: in.Payload}); err != nil {
			return err
		}
		for n := 0; ; n++ { // ignores its context
		}
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return out.Send(ctx, ferry.Message{Tag: "done/" + rest, Payload: in.Payload})
}

// started builds and runs a node with functions, and connects to it.
func started(t *testing.T, functions []config.Function, more ...Function) (n *Node, c *stream.Client, stop func() error) {
	t.Helper()
	cfg := quiet(t)
	cfg.CPU.Tokens, cfg.Functions = 1, functions
	n = build(t, cfg, more...)
	stop = run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	return n, c, stop
}

func send(t *testing.T, c *stream.Client, tag, payload string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	typ := ferry.Raw
	if payload[0] == '{' {
		typ = ferry.JSON
	}
	if err := c.Send(ctx, ferry.Message{Tag: tag, Type: typ, Payload: []byte(payload)}); err != nil {
		t.Fatal(err)
	}
}

// awaitMetric waits until /metrics has a line.
func awaitMetric(t *testing.T, n *Node, line string) {
	t.Helper()
	body := ""
	for range 600 {
		if _, body = get(t, n.Admin()+"metrics"); strings.Contains(body, "\n"+line+"\n") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, ours, _ := strings.Cut(body, "# HELP ferry_")
	t.Fatalf("/metrics never has %q:\n%s", line, ours)
}

// TestHeavyBesideLight sends the same messages to a heavy and a light function. Both handle all of them, in order for each tag.
func TestHeavyBesideLight(t *testing.T) {
	n, c, _ := started(t, []config.Function{
		{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}, Where: "bytes > 0", CPU: config.Heavy},
		{Name: "echo", Run: "obey", Observe: []string{"checksum/#"}},
	})
	sums, echoes := observe(t, c, "checksums/#"), observe(t, c, "done/#")
	const tags, each = 3, 40
	for i := range each {
		for tag := range tags {
			send(t, c, fmt.Sprintf("checksum/%d", tag), fmt.Sprintf(`{"bytes":%d}`, i*100_000))
		}
	}
	wantSum, wantEcho := [tags]int{1, 1, 1}, [tags]int{} // `where` excludes the first message of each tag
	for range tags * (each - 1) {
		m := next(t, sums)
		tag := int(m.Tag[len("checksums/")] - '0')
		if want := fmt.Sprintf(`{"bytes":%d,`, wantSum[tag]*100_000); !strings.HasPrefix(string(m.Payload), want) {
			t.Fatalf("%s: got %s, want %s", m.Tag, m.Payload, want)
		}
		wantSum[tag]++
	}
	for range tags * each {
		m := next(t, echoes)
		tag := int(m.Tag[len("done/")] - '0')
		if want := fmt.Sprintf(`{"bytes":%d}`, wantEcho[tag]*100_000); string(m.Payload) != want {
			t.Fatalf("%s: got %s, want %s", m.Tag, m.Payload, want)
		}
		wantEcho[tag]++
	}
	for _, line := range []string{
		"ferry_cpu_tokens 1", "ferry_cpu_queue 0", "ferry_cpu_tokens_lent 0", "ferry_cpu_refused_total 0", "ferry_cpu_jobs_total 117",
		`ferry_function_handled_total{function="sums"} 117`, `ferry_function_failed_total{function="sums"} 0`,
		`ferry_function_handled_total{function="echo"} 120`,
	} {
		awaitMetric(t, n, line)
	}
	if _, body := get(t, n.Admin()+"api/functions"); !strings.Contains(body, `"name":"sums","observe":["checksum/#"],"where":"bytes \u003e 0","cpu":"heavy","running":true`) ||
		!strings.Contains(body, `"name":"echo","observe":["checksum/#"],"cpu":"light","running":true`) {
		t.Errorf("/api/functions: got %s", body)
	}
}

// TestHeavyWithholdsCredit sends more messages than the function and the node can queue while no token is free. The publisher
// waits; the node refuses and drops nothing.
func TestHeavyWithholdsCredit(t *testing.T) {
	release := make(chan struct{})
	var handled atomic.Int64
	gate := Function{"gate", func() ferry.Handler {
		return ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error {
			<-release
			handled.Add(1)
			return nil
		})
	}}
	n, c, _ := started(t, []config.Function{{Name: "gate", Run: "gate", Observe: []string{"in"}, CPU: config.Heavy, Concurrency: 3}}, gate)
	payload := strings.Repeat("x", 64<<10)
	var sent int64
	for { // until the window of the function, the queue of the node and the window of this client are full
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := c.Send(ctx, ferry.Message{Tag: "in", Payload: []byte(payload)})
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) || sent < 16 {
				t.Fatalf("after %d messages: %v", sent, err)
			}
			break
		}
		if sent++; sent > 1000 {
			t.Fatal("a function that takes nothing withholds nothing")
		}
	}
	if f := n.functions.List()[0]; f.Queued == 0 || f.Active != 1 || f.Took.Count != 0 {
		t.Errorf("while it takes nothing: got %+v", f)
	}
	close(release)
	for range 100 {
		send(t, c, "in", payload)
		sent++
	}
	awaitMetric(t, n, fmt.Sprintf(`ferry_function_handled_total{function="gate"} %d`, sent))
	awaitMetric(t, n, "ferry_cpu_refused_total 0")
	if got := handled.Load(); got != sent {
		t.Errorf("%d of %d messages were handled", got, sent)
	}
	_, body := get(t, n.Admin()+"metrics")
	counts := regexp.MustCompile(`(?m)^ferry_dropped_total\{.*\} (\S+)$`).FindAllStringSubmatch(body, -1)
	if len(counts) == 0 {
		t.Error("/metrics does not count what is dropped")
	}
	for _, c := range counts {
		if c[1] != "0" {
			t.Errorf("dropped: %s", c[0])
		}
	}
}

// TestHeavyThatDoesNotYield runs a function that never yields the only token. Other functions still run, and the metrics list it.
func TestHeavyThatDoesNotYield(t *testing.T) {
	var release atomic.Bool
	stubborn := Function{"stubborn", func() ferry.Handler {
		return ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error {
			for !release.Load() {
				time.Sleep(time.Millisecond) // without a checkpoint
			}
			return nil
		})
	}}
	n, c, _ := started(t, []config.Function{
		{Name: "mule", Run: "stubborn", Observe: []string{"in"}, CPU: config.Heavy},
		{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}, CPU: config.Heavy},
	}, stubborn)
	defer release.Store(true)
	sums := observe(t, c, "checksums/#")
	send(t, c, "in", "go")
	awaitMetric(t, n, "ferry_cpu_tokens_held 1")
	send(t, c, "checksum/a", `{"bytes":1}`)
	if m := next(t, sums); string(m.Payload) != `{"bytes":1,"crc32":"d202ef8d"}` {
		t.Errorf("got %s", m.Payload)
	}
	awaitMetric(t, n, `ferry_cpu_unyielding{job="mule"} 1`)
	release.Store(true)
	awaitMetric(t, n, "ferry_cpu_tokens_held 0")
}

// TestHeavyWaitsForCredit checks that a heavy function releases its token while it waits for credit.
func TestHeavyWaitsForCredit(t *testing.T) {
	talk := Function{"talk", func() ferry.Handler {
		return ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
			for range 100 {
				if err := out.Send(ctx, ferry.Message{Tag: "talk", Payload: make([]byte, 256<<10)}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
	n, c, _ := started(t, []config.Function{
		{Name: "talk", Run: "talk", Observe: []string{"in"}, CPU: config.Heavy},
		{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}, CPU: config.Heavy},
	}, talk)
	listen := make(chan struct{})
	received := 0
	all := make(chan struct{})
	_, err := c.Start(t.Context(), stream.Function{Observe: []string{"talk"}, Handler: stream.Sink(func(context.Context, *ferry.Message) error {
		<-listen
		if received++; received == 100 {
			close(all)
		}
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	other, err := client(t, n, "tcp", n.id.Token()) // the first one's functions share its connection
	if err != nil {
		t.Fatal(err)
	}
	sums := observe(t, other, "checksums/#")
	send(t, other, "in", "go")
	awaitMetric(t, n, "ferry_cpu_jobs_total 1")
	awaitMetric(t, n, "ferry_cpu_tokens_held 0") // it waits for credit: 25 MB exceed all queues
	send(t, other, "checksum/a", `{"bytes":1}`)
	next(t, sums)
	close(listen)
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Fatal("some results are missing")
	}
	if _, body := get(t, n.Admin()+"metrics"); strings.Contains(body, "ferry_cpu_unyielding") {
		t.Error("a function that waits for credit is said not to yield")
	}
}

func TestTimeoutOfContexts(t *testing.T) {
	n, c, _ := started(t, []config.Function{
		{Name: "light", Run: "obey", Observe: []string{"light/#"}, Timeout: 5 * time.Millisecond},
		{Name: "heavy", Run: "obey", Observe: []string{"heavy/#"}, CPU: config.Heavy, Timeout: 5 * time.Millisecond},
	})
	done := observe(t, c, "done/#")
	for _, name := range []string{"light", "heavy"} {
		send(t, c, name+"/a", "wait")
		awaitMetric(t, n, `ferry_function_failed_total{function="`+name+`"} 1`)
	}
	slow := &timeoutHandler{time.Nanosecond, ferry.HandlerFunc(obey)}
	err := slow.Handle(t.Context(), &ferry.Message{Tag: "a", Payload: []byte("wait")}, c)
	if want := "node: the function took longer than 1ns: context deadline exceeded"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	quick := &timeoutHandler{time.Hour, ferry.HandlerFunc(obey)}
	if err := quick.Handle(t.Context(), &ferry.Message{Tag: "a/b", Payload: []byte("fail")}, c); err == nil || err.Error() != "fails as requested" {
		t.Errorf("got %v, want the handler's own error", err)
	}
	if err := quick.Handle(t.Context(), &ferry.Message{Tag: "a/b", Payload: []byte("in time")}, c); err != nil {
		t.Error(err)
	}
	next(t, done)
}

// TestFunctionCalls: what is known of a function's calls outlives its start. A panic counts, and what ends because the function is stopped does not.
func TestFunctionCalls(t *testing.T) {
	n, c, _ := started(t, []config.Function{{Name: "f", Run: "obey", Observe: []string{"do/#"}}, {Name: "g", Run: "panics", Observe: []string{"panic"}}},
		Function{"panics", func() ferry.Handler {
			return ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error { panic("as requested") })
		}})
	done := observe(t, c, "done/#")
	send(t, c, "do/a", "fail")
	send(t, c, "do/a", "one")
	next(t, done)
	send(t, c, "do/b", "wait")
	awaitMetric(t, n, `ferry_function_active{function="f"} 1`)
	if err := n.functions.Stop("f"); err != nil {
		t.Fatal(err)
	}
	if err := n.functions.Start("f"); err != nil {
		t.Fatal(err)
	}
	send(t, c, "do/a", "two")
	next(t, done)
	awaitMetric(t, n, `ferry_function_seconds_count{function="f"} 4`)
	awaitMetric(t, n, `ferry_function_active{function="f"} 0`)
	send(t, c, "panic", "now")
	awaitMetric(t, n, `ferry_function_seconds_count{function="g"} 1`)
	for i, want := range []string{"fails as requested", "panic: as requested"} {
		if f := n.functions.List()[i]; f.LastError != want || f.Active != 0 || f.Restarts != 0 {
			t.Errorf("got %+v, want the last error %q", f, want)
		}
	}
}

// TestWorker runs a function in worker processes that die, are killed and are restarted.
func TestWorker(t *testing.T) {
	n, c, stop := started(t, []config.Function{{
		Name: "obedient", Run: "obey", Observe: []string{"do/#"}, CPU: config.Worker, Processes: 2, Timeout: time.Second,
	}})
	done := observe(t, c, "done/#")
	expectResult := func(tag, payload string) {
		t.Helper()
		send(t, c, "do/"+tag, payload)
		if m := next(t, done); m.Tag != "done/"+tag || string(m.Payload) != payload {
			t.Fatalf("got %s on %s, want %s", m.Payload, m.Tag, payload)
		}
	}
	expectResult("a", "first")
	awaitMetric(t, n, `ferry_worker_processes{function="obedient"} 2`)

	send(t, c, "do/a", "die")
	awaitMetric(t, n, `ferry_worker_died_total{function="obedient"} 1`)
	awaitMetric(t, n, `ferry_function_restarts_total{function="obedient"} 1`)
	awaitMetric(t, n, `ferry_worker_processes{function="obedient"} 2`)
	expectResult("a", "after a death")

	expectResult("a", "hang") // until the timeout
	awaitMetric(t, n, `ferry_worker_died_total{function="obedient"} 2`)
	awaitMetric(t, n, `ferry_function_restarts_total{function="obedient"} 2`)
	expectResult("a", "after a timeout")

	send(t, c, "do/a", "fail")
	expectResult("a", "after a failure")
	awaitMetric(t, n, `ferry_function_handled_total{function="obedient"} 7`)
	awaitMetric(t, n, `ferry_function_failed_total{function="obedient"} 3`)
	if f := n.functions.List()[0]; f.Took.Count != 7 || f.Active != 0 || !strings.Contains(f.LastError, "fails as requested") || f.LastErrorAt.IsZero() || f.Error != "" {
		t.Errorf("got %+v", f)
	}

	if err := n.functions.Stop("obedient"); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, n, `ferry_worker_processes{function="obedient"} 0`)
	if err := n.functions.Start("obedient"); err != nil {
		t.Fatal(err)
	}
	expectResult("b", "after a restart of the function")
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// lines is an io.Writer for a log. The test receives each line from the channel.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// TestFailuresAreLogged checks that the log entry of a failure has the function's name and the output of its process, and that the
// log has no entries for the node's internal connections.
func TestFailuresAreLogged(t *testing.T) {
	cfg := quiet(t)
	cfg.Functions = []config.Function{{Name: "obedient", Run: "obey", Observe: []string{"do/#"}, CPU: config.Worker}}
	log := make(lines, 1000)
	with := extensions()
	with.Log = slog.New(slog.NewTextHandler(log, nil))
	n, err := Build(cfg, with)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "do/a", "die")
	awaitMetric(t, n, `ferry_function_failed_total{function="obedient"} 1`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	all := ""
	for len(log) > 0 {
		all += <-log
	}
	for _, want := range []string{
		`msg="stream: handler failed" client=obedient tag=do/a err="worker: obedient (process `,
		` died while it handled a message: exit status 3; it printed last: \"last words\"" failed=1`,
		`msg="function printed" function=obedient text="last words"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	if strings.Contains(all, "connection lost") {
		t.Error("the log tells that the node's own connections end with it")
	}
	if t.Failed() {
		t.Log(all)
	}
}

// TestFunctionThatDoesNotStart runs a node with commands that do not run as workers. The node serves its clients, /ready names the functions, and one whose
// program is there later runs without a restart of the node.
func TestFunctionThatDoesNotStart(t *testing.T) {
	later := filepath.Join(t.TempDir(), "later")
	write := func(script string) {
		if err := os.WriteFile(later, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	write("exit 1")
	cfg := quiet(t)
	cfg.Functions = []config.Function{
		{Name: "later", Command: []string{later}, Observe: []string{"do/#"}},
		{Name: "none", Command: []string{"true"}, Observe: []string{"#"}},
		{Name: "fails", Command: []string{"false"}, Observe: []string{"#"}},
		{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}},
	}
	n := build(t, cfg)
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	sums, done := observe(t, c, "checksums/#"), observe(t, c, "done/#")
	send(t, c, "checksum/1", `{"bytes":3}`)
	next(t, sums)
	if _, ready := get(t, n.Admin()+"ready"); !strings.Contains(ready, "3 of 4 functions do not run") || !strings.Contains(ready, "function later") {
		t.Errorf("/ready says %q: want the functions that do not run", ready)
	}
	write("exec '" + strings.Join(append(slices.Clone(extensions().Worker), "obey"), "' '") + "'")
	for deadline := time.Now().Add(time.Minute); !n.functions.List()[0].Running; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the function whose program has come is not started: %+v", n.functions.List()[0])
		}
	}
	send(t, c, "do/1", "answer")
	next(t, done)
	if err := n.functions.Stop("none"); err != nil {
		t.Fatal(err)
	}
	if f := n.functions.List()[1]; f.Running || f.Error != "" {
		t.Errorf("stopped: got %+v, want no error", f)
	}
}

// TestDrain stops a node with queued messages, and checks that it delivers all of them.
func TestDrain(t *testing.T) {
	n, c, stop := started(t, []config.Function{
		{Name: "sums", Run: "checksum", Observe: []string{"checksum/#"}, CPU: config.Heavy},
		{Name: "obedient", Run: "obey", Observe: []string{"do/#"}, CPU: config.Worker},
	})
	other, err := client(t, n, "tcp", n.id.Token()) // it has no function, so the node drains it first
	if err != nil {
		t.Fatal(err)
	}
	sums, done := observe(t, c, "checksums/#"), observe(t, c, "done/#")
	const each = 50
	for i := range each {
		send(t, other, fmt.Sprintf("checksum/%d", i%5), `{"bytes":30000000}`)
		send(t, other, fmt.Sprintf("do/%d", i%5), "answer")
	}
	if err := other.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for range each {
		next(t, sums)
		next(t, done)
	}
	if s := n.pool.Stats(); s.Running+s.Queued+s.Lent > 0 {
		t.Errorf("the pool still has work: %+v", s)
	}
	if _, err := cpu.Do(t.Context(), n.pool, func(context.Context) (int, error) { return 0, nil }); !errors.Is(err, cpu.ErrClosed) {
		t.Errorf("after the end: got %v, want %v", err, cpu.ErrClosed)
	}
}

func TestUnknownFunctions(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*config.Config, *Extensions)
		want   string
	}{
		{"unknown", func(c *config.Config, _ *Extensions) {
			c.Functions = []config.Function{{Name: "a", Run: "checksums", Observe: []string{"#"}}}
		}, `functions[0].run: unknown function "checksums": want one of averages, alerts, checksum, obey`},
		{"live without averages", func(c *config.Config, s *Extensions) { c.Live.Functions, s.Functions = true, nil }, "function averages: this program brings no function averages"},
		{"no worker", func(c *config.Config, s *Extensions) {
			c.Functions = []config.Function{{Name: "a", Run: "obey", Observe: []string{"#"}, CPU: config.Worker}}
			s.Worker = nil
		}, "function a: this program does not run its functions in processes of their own"},
	} {
		cfg, with := quiet(t), extensions()
		c.change(cfg, &with)
		if _, err := Build(cfg, with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
