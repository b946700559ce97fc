package admin

import (
	"encoding/json"
	"errors"
	"net/http"
)

// ErrNoFunction says that no function has the name asked for.
var ErrNoFunction = errors.New("admin: no such function")

// Functions are what the node runs itself.
type Functions interface {
	// List returns all functions, running or not, always in the same order.
	List() []Function
	// Start starts the named function and Stop stops it; one that is in that state already is no error. An unknown name
	// gives ErrNoFunction.
	Start(name string) error
	Stop(name string) error
}

// Function is one function and what it does now.
type Function struct {
	Name    string `json:"name"`
	Observe string `json:"observe"`         // tag filter
	Where   string `json:"where,omitempty"` // predicate
	Running bool   `json:"running"`
	Error   string `json:"error,omitempty"` // why it does not run, if nobody stopped it
}

func functionRoutes(mux *http.ServeMux, fs Functions) {
	mux.HandleFunc("GET /api/functions", func(w http.ResponseWriter, _ *http.Request) { listFunctions(w, fs) })
	for verb, act := range map[string]func(string) error{"start": fs.Start, "stop": fs.Stop} {
		mux.HandleFunc("POST /api/functions/{name}/"+verb, func(w http.ResponseWriter, r *http.Request) {
			switch err := act(r.PathValue("name")); {
			case errors.Is(err, ErrNoFunction):
				text(w, http.StatusNotFound, "no function "+safe(r.PathValue("name"))+": GET /api/functions lists them")
			case err != nil:
				text(w, http.StatusInternalServerError, err.Error())
			default:
				listFunctions(w, fs)
			}
		})
	}
}

func listFunctions(w http.ResponseWriter, fs Functions) {
	body, err := json.Marshal(append([]Function{}, fs.List()...))
	if err != nil {
		text(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n')) // a client that went away is no error of ours
}
