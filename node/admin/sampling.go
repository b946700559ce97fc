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

// sampling is held while a profile of waiting is taken: the rates are those of the process, whatever server was requested.
var sampling sync.Mutex

// sampled reports whether text is a time that a profile may take, in seconds. Otherwise it responds.
func sampled(w http.ResponseWriter, text string) bool {
	seconds, err := strconv.ParseFloat(text, 64)                          // trace takes fractions
	ok := err == nil && seconds > 0 && seconds <= longestSample.Seconds() // not NaN
	if !ok {
		writeText(w, http.StatusBadRequest, "seconds: want 1 to "+strconv.Itoa(int(longestSample.Seconds())))
	}
	return ok
}

// samplingRoutes adds POST /api/profile/block and /api/profile/mutex: they sample for ?seconds=N, and respond with the profile. The
// profiles of the same names below /debug/pprof are empty otherwise, as sampling all the time costs.
func samplingRoutes(mux *http.ServeMux, cfg Config) {
	for name, rate := range map[string]func(on bool){
		"block": func(on bool) { runtime.SetBlockProfileRate(rateIf(on, int(blockRate))) },
		"mutex": func(on bool) { runtime.SetMutexProfileFraction(rateIf(on, mutexFraction)) },
	} {
		mux.Handle("POST /api/profile/"+name, requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !sampled(w, r.URL.Query().Get("seconds")) {
				return
			}
			if !sampling.TryLock() {
				writeText(w, http.StatusServiceUnavailable, "another profile of block or mutex is being taken: try again when it has ended")
				return
			}
			defer sampling.Unlock()
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
