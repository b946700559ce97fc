package admin

import (
	"net/http"
	"time"

	"example.com/ferry/link/mqttbridge"
)

// Bridge is the state of a bridge to another MQTT broker.
type Bridge struct {
	Name          string            `json:"name"`
	Connected     bool              `json:"connected"`
	Error         string            `json:"error,omitempty"` // why there is no connection
	Since         time.Time         `json:"since"`           // when the connection was made, or lost
	Connects      uint64            `json:"connects"`
	Sent          uint64            `json:"sent"`     // messages that the broker has confirmed
	Received      uint64            `json:"received"` // messages that were published on this node
	Refused       uint64            `json:"refused"`  // messages that the broker does not take
	Returned      uint64            `json:"returned"` // messages that were left out, as they had been on the other side before
	Dropped       map[string]uint64 `json:"dropped"`  // by reason
	Unconfirmed   int               `json:"unconfirmed"`
	Waiting       int               `json:"waiting"` // messages in memory
	MemoryBytes   int               `json:"memoryBytes"`
	Spooling      bool              `json:"spooling"`
	SpoolMessages uint64            `json:"spoolMessages"`
	SpoolBytes    int64             `json:"spoolBytes"`
	SpoolMax      int64             `json:"spoolMax"`
	SpoolError    string            `json:"spoolError,omitempty"`
}

// bridgeOf returns what is shown of a bridge.
func bridgeOf(s mqttbridge.Stats) Bridge {
	b := Bridge{
		Name: s.Name, Connected: s.Connected, Since: s.Since, Connects: s.Connects,
		Sent: s.Sent, Received: s.Received, Refused: s.Refused, Returned: s.Returned, Dropped: s.Dropped,
		Unconfirmed: s.Unconfirmed, Waiting: s.Waiting, MemoryBytes: s.WaitingBytes, Spooling: s.Spooling,
		SpoolMessages: s.Spool.Messages, SpoolBytes: s.Spool.Bytes, SpoolMax: s.Spool.MaxBytes,
	}
	if s.Err != nil {
		b.Error = s.Err.Error()
	}
	if s.SpoolErr != nil {
		b.SpoolError = s.SpoolErr.Error()
	}
	return b
}

// bridgesHandler serves GET /api/bridges.
func bridgesHandler(bridges func() []mqttbridge.Stats) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all := []Bridge{}
		for _, s := range bridges() {
			all = append(all, bridgeOf(s))
		}
		writeJSON(w, all)
	}
}
