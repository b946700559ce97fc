package admin

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// ErrNoConnection means that no connection has the ID, or that it has closed.
var ErrNoConnection = errors.New("admin: no such connection")

// Connections are the clients of the node: of streams, and of the proxy.
type Connections interface {
	// Connections returns those that a query matches.
	Connections(q ConnectionQuery) ConnectionList
	// CloseConnection closes one at once. The error is ErrNoConnection.
	CloseConnection(id string) error
}

// ConnectionQuery selects connections. An empty field matches all.
type ConnectionQuery struct {
	Protocol string // quic, tcp, mqtt, http1 ...
	Listener string // name or address
	Identity string // name of the identity, or of a client certificate
	Limit    int    // of the list
}

// ConnectionList is the response to GET /api/connections.
type ConnectionList struct {
	Open        int          `json:"open"`    // connections of the node
	Matched     int          `json:"matched"` // of these, those that the query matches
	Connections []Connection `json:"connections"`
}

// Connection is one client's connection.
type Connection struct {
	ID            string     `json:"id"`
	Protocol      string     `json:"protocol"`
	Listener      string     `json:"listener"`
	Address       string     `json:"address"`                 // of the client
	Identity      string     `json:"identity,omitempty"`      // empty if there is none
	Client        string     `json:"client,omitempty"`        // the name that it gave itself
	Since         *time.Time `json:"since,omitempty"`         // of a client of streams
	Subscriptions int        `json:"subscriptions,omitempty"` // of a client of streams
	Publishes     int        `json:"publishes,omitempty"`     // number of tags that a client of streams publishes on
	Idle          bool       `json:"idle,omitempty"`          // without a request; of a client of the proxy
}

// The bounds of a list.
const (
	defaultConnections = 100
	mostConnections    = 10_000
)

// connectionRoutes adds what lists and closes connections. Both hold each event loop for as long as they look at its connections: one at a
// time, so that a loop serves its clients between two of them.
func connectionRoutes(mux *http.ServeMux, cfg Config) {
	var looking sync.Mutex
	look := func(f func()) {
		looking.Lock()
		defer looking.Unlock()
		f()
	}
	mux.HandleFunc("GET /api/connections", func(w http.ResponseWriter, r *http.Request) {
		values := r.URL.Query()
		q := ConnectionQuery{Protocol: values.Get("protocol"), Listener: values.Get("listener"), Identity: values.Get("identity"), Limit: defaultConnections}
		if text := values.Get("limit"); text != "" {
			var err error
			if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > mostConnections {
				writeText(w, http.StatusBadRequest, "limit: want 1 to "+strconv.Itoa(mostConnections))
				return
			}
		}
		var list ConnectionList
		look(func() { list = cfg.Connections.Connections(q) })
		if list.Connections == nil {
			list.Connections = []Connection{}
		}
		writeJSON(w, list)
	})
	mux.Handle("POST /api/connections/{id}/close", requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		look(func() { err = cfg.Connections.CloseConnection(r.PathValue("id")) })
		switch {
		case errors.Is(err, ErrNoConnection):
			writeText(w, http.StatusNotFound, "no connection "+printable(r.PathValue("id"))+": it may have closed; GET /api/connections lists them")
		case err != nil:
			writeText(w, http.StatusInternalServerError, err.Error())
		default:
			writeJSON(w, struct {
				Closed string `json:"closed"`
			}{r.PathValue("id")})
		}
	})))
}
