package nats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/disktest"
)

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

// childDir has the test binary run powerChild, or batchChild with childBatches.
const (
	childDir     = "FERRY_TEST_POWER"
	childBatches = "FERRY_TEST_BATCHES"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if os.Getenv(childBatches) != "" {
			fmt.Println("error:", batchChild(dir))
			os.Exit(1)
		}
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
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
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
