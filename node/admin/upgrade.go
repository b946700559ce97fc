package admin

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Upgrade replaces the process by another one. It returns when that one serves, or why it does not: then this process goes on.
type Upgrade func(context.Context) (Upgraded, error)

// Upgraded is what an upgrade has done.
type Upgraded struct {
	PID    int           `json:"pid"`       // of the new process
	Took   time.Duration `json:"took_ns"`   // from its start until it served
	Paused time.Duration `json:"paused_ns"` // of which no process had the streams
}

// ErrUpgrading means that an upgrade is in progress.
var ErrUpgrading = errors.New("an upgrade is in progress")

// upgradeRoute serves POST /api/upgrade.
func upgradeRoute(mux *http.ServeMux, cfg Config) {
	mux.Handle("POST /api/upgrade", requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done, err := cfg.Upgrade(context.WithoutCancel(r.Context()))                     // a client that leaves does not undo it
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // an upgrade may take longer
		switch {
		case errors.Is(err, ErrUpgrading):
			writeText(w, http.StatusConflict, err.Error())
		case err != nil:
			writeText(w, http.StatusInternalServerError, err.Error())
		default:
			writeJSON(w, done)
		}
	})))
}
