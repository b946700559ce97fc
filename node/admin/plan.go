package admin

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// planPath is the one path whose requests have a body.
const planPath = "/api/config/plan"

// The bounds of a request of planPath.
const (
	maxPlan     = 48 << 20 // bytes: several files of the largest size, as JSON
	planTimeout = 10 * time.Second
)

// plans serves what a reload would do. It computes one plan at a time, as a large configuration takes seconds.
type plans struct {
	compute func([]byte) (any, error)
	busy    sync.Mutex
}

// ServeHTTP responds with the plan of the files in the request.
func (p *plans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.busy.TryLock() {
		writeText(w, http.StatusServiceUnavailable, "another request of this kind is in progress: try again")
		return
	}
	defer p.busy.Unlock()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(planTimeout)) // every connection of an http.Server has it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPlan))
	_ = control.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		writeText(w, http.StatusRequestEntityTooLarge, "the files are too long")
		return
	case err != nil:
		writeText(w, http.StatusBadRequest, "the body of the request did not come in time")
		return
	}
	plan, err := p.compute(body)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, plan)
}
