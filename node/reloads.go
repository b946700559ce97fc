package node

import (
	"sync"
	"time"

	"example.com/ferry/node/admin"
)

// reloads counts the reloads of the configuration.
type reloads struct {
	mu    sync.Mutex
	stats admin.Reloads
}

// begin notes the configuration that the node was built from.
func (r *reloads) begin(now time.Time) {
	r.stats.LastSuccessful, r.stats.LastSuccess = true, now
}

// count counts a reload at a time, by its error.
func (r *reloads) count(err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.LastSuccessful = err == nil
	if err != nil {
		r.stats.Refused++
		return
	}
	r.stats.Applied++
	r.stats.LastSuccess = now
}

func (r *reloads) load() admin.Reloads {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
