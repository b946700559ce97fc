package node

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/node/config"
)

// lockedBuffer is a log that timers write to.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns what was written since the last call.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

// TestLogLimit: a fault that repeats is written a few times, then once a period with a count, and in full after it has paused.
func TestLogLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lockedBuffer{}
		o := newLog(config.Log{Level: "info", Format: config.LogText}, out)
		log := o.logger().With("listener", "a")
		lines := func() []string {
			text := strings.TrimSpace(out.take())
			if text == "" {
				return nil
			}
			return strings.Split(text, "\n")
		}
		refuse := func(n int) {
			for i := range n {
				log.Warn("connection refused", "addr", fmt.Sprintf("10.0.0.%d", i), "err", errors.New("full"))
			}
		}
		refuse(10_000)
		log.Warn("messages wait", "stream", "a")
		log.Warn("messages wait", "stream", "b")
		log.Info("ready")
		if got := lines(); len(got) != logBurst+3 {
			t.Errorf("got %d lines, want %d: %q", len(got), logBurst+3, got)
		}
		time.Sleep(logPeriod)
		synctest.Wait()
		got := lines()
		if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("more=%d within=1m0s", 10_000-logBurst)) || !strings.Contains(got[0], "listener=a") || !strings.Contains(got[0], "connection refused") {
			t.Errorf("summary: %q", got)
		}
		refuse(100)
		time.Sleep(logPeriod)
		synctest.Wait()
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "more=100 ") {
			t.Errorf("while it lasts: %q", got)
		}
		time.Sleep(logPeriod)
		synctest.Wait()
		refuse(1)
		if got := lines(); len(got) != 1 || strings.Contains(got[0], "more=") {
			t.Errorf("after a pause: %q", got)
		}
		for i := range 2 * logKinds {
			log.Warn(fmt.Sprintf("fault %d", i))
		}
		if got := lines(); len(got) > logKinds+logBurst {
			t.Errorf("%d lines of %d kinds", len(got), 2*logKinds)
		}
		o.set(config.Log{Level: "debug", Format: config.LogText})
		refuse(100)
		if got := lines(); len(got) != 100 {
			t.Errorf("at level debug: %d lines, want 100", len(got))
		}
		time.Sleep(2 * logPeriod)
	})
}

// TestLogCauses: the first line of a new cause is written while another cause floods the log, and what a client chooses neither makes
// lines without bound nor takes the place of others.
func TestLogCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lockedBuffer{}
		o := newLog(config.Log{Level: "info", Format: config.LogText}, out)
		log := o.logger()
		expect := func(name string, want int) {
			t.Helper()
			if got := strings.Count(out.take(), "\n"); got != want {
				t.Errorf("%s: %d lines, want %d", name, got, want)
			}
		}
		for i := range 100 {
			log.Warn("identity refused", "addr", i, "err", fmt.Errorf("read tcp 10.0.0.%d:%d: reset", i, 1000*i))
		}
		expect("one cause with many addresses", logBurst)
		log.Warn("identity refused", "addr", 1, "err", errors.New("the certificate has expired"))
		expect("a new cause", 1)
		for range 100 {
			log.With("stream", "a", "reason", "x").Warn("dropped")
		}
		log.With("stream", "b", "reason", "x").Warn("dropped")
		expect("another part, named by the logger", logBurst+1)
		for i := range 10 * logKinds {
			name := "a" + strings.Repeat("x", i%10) + strings.Repeat("y", i/10%30) + strings.Repeat("z", i/300)
			log.Warn("connection refused", "addr", i, "err", errors.New(name))
		}
		expect("causes that a client chooses", logCauses+logBurst)
		for i := range 10 * logKinds {
			log.Warn("a will is refused", "tag", fmt.Sprint("tag ", i))
		}
		expect("parts that a client chooses", logParts+logBurst)
		log.Error("the store is damaged", "stream", "a")
		expect("another fault meanwhile", 1)
		o.limit.flush()
		if got := out.take(); !strings.Contains(got, "more=95 ") || strings.Count(got, "\n") != 4 {
			t.Errorf("at the end of the node: %q, want the counts of what was left out", got)
		}
		time.Sleep(2 * logPeriod)
		synctest.Wait()
		if got := out.take(); got != "" || len(o.limit.kinds)+len(o.limit.below) > 0 {
			t.Errorf("afterwards: %q and %d kinds, want nothing", got, len(o.limit.kinds))
		}
	})
}
