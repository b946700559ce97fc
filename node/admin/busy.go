package admin

import (
	"net/http"
	"sync/atomic"
)

// The bounds of requests that are handled at once, so that slow and costly ones leave connections for /ping, /ready and /metrics, and
// cores for the data plane.
const (
	maxCostly   = 128 // all but /ping, /ready and /metrics
	maxProfiles = 4   // below /debug/pprof
)

// places bounds the requests that a handler serves at once. Further ones get 503.
type places struct {
	max  int32
	used atomic.Int32
}

// limit returns next, which serves at most as many requests at once as there are places.
func (p *places) limit(refused *atomic.Uint64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer p.used.Add(-1)
		if p.used.Add(1) > p.max {
			refused.Add(1)
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			writeText(w, http.StatusServiceUnavailable, "too many requests are in progress here: try again when some have ended")
			return
		}
		next.ServeHTTP(w, r)
	})
}
