package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
)

func TestAnswers(t *testing.T) {
	p := start(t, role(t, "serve"))
	for _, row := range []struct {
		name, tag, payload string
		want               []string
		fails              string
	}{
		{"one", "echo", "hi", []string{"hi"}, ""},
		{"empty", "echo", "", []string{""}, ""},
		{"none", "none", "", nil, ""},
		{"several", "many", "3", []string{"0", "1", "2"}, ""},
		{"an error", "fail", "", nil, "worker: handler: told to fail"},
		{"a panic", "panic", "", nil, "worker: handler panicked: told to panic"},
		{"what it prints is no answer", "print", "", []string{"printed"}, ""},
		{"the socket's variable is not passed on", "variable", "", []string{""}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			answers, err := ask(t.Context(), p, row.tag, row.payload)
			if got := text(err); !strings.HasPrefix(got, row.fails) || (row.fails == "") != (err == nil) {
				t.Errorf("error %q, want one that begins with %q", got, row.fails)
			}
			var got []string
			for _, m := range answers {
				got = append(got, string(m.Payload))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("answers %q, want %q", got, row.want)
			}
		})
	}
	if s := p.Stats(); s.Handled != 6 || s.Failed != 2 || s.Died != 0 || s.Started != 1 || s.Busy != 0 {
		t.Errorf("Stats() = %+v, want 6 handled, 2 failed, by one process", s)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMessageArrivesWhole(t *testing.T) {
	p := start(t, role(t, "serve"))
	in := ferry.Message{Tag: "echo", Type: ferry.CBOR, Time: -5, Source: 7, To: 1<<32 - 1, Payload: []byte{0, 255}}
	var out list
	if err := p.Handle(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) != 1 {
		t.Fatalf("%d answers, want 1", len(out))
	}
	got := out[0]
	if got.Tag != in.Tag || got.Type != in.Type || got.Time != in.Time || got.Source != in.Source || got.To != in.To || !bytes.Equal(got.Payload, in.Payload) {
		t.Errorf("got %+v, want %+v", got, in)
	}
}

func TestCall(t *testing.T) {
	p := start(t, role(t, "serve"))
	got, err := p.Call(t.Context(), []byte("b"), []byte("a"))
	if string(got) != "ab" || err != nil {
		t.Errorf("Call = %q, %v, want ab", got, err)
	}
}

func TestBatchKeepsOrder(t *testing.T) {
	p := start(t, role(t, "serve"))
	var in []ferry.Message
	for i := range 1000 {
		in = append(in, ferry.Message{Tag: "echo", Payload: []byte(strconv.Itoa(i))})
	}
	in[500].Tag = "fail"
	var out list
	err := p.HandleBatch(t.Context(), in, &out)
	if text(err) != "worker: handler: told to fail" {
		t.Errorf("error %v, want that of message 500", err)
	}
	if len(out) != 999 {
		t.Fatalf("%d answers, want 999", len(out))
	}
	for i, m := range out {
		want := i
		if i >= 500 {
			want++
		}
		if string(m.Payload) != strconv.Itoa(want) {
			t.Fatalf("answer %d is %q, want %d", i, m.Payload, want)
		}
	}
}

// TestLargeBatch: requests and responses exceed the socket buffers. Neither side may wait for the other to read.
func TestLargeBatch(t *testing.T) {
	p := start(t, role(t, "serve"))
	var in []ferry.Message
	for range 20 {
		in = append(in, ferry.Message{Tag: "echo", Payload: make([]byte, 120<<10)}, ferry.Message{Tag: "large", Payload: []byte("3000000")})
	}
	total := 0
	if err := p.HandleBatch(t.Context(), in, hook(func(m ferry.Message) error { total += len(m.Payload); return nil })); err != nil {
		t.Fatal(err)
	}
	if want := 20 * (120<<10 + 3000000); total != want {
		t.Errorf("%d bytes of answers, want %d", total, want)
	}
}

func TestTooLarge(t *testing.T) {
	cfg := role(t, "serve")
	cfg.MaxMessage = 1000
	p := start(t, cfg)
	before := pid(t, p)
	for _, row := range []struct {
		name string
		in   ferry.Message
		want string
	}{
		{"request", ferry.Message{Tag: "echo", Payload: make([]byte, 1001)}, "has 1001 bytes, MaxMessage is 1000"},
		{"tag", ferry.Message{Tag: strings.Repeat("x", 1<<16)}, "the tag has 65536 bytes, at most 65535"},
		{"answer", ferry.Message{Tag: "large", Payload: []byte("1001")}, "has 1001 bytes, MaxMessage is 1000"},
	} {
		var out list
		if err := p.Handle(t.Context(), &row.in, &out); !strings.Contains(text(err), row.want) || len(out) != 0 {
			t.Errorf("%s: error %v and %d answers, want an error with %q", row.name, err, len(out), row.want)
		}
	}
	answers, err := ask(t.Context(), p, "large", "1000")
	if err != nil || len(answers) != 1 {
		t.Errorf("1000 bytes: %d answers, %v, want one", len(answers), err)
	}
	if after := pid(t, p); after != before {
		t.Errorf("process %d, want %d still", after, before)
	}
	in := []ferry.Message{{Tag: "echo", Payload: []byte("1")}, {Payload: make([]byte, 1001)}, {Tag: "echo", Payload: []byte("3")}}
	var out list
	if err := p.HandleBatch(t.Context(), in, &out); !errors.Is(err, ErrTooLarge) || len(out) != 2 {
		t.Errorf("a batch with one that is too large: %v, %d answers, want ErrTooLarge and 2", err, len(out))
	}
}

func pid(t *testing.T, p *Pool) int {
	t.Helper()
	answer, err := ask(t.Context(), p, "pid", "")
	if err != nil || len(answer) != 1 {
		t.Fatalf("ask for the pid: %d answers, %v", len(answer), err)
	}
	n, err := strconv.Atoi(string(answer[0].Payload))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSenderRefuses(t *testing.T) {
	p := start(t, role(t, "serve"))
	before := pid(t, p)
	refused := errors.New("no credit")
	calls := 0
	err := p.Handle(t.Context(), &ferry.Message{Tag: "many", Payload: []byte("5")}, hook(func(ferry.Message) error { calls++; return refused }))
	if !errors.Is(err, refused) || calls != 1 {
		t.Errorf("Handle = %v after %d Sends, want the Sender's error after 1", err, calls)
	}
	if after := pid(t, p); after != before {
		t.Errorf("process %d, want %d still", after, before)
	}
}

func TestSenderPanics(t *testing.T) {
	p := start(t, role(t, "serve"))
	before := pid(t, p)
	func() {
		defer func() {
			if v := recover(); v != "sender" {
				t.Errorf("recovered %v, want the Sender's panic", v)
			}
		}()
		_ = p.Handle(t.Context(), &ferry.Message{Tag: "echo"}, hook(func(ferry.Message) error { panic("sender") }))
	}()
	if after := pid(t, p); after == before {
		t.Errorf("process %d is used again, in the middle of a request", after)
	}
}

func TestOutput(t *testing.T) {
	var said bytes.Buffer // safe to read once the pool is closed
	cfg := role(t, "serve")
	cfg.Stderr = &said
	p := start(t, cfg)
	if _, err := ask(t.Context(), p, "print", ""); err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	if got := said.String(); got != "to stdout\nto stderr\n" {
		t.Errorf("Stderr got %q, want both lines", got)
	}
}

func TestQueue(t *testing.T) {
	cfg := role(t, "serve")
	cfg.Queue = 1
	p := start(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	begun := make(chan struct{}, 1)
	calls.Go(func() {
		_ = p.Handle(ctx, &ferry.Message{Tag: "wait"}, hook(func(ferry.Message) error { begun <- struct{}{}; return nil }))
	})
	<-begun
	waited := make(chan error, 1)
	calls.Go(func() {
		_, err := ask(t.Context(), p, "echo", "second")
		waited <- err
	})
	for p.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	if _, err := ask(t.Context(), p, "echo", "third"); !errors.Is(err, ErrBusy) {
		t.Errorf("the third call: %v, want ErrBusy", err)
	}
	cancel()
	if err := <-waited; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
	calls.Wait()
	if s := p.Stats(); s.Refused != 1 || s.Waiting != 0 || s.Busy != 0 {
		t.Errorf("Stats() = %+v, want 1 refused and nothing under way", s)
	}
}

func TestWaitingEndsWithContext(t *testing.T) {
	cfg := role(t, "serve")
	cfg.Grace = time.Minute // of a busy machine
	p := start(t, cfg)
	held, release := context.WithCancel(t.Context())
	begun, over := make(chan struct{}), make(chan error, 1)
	go func() {
		over <- p.Handle(held, &ferry.Message{Tag: "wait"}, hook(func(ferry.Message) error { close(begun); return nil }))
	}()
	<-begun
	why := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	waited := make(chan error, 1)
	go func() { _, err := ask(ctx, p, "echo", ""); waited <- err }()
	for p.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	cancel(why)
	if err := <-waited; !errors.Is(err, why) {
		t.Errorf("the call that waited: %v, want %v", err, why)
	}
	release()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was handled: %v, want context.Canceled", err)
	}
	if s := p.Stats(); s.Died != 0 || s.Waiting != 0 {
		t.Errorf("Stats() = %+v, want no process killed, no call waiting", s)
	}
}

func TestWorkersRunAtOnce(t *testing.T) {
	cfg := role(t, "serve")
	cfg.Workers = 3
	p := start(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var calls, begun sync.WaitGroup
	begun.Add(3)
	for range 3 {
		calls.Go(func() {
			_ = p.Handle(ctx, &ferry.Message{Tag: "wait"}, hook(func(ferry.Message) error { begun.Done(); return nil }))
		})
	}
	begun.Wait()
	if s := p.Stats(); s.Busy != 3 || s.Ready != 3 {
		t.Errorf("Stats() = %+v, want 3 busy of 3", s)
	}
	cancel()
	calls.Wait()
}

func TestConfigIsChecked(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no command", Config{}, "Config.Command is empty"},
		{"an empty program", Config{Command: []string{""}}, "Config.Command is empty"},
		{"workers", Config{Command: []string{"x"}, Workers: -1}, "Config.Workers is -1: want 0 to 1024"},
		{"message", Config{Command: []string{"x"}, MaxMessage: 1<<30 + 1}, "Config.MaxMessage is 1073741825: want 0 to 1073741824"},
		{"deadline", Config{Command: []string{"x"}, Deadline: -1}, "Config.Deadline is -1ns: want 0 or more"},
		{"nice", Config{Command: []string{"x"}, Nice: 20}, "Config.Nice is 20: want at most 19"},
		{"no such program", Config{Command: []string{"./no-such-program", "-x"}}, `the program ["./no-such-program" "-x"] has to call worker.Serve: fork/exec`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := Start(row.cfg)
			if p != nil || !strings.Contains(text(err), row.want) {
				t.Errorf("Start = %v, %v, want an error with %q", p, err, row.want)
			}
		})
	}
}

func TestEnvAndDir(t *testing.T) {
	cfg := role(t, "serve", "EXTRA=passed")
	cfg.Dir = t.TempDir()
	p := start(t, cfg)
	answers, err := ask(t.Context(), p, "variable", "")
	if err != nil || len(answers) != 1 || string(answers[0].Payload) != "passed" {
		t.Errorf("answers %v, %v, want what Env says", answers, err)
	}
}

func TestServeElsewhere(t *testing.T) {
	for _, row := range []struct{ value, want string }{
		{"", `is "": want a file descriptor`},
		{"three", `is "three": want a file descriptor`},
		{"9999", "names descriptor 9999"},
	} {
		t.Setenv(socketVariable, row.value)
		if err := Serve(t.Context(), ferry.HandlerFunc(obey)); !strings.Contains(text(err), row.want) {
			t.Errorf("%q: Serve = %v, want an error with %q", row.value, err, row.want)
		}
	}
	if err := Serve(t.Context(), ferry.HandlerFunc(obey)); !strings.Contains(text(err), "is for programs that worker.Start runs") {
		t.Errorf("without a parent: Serve = %v", err)
	}
}

// TestCloseUnderLoad: calls return, whether they are being handled, are waiting, or begin after Close.
func TestCloseUnderLoad(t *testing.T) {
	before := resources(t)
	cfg := role(t, "serve")
	cfg.Workers, cfg.Queue = 2, 1000
	p := start(t, cfg)
	var calls sync.WaitGroup
	errs := make(chan error, 40*1000)
	for i := range 40 {
		calls.Go(func() {
			for {
				tag := "echo"
				if i%10 == 0 {
					tag = "spin"
				}
				_, err := ask(t.Context(), p, tag, "x")
				if errs <- err; err != nil {
					return
				}
			}
		})
	}
	for p.Stats().Busy < 2 || p.Stats().Waiting < 20 {
		time.Sleep(time.Millisecond)
	}
	_ = p.Close()
	_ = p.Close() // a second Close is no error
	calls.Wait()
	close(errs)
	ended := 0
	for err := range errs {
		if err == nil {
			continue
		}
		ended++
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a call ended with %v, want ErrClosed", err)
		}
	}
	if ended != 40 {
		t.Errorf("%d calls ended with an error, want 40", ended)
	}
	if _, err := ask(t.Context(), p, "echo", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if s := p.Stats(); s.Ready != 0 || s.Busy != 0 || s.Waiting != 0 || s.Started != s.Ended {
		t.Errorf("Stats() = %+v, want all gone", s)
	}
	before.awaitRelease(t)
}

// resourceCounts counts resources that may leak.
type resourceCounts struct{ goroutines, files int }

func resources(t *testing.T) resourceCounts {
	t.Helper()
	u := resourceCounts{goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/dev/fd"); err == nil {
		u.files = len(open)
	}
	return u
}

// awaitRelease waits until no more resources are in use than before. Ended goroutines and files may need a moment to be gone.
func (u resourceCounts) awaitRelease(t *testing.T) {
	t.Helper()
	var now resourceCounts
	for range 3000 {
		if now = resources(t); now.goroutines <= u.goroutines && now.files <= u.files {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("in use %+v, before %+v\n%s", now, u, stacks[:runtime.Stack(stacks, true)])
}

func TestManyRestartsLeakNothing(t *testing.T) {
	p := start(t, role(t, "serve"))
	if _, err := ask(t.Context(), p, "exit", ""); !errors.Is(err, ErrDied) {
		t.Fatal(err)
	}
	first := pid(t, p)
	before := resources(t)
	for i := range 10 {
		if _, err := ask(t.Context(), p, "exit", strconv.Itoa(i)); !errors.Is(err, ErrDied) {
			t.Fatal(fmt.Errorf("call %d: %w", i, err))
		}
	}
	if last := pid(t, p); last == first {
		t.Errorf("process %d still runs", last)
	}
	before.awaitRelease(t)
	if s := p.Stats(); s.Died != 11 || s.Started != 12 || s.Ended != 11 {
		t.Errorf("Stats() = %+v, want 11 died, 12 started", s)
	}
}
