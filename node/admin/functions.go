package admin

import (
	"errors"
	"net/http"
	"time"
)

// ErrNoFunction is the error for an unknown function name.
var ErrNoFunction = errors.New("admin: no such function")

// Functions are the functions that the node runs.
type Functions interface {
	// List returns all functions, running or not, always in the same order.
	List() []Function
	// Start starts the named function and Stop stops it. Neither fails if the function is in that state already. An unknown
	// name gives ErrNoFunction.
	Start(name string) error
	Stop(name string) error
}

// Function is the state of one function.
type Function struct {
	Name      string     `json:"name"`
	Observe   []string   `json:"observe"`         // tag filters
	Where     string     `json:"where,omitempty"` // predicate
	CPU       string     `json:"cpu"`             // light, heavy or worker
	Running   bool       `json:"running"`
	Error     string     `json:"error,omitempty"`     // why it ended, unless it was stopped
	Handled   uint64     `json:"handled"`             // messages, since it was started
	Failed    uint64     `json:"failed"`              // of those, how many calls ended with an error or a panic
	Queued    int        `json:"queued"`              // messages that wait in the node's queue
	Active    int64      `json:"active"`              // messages that are being handled, or wait for a token, a process or an instance
	Took      Histogram  `json:"took"`                // that this took, since the node has the function
	Restarts  uint64     `json:"restarts"`            // of the function, its processes and its instances, after an end that nobody asked for
	Kind      string     `json:"kind"`                // run, command, wasm or pipeline
	Processes *Processes `json:"processes,omitempty"` // of a worker
	Guest     *Guest     `json:"guest,omitempty"`     // of a wasm function
	Pipeline  *Pipeline  `json:"pipeline,omitempty"`  // of a function with a pipeline, while it runs

	// LastError is that of the last message that failed, or why the function did not start or ended, if that was later. It stays when all is well again.
	LastError   string    `json:"last_error,omitempty"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// Pipeline is the state of a pipeline. Its counters begin when the function is started.
type Pipeline struct {
	Steps   []PipelineStep `json:"steps"`
	Groups  int            `json:"groups"`            // that it keeps state for
	Open    int            `json:"open"`              // open windows, and messages that steps hold
	Refused uint64         `json:"refused,omitempty"` // messages dropped, because there are max_groups groups
	Failed  uint64         `json:"failed,omitempty"`  // results that were not published
}

// PipelineStep is one step. A window and its aggregates are one.
type PipelineStep struct {
	Text    string `json:"text"`
	In      uint64 `json:"in"`
	Out     uint64 `json:"out"`
	Skipped uint64 `json:"skipped,omitempty"` // messages that lack a field, or have it in another form
	Late    uint64 `json:"late,omitempty"`    // messages whose windows had ended
}

// Guest is the module of a wasm function. The numbers count since it was started.
type Guest struct {
	Number    int    `json:"number,omitempty"` // of a deployed function: its version, from 1
	Version   string `json:"version"`          // the first digits of the module's SHA-256
	Instances int    `json:"instances"`        // that exist
	Memory    int64  `json:"memory"`           // bytes of the instances that are idle
	Crashed   uint64 `json:"crashed"`          // instances that were ended: by a trap, or because a message took too long
}

// Processes are those of a worker, since it was started.
type Processes struct {
	Wanted int    `json:"wanted"`
	Ready  int    `json:"ready"`
	Died   uint64 `json:"died"` // messages whose process died, or was killed, while it handled them
}

func functionRoutes(mux *http.ServeMux, fs Functions) {
	mux.HandleFunc("GET /api/functions", func(w http.ResponseWriter, _ *http.Request) { listFunctions(w, fs) })
	for verb, act := range map[string]func(string) error{"start": fs.Start, "stop": fs.Stop} {
		mux.HandleFunc("POST /api/functions/{name}/"+verb, func(w http.ResponseWriter, r *http.Request) {
			switch err := act(r.PathValue("name")); {
			case errors.Is(err, ErrNoFunction):
				writeText(w, http.StatusNotFound, "no function "+printable(r.PathValue("name"))+": GET /api/functions lists them")
			case err != nil:
				writeText(w, http.StatusInternalServerError, err.Error())
			default:
				listFunctions(w, fs)
			}
		})
	}
}

func listFunctions(w http.ResponseWriter, fs Functions) {
	writeJSON(w, append([]Function{}, fs.List()...))
}
