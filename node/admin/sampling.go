package admin

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// The rates while a profile of waiting is taken.
const (
	blockRate     = 10 * time.Microsecond // a goroutine that waits this long is sampled
	mutexFraction = 100                   // one of so many contended locks is sampled
	longestSample = 5 * time.Minute
)

// samplingRoutes adds POST /api/profile/block and /api/profile/mutex: they sample for ?seconds=N, and respond with the profile. The
// profiles of the same names below /debug/pprof are empty otherwise, as sampling all the time costs.
func samplingRoutes(mux *http.ServeMux, cfg Config) {
	var busy sync.Mutex
	for name, rate := range map[string]func(on bool){
		"block": func(on bool) { runtime.SetBlockProfileRate(rateIf(on, int(blockRate))) },
		"mutex": func(on bool) { runtime.SetMutexProfileFraction(rateIf(on, mutexFraction)) },
	} {
		mux.Handle("POST /api/profile/"+name, requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
			if limit := int(longestSample.Seconds()); err != nil || seconds < 1 || seconds > limit {
				writeText(w, http.StatusBadRequest, "seconds: want 1 to "+strconv.Itoa(limit))
				return
			}
			if !busy.TryLock() {
				writeText(w, http.StatusServiceUnavailable, "another profile of this kind is being taken: try again")
				return
			}
			defer busy.Unlock()
			rate(true)
			defer rate(false)
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTimeout))
			pprof.Handler(name).ServeHTTP(w, r)
		})))
	}
}

// rateIf returns rate, or 0 if on is false.
func rateIf(on bool, rate int) int {
	if on {
		return rate
	}
	return 0
}
