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
