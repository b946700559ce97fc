package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"example.com/ferry/node/backup"
)

// Archiver saves the streams of the node while it runs.
type Archiver interface {
	// Manifest describes an archive of all streams in the data directory.
	Manifest(ctx context.Context) (backup.Manifest, error)

	// Snapshot passes the parts of a stream to write, in order; each is valid during the call. The error is ErrNoStream, or that
	// of the engine or of write.
	Snapshot(ctx context.Context, stream string, write func(part []byte) error) error
}

// ErrorTrailer is the trailer field of a response whose archive is incomplete: why.
const ErrorTrailer = "Ferry-Error"

// partTimeout bounds how long the reader of an archive may take for a part.
const partTimeout = 30 * time.Second

// archives serves /api/backup and /api/streams/{stream}/snapshot: archives without the files of the data directory, which no HTTP
// request returns.
type archives struct {
	source Archiver
	log    *slog.Logger
	busy   atomic.Bool // one at a time: each reads as fast as the disk can
}

func archiveRoutes(mux *http.ServeMux, cfg Config) {
	a := &archives{source: cfg.Archiver, log: cfg.Log}
	mux.Handle("GET /api/backup", requireAction(cfg, http.HandlerFunc(a.all)))
	mux.Handle("GET /api/streams/{stream}/snapshot", requireAction(cfg, http.HandlerFunc(a.one)))
}

func (a *archives) all(w http.ResponseWriter, r *http.Request) {
	m, err := a.source.Manifest(r.Context())
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error())
		return
	}
	a.write(w, r, m)
}

func (a *archives) one(w http.ResponseWriter, r *http.Request) {
	m, err := a.source.Manifest(r.Context())
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error())
		return
	}
	m.Streams = []string{r.PathValue("stream")}
	a.write(w, r, m)
}

// write writes the archive of the streams of m. Until a stream's first part is there, an error is the response.
func (a *archives) write(w http.ResponseWriter, r *http.Request, m backup.Manifest) {
	if !a.busy.CompareAndSwap(false, true) {
		writeText(w, http.StatusServiceUnavailable, "another backup or copy is in progress: try again when it has ended")
		return
	}
	defer a.busy.Store(false)
	out := &archiveResponse{w: w, control: http.NewResponseController(w)}
	err := writeArchive(r.Context(), out, a.source, m)
	switch {
	case err == nil || r.Context().Err() != nil:
	case !out.began && errors.Is(err, ErrNoStream):
		writeText(w, http.StatusNotFound, err.Error())
	case !out.began:
		writeText(w, http.StatusInternalServerError, err.Error())
	default:
		a.log.Error("an archive is incomplete", "err", err)
		w.Header().Set(ErrorTrailer, strings.Join(strings.Fields(err.Error()), " "))
	}
}

func writeArchive(ctx context.Context, to *archiveResponse, source Archiver, m backup.Manifest) error {
	w, err := backup.NewWriter(to, m)
	if err != nil {
		return err
	}
	for _, name := range m.Streams {
		err := w.Stream(name, func(write func([]byte) error) error {
			return source.Snapshot(ctx, name, func(part []byte) error {
				to.release()
				return write(part)
			})
		})
		if err != nil {
			return err
		}
	}
	to.release()
	return w.Close()
}

// archiveResponse holds back the manifest until the first part of a stream: an error before it still has a status.
type archiveResponse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	held    []byte
	began   bool
}

// release sends what was held back, and allows the reader partTimeout for what comes next.
func (a *archiveResponse) release() {
	if !a.began {
		a.began = true
		h := a.w.Header()
		h.Set("Content-Type", "application/x-tar")
		h.Set("Cache-Control", "no-store")
		h.Set("Trailer", ErrorTrailer)
		a.w.WriteHeader(http.StatusOK)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(partTimeout)) // every writer of an http.Server has it
}

// Write holds b back or sends it.
func (a *archiveResponse) Write(b []byte) (int, error) {
	if !a.began {
		a.held = append(a.held, b...)
		return len(b), nil
	}
	if len(a.held) > 0 {
		held := a.held
		a.held = nil
		if _, err := a.w.Write(held); err != nil {
			return 0, err
		}
	}
	return a.w.Write(b)
}
