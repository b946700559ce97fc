package admin

import (
	"net/http"
	"time"

	"example.com/ferry/link"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/mqttbridge"
)

// Outgoing is what links to other nodes and bridges to other MQTT brokers have in common.
type Outgoing struct {
	Name         string            `json:"name"`
	Connected    bool              `json:"connected"`
	Error        string            `json:"error,omitempty"` // why there is no connection
	Since        time.Time         `json:"since"`           // when the connection was made, or lost
	Connects     uint64            `json:"connects"`
	Refused      uint64            `json:"refused"`     // messages that the other side does not take
	Returned     uint64            `json:"returned"`    // messages that were left out, as they have been on the other side before
	Dropped      map[string]uint64 `json:"dropped"`     // by reason
	Unconfirmed  int               `json:"unconfirmed"` // messages
	Waiting      int               `json:"waiting"`     // messages in memory
	MemoryBytes  int               `json:"memoryBytes"`
	Spooling     bool              `json:"spooling"`
	SpoolRecords uint64            `json:"spoolRecords"`
	SpoolBytes   int64             `json:"spoolBytes"`
	SpoolMax     int64             `json:"spoolMax"`
	SpoolError   string            `json:"spoolError,omitempty"`
}

// Link is the state of a link to another node.
type Link struct {
	Outgoing
	Node      string `json:"node"`      // id of the other node; empty before the first connection
	Forwarded uint64 `json:"forwarded"` // messages that the other node has confirmed
	Tags      int    `json:"tags"`
}

// Bridge is the state of a bridge to another MQTT broker.
type Bridge struct {
	Outgoing
	Sent     uint64 `json:"sent"`     // messages that the broker has confirmed
	Received uint64 `json:"received"` // messages that were published on this node
}

func outgoingOf(s *link.Stats) Outgoing {
	o := Outgoing{
		Name: s.Name, Connected: s.Connected, Since: s.Since, Connects: s.Connects, Refused: s.Refused, Returned: s.Returned, Dropped: s.Dropped,
		Unconfirmed: s.Unconfirmed, Waiting: s.Waiting, MemoryBytes: s.WaitingBytes, Spooling: s.Spooling,
		SpoolRecords: s.Spool.Messages, SpoolBytes: s.Spool.Bytes, SpoolMax: s.Spool.MaxBytes,
	}
	if s.Err != nil {
		o.Error = s.Err.Error()
	}
	if s.SpoolErr != nil {
		o.SpoolError = s.SpoolErr.Error()
	}
	return o
}

// linksHandler serves GET /api/links.
func linksHandler(links func() []forward.Stats) http.HandlerFunc {
	return listHandler(links, func(s forward.Stats) Link { return Link{outgoingOf(&s.Stats), s.Node, s.Confirmed, s.Tags} })
}

// bridgesHandler serves GET /api/bridges.
func bridgesHandler(bridges func() []mqttbridge.Stats) http.HandlerFunc {
	return listHandler(bridges, func(s mqttbridge.Stats) Bridge { return Bridge{outgoingOf(&s.Stats), s.Confirmed, s.Received} })
}

// listHandler serves what is shown of each item of a list.
func listHandler[S, T any](list func() []S, show func(S) T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all := []T{}
		for _, s := range list() {
			all = append(all, show(s))
		}
		writeJSON(w, all)
	}
}
