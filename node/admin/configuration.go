package admin

import "net/http"

// configurationRoute adds GET /api/config: the configuration that the node runs as JSON, without secrets. It needs a token as changes do,
// because it tells who may do what.
func configurationRoute(mux *http.ServeMux, cfg Config) {
	mux.Handle("GET /api/config", requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := cfg.Configuration()
		if err != nil {
			writeText(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(text) // the client may have disconnected
	})))
}
