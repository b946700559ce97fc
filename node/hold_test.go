package node

import (
	"fmt"
	"syscall"
	"testing"
)

// TestHoldReloads: while reloads are held, a changed file is not applied, not even after a signal. It is applied after the release.
func TestHoldReloads(t *testing.T) {
	t.Parallel()
	a, b := web(t, "a"), web(t, "b")
	w := watch(t, fmt.Sprintf(watchedYAML, "''", a))
	w.expectBody("a")
	release := w.node.HoldReloads()
	w.write(fmt.Sprintf(watchedYAML, "''", b))
	for range 4 { // when the last is taken from the channel, Watch has handled at least two
		w.again <- syscall.SIGHUP
	}
	w.expectBody("a")
	release()
	w.awaitLog("applied")
	w.expectBody("b")
}
