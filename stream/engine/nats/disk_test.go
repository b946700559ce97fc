package nats

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/disktest"
	"example.com/ferry/stream/engine"
)

// patience bounds what a test waits for on a busy machine.
const patience = 60 * time.Second

// rig is an embedded engine with a stream of orders.
type rig struct {
	t *testing.T
	e *Engine
	s engine.Stream
}

func newRig(t *testing.T, c EmbeddedConfig) *rig {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e, err := Embedded(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, e: e}
	t.Cleanup(r.close)
	r.s, err = e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.e.Close(ctx); err != nil {
		r.t.Errorf("Close: %v", err)
	}
}

// append appends records one after the other, and returns a channel with their fates.
func (r *rig) append(from, n, size int) <-chan error {
	done := make(chan error, n)
	for i := range n {
		payload := fmt.Appendf(nil, "%d %s", from+i, strings.Repeat("x", size))
		r.s.Append([]engine.Record{{Tag: "orders/a", Payload: payload}}, func(err error) { done <- err })
	}
	return done
}

func (r *rig) await(done <-chan error) {
	r.t.Helper()
	for range cap(done) {
		select {
		case err := <-done:
			if err != nil {
				r.t.Fatalf("Append: %v", err)
			}
		case <-time.After(patience):
			_, err := r.s.(*stream).appender.state()
			r.t.Fatalf("Append: not done within %s: %v", patience, err)
		}
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (r *rig) failure() string {
	if _, err := r.s.(*stream).appender.state(); err != nil {
		return err.Error()
	}
	return ""
}

// numbers reads n records from the first on and returns the numbers in their payloads.
func (r *rig) numbers(n int) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := r.s.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close(ctx) //nolint:errcheck // it has no position
	var all []string
	for len(all) < n {
		records, err := c.Next(ctx, 1000, 1<<20)
		if err != nil {
			r.t.Fatalf("Next after %d of %d records: %v", len(all), n, err)
		}
		for _, r := range records {
			number, _, _ := strings.Cut(string(r.Payload), " ")
			all = append(all, number)
		}
	}
	return all
}

// Appends wait while the disk is nearly full, and the server never sees that it is.
func TestAppendsWaitForSpace(t *testing.T) {
	d := disktest.Mount(t, disktest.Config{Capacity: 256 << 20})
	r := newRig(t, EmbeddedConfig{Dir: filepath.Join(d.Dir, "store")})
	r.await(r.append(0, 100, 100))
	d.SetCapacity(d.Used() + keptFree - 1<<20)
	var waiting []<-chan error
	until(t, "the engine says that the disk is full", func() bool {
		waiting = append(waiting, r.append(100+len(waiting), 1, 1000))
		return strings.Contains(r.failure(), "is full")
	})
	if info, err := r.s.Info(t.Context()); err != nil || info.Err == nil || info.Pending == 0 {
		t.Errorf("Info = %+v, %v, want the error and what waits", info, err)
	}
	before := r.e.host.server()
	d.SetCapacity(256 << 20)
	for _, done := range waiting {
		r.await(done)
	}
	if r.failure() != "" {
		t.Errorf("after the disk has room the engine says %q", r.failure())
	}
	if r.e.host.server() != before {
		t.Error("the server was started again: it has seen a full disk")
	}
	r.checkOrder(100 + len(waiting))
}

// Without the check of the disk a write fails. Then the server starts again.
func TestServerStartsAgainAfterAWriteError(t *testing.T) {
	d := disktest.Mount(t, disktest.Config{Capacity: 256 << 20})
	r := newRig(t, EmbeddedConfig{Dir: filepath.Join(d.Dir, "store")})
	r.e.host.space.mu.Lock()
	r.e.host.space.dir, r.e.host.space.free = t.TempDir(), 0 // another disk
	r.e.host.space.mu.Unlock()
	r.await(r.append(0, 100, 100))
	before := r.e.host.server()
	d.SetCapacity(d.Used() + 1000)
	waiting := r.append(100, 1, 100_000) // one record: the server stages a batch elsewhere before it writes to the stream
	until(t, "the server has a write error", func() bool { return r.e.host.fault() != "" || r.e.host.server() != before })
	d.SetCapacity(256 << 20)
	r.await(waiting)
	r.await(r.append(101, 1000, 100))
	if r.e.host.server() == before {
		t.Error("the server was not started again")
	}
	r.checkOrder(1101)
}

// checkOrder checks that n numbers are stored in order. One that the server has stored, and could not acknowledge, may come again.
func (r *rig) checkOrder(n int) {
	r.t.Helper()
	info, err := r.s.Info(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	next := 0
	for _, number := range r.numbers(int(info.Records)) {
		if number == fmt.Sprint(next) {
			next++
		}
	}
	if next != n {
		r.t.Errorf("number %d is missing, or out of order", next)
	}
}

// childDir has the test binary run powerChild.
const childDir = "FERRY_TEST_POWER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		powerChild(dir)
	}
	os.Exit(m.Run())
}

// powerChild appends records until it is killed. Its cursor reads them and stores its position after each.
func powerChild(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	e, err := Embedded(ctx, EmbeddedConfig{Dir: dir, Sync: engine.SyncInterval, Interval: 300 * time.Millisecond})
	fail(err)
	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	fail(err)
	c, err := s.Cursor(ctx, engine.CursorConfig{Name: "durable", Start: engine.Start{At: engine.AtFirst}})
	fail(err)
	for i := 0; ; i++ {
		done := make(chan error, 1)
		s.Append([]engine.Record{{Tag: "orders/a", Payload: fmt.Append(nil, i)}}, func(err error) { done <- err })
		fail(<-done)
		records, err := c.Next(ctx, 1, 1)
		fail(err)
		c.Commit(engine.Position{Floor: records[0].Sequence})
		if i == 500 {
			fmt.Println("ready")
		}
	}
}

// A power failure with an interval loses the last records. The stream is there, and a cursor that was ahead of it loses no
// record that is stored afterwards.
func TestPowerFailureWithInterval(t *testing.T) {
	d := disktest.Mount(t, disktest.Config{})
	dir := filepath.Join(d.Dir, "store")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := out.Read(line)
	if text := string(line[:n]); !strings.HasPrefix(text, "ready") {
		t.Errorf("the process says %q, %v", text, err)
	}
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	cmd.Wait()         //nolint:errcheck // it was killed
	t.Logf("%d bytes are lost", d.LosePower())

	r := newRig(t, EmbeddedConfig{Dir: dir, Sync: engine.SyncInterval})
	info, err := r.s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.await(r.append(int(info.Last), 2000, 1)) // takes the numbers of the lost ones
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := r.s.Cursor(ctx, engine.CursorConfig{Name: "durable", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	records, err := c.Next(ctx, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := records[0].Sequence; got > info.Last+1 {
		t.Errorf("the cursor begins at %d, the first new record is %d", got, info.Last+1)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}
