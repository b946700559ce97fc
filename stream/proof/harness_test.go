//go:build linux

package proof

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/internal/history"
)

// random returns a source of random numbers, and logs its seed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// record returns a History and a recorder for the functions of other processes.
func record(t *testing.T) (*history.History, *recorder) {
	t.Helper()
	h := new(history.History)
	return h, newRecorder(t, h)
}

// awaitMoreHandled waits until functions have handled messages n times more.
func awaitMoreHandled(t *testing.T, h *history.History, n int) {
	t.Helper()
	target := h.Times() + n
	await(t, "more messages are handled", func() bool { return h.Times() >= target || h.Unhandled() == 0 })
}

// awaitHandled waits until all stored messages are handled, and a little longer, for what comes twice.
func awaitHandled(t *testing.T, h *history.History) {
	t.Helper()
	await(t, "all stored messages are handled", func() bool { return h.Unhandled() == 0 })
	time.Sleep(500 * time.Millisecond)
}

// awaitSettled waits until all stored messages are handled, or nothing has been handled for a while, because some are lost.
func awaitSettled(t *testing.T, h *history.History, while time.Duration) {
	t.Helper()
	last, since := h.Times(), time.Now()
	await(t, "all messages are handled that are left", func() bool {
		if n := h.Times(); n != last {
			last, since = n, time.Now()
		}
		return h.Unhandled() == 0 || time.Since(since) > while
	})
	time.Sleep(500 * time.Millisecond)
}

// verify fails the test if the History breaks a promise.
func verify(t *testing.T, h *history.History) {
	t.Helper()
	report := h.Check()
	t.Log(report)
	if !report.OK() {
		t.Error("promises were broken, see above")
	}
}
