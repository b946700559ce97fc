package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
)

// TestStartFails: Start returns an error that names the command of a program that is not a worker.
func TestStartFails(t *testing.T) {
	greeting := helloFrame(1 << 20)
	other := append([]byte(nil), greeting...)
	other[prefixSize+1+len(magic)] = version + 1
	for _, row := range []struct {
		name, script string
		want         string
	}{
		{"dies before its hello", "die", "exit status 7"},
		{"returns before its hello", "read", "exit status 0"},
		{"dies within the length", "write:" + hex.EncodeToString(greeting[:2]) + ",die", "exit status 7"},
		{"dies within the hello", "write:" + hex.EncodeToString(greeting[:9]) + ",die", "exit status 7"},
		{"speaks another version", "write:" + hex.EncodeToString(other) + ",hang", "the peer speaks version 2, this side 1"},
		{"speaks another language", "write:" + hex.EncodeToString([]byte("HTTP/1.1 400 Bad Request\r\n")) + ",hang", "a frame of 1347703880 bytes, want 1 to 64"},
		{"greets with another frame", "write:" + hex.EncodeToString(appendEnd(nil, 1, done, "")) + ",hang", "the first frame is of kind 3, want a hello"},
		{"greets without the magic", "write:" + hex.EncodeToString(closeFrame(append(beginFrame(nil, hello), "hello"...), 0)) + ",hang", `does not begin with "ferry worker"`},
		{"closes its socket and lives on", "read,close,hang", "it closed its socket and did not exit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cfg := role(t, "script", scriptVariable+"="+row.script)
			cfg.Grace = time.Second // so that processes can end by themselves
			p, err := Start(cfg)
			if p != nil {
				_ = p.Close()
			}
			var died *DiedError
			if !errors.As(err, &died) || !errors.Is(err, ErrDied) {
				t.Fatalf("Start = %v, want a *DiedError", err)
			}
			if !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), cfg.Command[0]) {
				t.Errorf("%v: want the command and %q", err, row.want)
			}
			if strings.HasSuffix(row.script, "die") && died.Stderr != "died as told" {
				t.Errorf("Stderr = %q, want its last words", died.Stderr)
			}
		})
	}
}

func TestSilentProgram(t *testing.T) {
	cfg := role(t, "script", scriptVariable+"=hang")
	cfg.StartTimeout = 10 * time.Millisecond
	_, err := Start(cfg)
	for _, want := range []string{cfg.Command[0], "no hello within 10ms", "has to call worker.Serve"} {
		if !strings.Contains(text(err), want) {
			t.Errorf("Start = %v, want %q in it", err, want)
		}
	}
}

// TestDeathAtEachByte: the process dies after each possible number of response bytes.
func TestDeathAtEachByte(t *testing.T) {
	p := start(t, role(t, "script", scriptVariable+"=hello,read,read,cut,die"))
	full := fullAnswer()
	one := len(appendMessage(nil, &ferry.Message{Tag: "a", Payload: []byte("one")}))
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n < len(full); n += step {
		answers, err := ask(t.Context(), p, "", strconv.Itoa(n))
		var died *DiedError
		if !errors.As(err, &died) {
			t.Fatalf("after %d bytes: %v, want a *DiedError", n, err)
		}
		if died.Status != "exit status 7" || died.Stderr != "died as told" || died.Cause != nil || died.PID == 0 || !died.Begun {
			t.Errorf("after %d bytes: %+v, want exit status 7 and its last words", n, died)
		}
		if want := min(n/one, 2); len(answers) != want {
			t.Errorf("after %d bytes: %d answers, want %d", n, len(answers), want)
		}
	}
	answers, err := ask(t.Context(), p, "", strconv.Itoa(len(full)))
	if err != nil || len(answers) != 2 {
		t.Errorf("all bytes, and then death: %d answers, %v, want 2 and no error", len(answers), err)
	}
}

func TestDeathAfterHello(t *testing.T) {
	cfg := role(t, "script", scriptVariable+"=read,hello,die")
	p := start(t, cfg)
	for p.Stats().Ended < 3 {
		time.Sleep(time.Millisecond)
	}
	_, err := ask(t.Context(), p, "", "")
	if !errors.Is(err, ErrDied) {
		t.Errorf("a call to processes that die: %v, want ErrDied", err)
	}
}

func TestGarbage(t *testing.T) {
	half := appendMessage(nil, &ferry.Message{Tag: "tag", Payload: []byte("payload")})
	for _, row := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"an empty frame", []byte{0, 0, 0, 0}, "a frame of 0 bytes"},
		{"a frame that is too large", []byte{255, 255, 255, 255}, "a frame of 4294967295 bytes, want 1 to"},
		{"an unknown kind", closeFrame(beginFrame(nil, 200), 0), "a frame of kind 200, want a message (2) or an end (3)"},
		{"a second hello", helloFrame(1), "a frame of kind 1"},
		{"a cancel", cancelFrame(1), "a frame of kind 4"},
		{"a short message", closeFrame(append(beginFrame(nil, message), 1, 2), 0), "a message of 2 bytes is shorter than its header"},
		{"a tag beyond its message", closeFrame(half[:prefixSize+1+messageHead+1], 0), "a tag of 3 bytes exceeds the 1 bytes left"},
		{"a payload that is too large", appendMessage(nil, &ferry.Message{Payload: make([]byte, 101)}), "a response of 101 bytes exceeds MaxMessage 100"},
		{"an end without status", closeFrame(append(beginFrame(nil, end), 1, 2), 0), "an end of 2 bytes, want 9"},
		{"an end with an unknown status", appendEnd(nil, 1, 9, ""), "an end with status 9, want 0 to 2"},
		{"the end of another request", appendEnd(nil, 2, done, ""), "the end of request 2, want that of 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cfg := role(t, "script", scriptVariable+"=hello,read,read,write:"+hex.EncodeToString(row.bytes)+",hang")
			cfg.MaxMessage = 100
			p := start(t, cfg)
			answers, err := ask(t.Context(), p, "", "")
			var protocol *ProtocolError
			if !errors.As(err, &protocol) || !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), row.want) || len(answers) != 0 {
				t.Errorf("Handle = %v with %d answers, want a *ProtocolError with %q and none", err, len(answers), row.want)
			}
		})
	}
}

func TestHandlerExits(t *testing.T) {
	p := start(t, role(t, "serve"))
	_, err := ask(t.Context(), p, "exit", "")
	var died *DiedError
	if !errors.As(err, &died) || died.Status != "exit status 3" || died.Stderr != "last words" {
		t.Fatalf("Handle = %v, want exit status 3 and the last words", err)
	}
	if _, err := ask(t.Context(), p, "echo", ""); err != nil {
		t.Errorf("the next call: %v, want it handled by a new process", err)
	}
}

func TestDeadline(t *testing.T) {
	for _, row := range []struct {
		tag    string
		killed bool
	}{{"linger", false}, {"tight", true}} {
		t.Run(row.tag, func(t *testing.T) {
			cfg := role(t, "serve")
			cfg.Deadline = time.Second // the handler has to begin before it
			if !row.killed {
				cfg.Deadline, cfg.Grace = 20*time.Millisecond, time.Minute
			}
			p := start(t, cfg)
			_, err := ask(t.Context(), p, row.tag, "")
			if !errors.Is(err, ErrDeadline) || errors.Is(err, ErrDied) != row.killed {
				t.Errorf("Handle = %v, want ErrDeadline, killed: %v", err, row.killed)
			}
			var died *DiedError
			if errors.As(err, &died) && died.Status != "signal: killed" {
				t.Errorf("Status = %q, want signal: killed", died.Status)
			}
			s := p.Stats()
			if row.killed && s.Died != 1 || !row.killed && (s.Failed != 1 || s.Died != 0) {
				t.Errorf("Stats() = %+v", s)
			}
		})
	}
}

func TestContextEnds(t *testing.T) {
	for _, row := range []struct {
		tag    string
		killed bool
	}{{"wait", false}, {"spin", true}} {
		t.Run(row.tag, func(t *testing.T) {
			cfg := role(t, "serve")
			if !row.killed {
				cfg.Grace = time.Minute
			}
			p := start(t, cfg)
			ctx, stop := context.WithCancel(t.Context())
			err := p.Handle(ctx, &ferry.Message{Tag: row.tag}, hook(func(ferry.Message) error { stop(); return nil }))
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrDied) != row.killed {
				t.Errorf("Handle = %v, want context.Canceled, killed: %v", err, row.killed)
			}
			if _, err := ask(ctx, p, "echo", ""); !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that has ended: %v, want context.Canceled", err)
			}
			if _, err := ask(t.Context(), p, "echo", ""); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestDeadlineSparesTheSender: the time that the Sender uses does not count towards the deadline.
func TestDeadlineSparesTheSender(t *testing.T) {
	t.Parallel()
	cfg := role(t, "serve")
	cfg.Deadline, cfg.Grace = 4*time.Second, time.Minute
	p := start(t, cfg)
	n := 0
	err := p.Handle(t.Context(), &ferry.Message{Tag: "many", Payload: []byte("3")}, hook(func(ferry.Message) error {
		n++
		time.Sleep(1400 * time.Millisecond) // three such calls together exceed the deadline
		return nil
	}))
	if err != nil || n != 3 {
		t.Errorf("Handle = %v after %d answers, want 3 and no error", err, n)
	}
}

// TestBatchSurvivesADeath: one message of a batch kills its process. Only that message fails.
func TestBatchSurvivesADeath(t *testing.T) {
	p := start(t, role(t, "serve"))
	in := make([]ferry.Message, 40)
	for i := range in {
		in[i] = ferry.Message{Tag: "echo", Payload: []byte(strconv.Itoa(i))}
	}
	in[5].Tag, in[20].Tag = "exit", "exit"
	var out list
	err := p.HandleBatch(t.Context(), in, &out)
	if n := strings.Count(text(err), "exit status 3"); n != 2 || !errors.Is(err, ErrDied) {
		t.Errorf("HandleBatch = %v, want two deaths", err)
	}
	if len(out) != 38 {
		t.Fatalf("%d answers, want 38", len(out))
	}
	seen := map[string]int{}
	for _, m := range out {
		seen[string(m.Payload)]++
	}
	for i := range in {
		want := 1
		if in[i].Tag == "exit" {
			want = 0
		}
		if got := seen[strconv.Itoa(i)]; got != want {
			t.Errorf("message %d answered %d times, want %d", i, got, want)
		}
	}
}

func TestContextEndsABatch(t *testing.T) {
	cfg := role(t, "serve")
	cfg.Grace = time.Minute
	p := start(t, cfg)
	in := []ferry.Message{{Tag: "echo"}, {Tag: "wait"}, {Tag: "echo"}, {Tag: "echo"}}
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	err := p.HandleBatch(ctx, in, hook(func(m ferry.Message) error {
		if n++; string(m.Payload) == "begun" {
			stop()
		}
		return nil
	}))
	if !errors.Is(err, context.Canceled) || n != 2 {
		t.Errorf("HandleBatch = %v after %d answers, want context.Canceled after 2", err, n)
	}
	if s := p.Stats(); s.Handled != 1 || s.Failed != 3 || s.Died != 0 {
		t.Errorf("Stats() = %+v, want 1 handled, 3 failed, no process killed", s)
	}
	if _, err := ask(t.Context(), p, "echo", ""); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestCrashLoop: a program starts once and then never again. Calls fail with the reason and do not wait for ever. The pauses
// between attempts grow.
func TestCrashLoop(t *testing.T) {
	cfg := role(t, "serve")
	program, link := cfg.Command[0], filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	cfg.Command = []string{link}
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, time.Hour
	p := start(t, cfg)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), p, "exit", ""); !errors.Is(err, ErrDied) {
		t.Fatal(err)
	}
	_, err := ask(t.Context(), p, "echo", "") // waits for the first attempt
	var died *DiedError
	if !errors.As(err, &died) || died.PID != 0 || !strings.Contains(err.Error(), link) {
		t.Errorf("with no process left: %v, want a *DiedError that names %s", err, link)
	}
	if _, err := ask(t.Context(), p, "echo", ""); !errors.As(err, &died) {
		t.Errorf("a later call: %v, want the same at once", err)
	}
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for p.Stats().Ready == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := ask(t.Context(), p, "echo", ""); err != nil {
		t.Errorf("when it starts again: %v", err)
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{min: time.Second, max: 5 * time.Second}
	for i, step := range []struct{ lived, want time.Duration }{
		{0, time.Second},
		{0, 2 * time.Second},
		{time.Second, 4 * time.Second},
		{5 * time.Second, 5 * time.Second},
		{0, 5 * time.Second},
		{6 * time.Second, time.Second}, // the process lived long enough to reset the pause
		{0, 2 * time.Second},
	} {
		if got := b.next(step.lived); got != step.want {
			t.Errorf("step %d: pause %v, want %v", i, got, step.want)
		}
	}
}
