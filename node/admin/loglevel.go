package admin

import (
	"net/http"
	"time"

	"example.com/ferry/internal/duration"
)

// LogLevels is the level of the node's own log.
type LogLevels interface {
	// LogLevel returns the level.
	LogLevel() LogLevel
	// SetLogLevel changes the level: debug, info, warn or error. After lasts, the level is that of the configuration again; 0 means that it
	// stays until a reload changes it.
	SetLogLevel(level string, lasts time.Duration) (LogLevel, error)
}

// LogLevel is the level of the node's own log.
type LogLevel struct {
	Level      string     `json:"level"`
	Configured string     `json:"configured"`
	Until      *time.Time `json:"until,omitempty"` // when it will be the configured one again
}

// longestLevel bounds how long another level than the configured one may last.
const longestLevel = 7 * 24 * time.Hour

// logLevelRoutes adds what shows and changes the level.
func logLevelRoutes(mux *http.ServeMux, cfg Config) {
	mux.HandleFunc("GET /api/log-level", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, cfg.LogLevels.LogLevel()) })
	mux.Handle("POST /api/log-level", requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lasts time.Duration
		if text := r.URL.Query().Get("for"); text != "" {
			var err error
			if lasts, err = duration.Parse(text); err != nil || lasts < time.Second || lasts > longestLevel {
				writeText(w, http.StatusBadRequest, "for: want a time of 1s to "+longestLevel.String()+", such as 10m")
				return
			}
		}
		level, err := cfg.LogLevels.SetLogLevel(r.URL.Query().Get("level"), lasts)
		if err != nil {
			writeText(w, http.StatusBadRequest, err.Error())
			return
		}
		writeJSON(w, level)
	})))
}
