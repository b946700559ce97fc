package admin

import (
	"net/http"
	"time"

	"example.com/ferry/link/forward"
)

// Link is the state of a link to another node.
type Link struct {
	Name         string            `json:"name"`
	Node         string            `json:"node"` // id of the other node; empty before the first connection
	Connected    bool              `json:"connected"`
	Error        string            `json:"error,omitempty"` // why there is no connection
	Since        time.Time         `json:"since"`           // when the connection was made, or lost
	Connects     uint64            `json:"connects"`
	Forwarded    uint64            `json:"forwarded"` // messages that the other node has confirmed
	Refused      uint64            `json:"refused"`   // messages that it does not take
	Returned     uint64            `json:"returned"`  // messages that were left out, as they have come from there
	Dropped      map[string]uint64 `json:"dropped"`   // by reason
	Tags         int               `json:"tags"`
	Unconfirmed  int               `json:"unconfirmed"` // messages
	Waiting      int               `json:"waiting"`     // messages in memory
	MemoryBytes  int               `json:"memoryBytes"`
	Spooling     bool              `json:"spooling"`
	SpoolRecords uint64            `json:"spoolRecords"`
	SpoolBytes   int64             `json:"spoolBytes"`
	SpoolMax     int64             `json:"spoolMax"`
	SpoolError   string            `json:"spoolError,omitempty"`
}

// linkOf returns what is shown of a link.
func linkOf(s forward.Stats) Link {
	l := Link{
		Name: s.Name, Node: s.Node, Connected: s.Connected, Since: s.Since, Connects: s.Connects,
		Forwarded: s.Forwarded, Refused: s.Refused, Returned: s.Returned, Dropped: s.Dropped, Tags: s.Tags,
		Unconfirmed: s.Unconfirmed, Waiting: s.Waiting, MemoryBytes: s.WaitingBytes, Spooling: s.Spooling,
		SpoolRecords: s.Spool.Messages, SpoolBytes: s.Spool.Bytes, SpoolMax: s.Spool.MaxBytes,
	}
	if s.Err != nil {
		l.Error = s.Err.Error()
	}
	if s.SpoolErr != nil {
		l.SpoolError = s.SpoolErr.Error()
	}
	return l
}

// linksHandler serves GET /api/links.
func linksHandler(links func() []forward.Stats) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all := []Link{}
		for _, s := range links() {
			all = append(all, linkOf(s))
		}
		writeJSON(w, all)
	}
}
