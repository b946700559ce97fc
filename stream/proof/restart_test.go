//go:build linux

package proof

import (
	"testing"
	"time"
)

const atLeastOnce = "[{name: orders, tags: orders/#, delivery: at-least-once, redelivery: {backoff: [50ms], wait: 5s}}]"

// TestFunctionRestart kills and restarts a function while 10,000 messages are sent. None is lost, and no send fails.
func TestFunctionRestart(t *testing.T) {
	eachEngine(t, atLeastOnce, func(t *testing.T, n *runningNode) {
		h, rec := record(t)
		f := startFunction(t, functionConfig{
			Name: "function", Node: n.addr, Token: n.token(), Recorder: rec.path, Durable: "workers", Observe: "orders/#",
		})
		const sends = 10_000
		l := startLoad(t, h, n.client("publisher"), "k", 50, 256)
		for restart := 1; l.stored.Load() < sends; restart++ {
			target := min(sends, int64(restart)*2500)
			await(t, "messages are stored", func() bool { return l.stored.Load() >= target })
			ended := h.Fault("kill the function")
			f.kill()
			time.Sleep(100 * time.Millisecond)
			f.start()
			awaitMoreHandled(t, h, 10)
			ended()
		}
		l.wait()
		awaitHandled(t, h)
		verify(t, h)
	})
}

// TestFailingFunction has the handler fail now and then. The messages of a key stay in order.
func TestFailingFunction(t *testing.T) {
	eachEngine(t, atLeastOnce, func(t *testing.T, n *runningNode) {
		h, rec := record(t)
		failed := map[string]uint64{} // the last number of a key that has failed; one function calls at a time
		rec.fail = func(key string, number uint64) bool {
			if number%10 != 0 || failed[key] == number {
				return false
			}
			failed[key] = number
			return true
		}
		startFunction(t, functionConfig{
			Name: "function", Node: n.addr, Token: n.token(), Recorder: rec.path, Durable: "workers", Observe: "orders/#",
		})
		l := startLoad(t, h, n.client("publisher"), "k", 10, 256)
		l.awaitStored(1000)
		l.wait()
		awaitHandled(t, h)
		verify(t, h)
	})
}
