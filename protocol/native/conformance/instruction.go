package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Instruction is one line on a driver's standard input: what its client shall do now. docs/conformance.md lists the verbs. Fields that
// are left out have the zero value.
type Instruction struct {
	ID int    `json:"id"` // the response repeats it
	Do string `json:"do"` // verb

	// connect
	Addr      string `json:"addr,omitempty"` // with scheme, such as tcp://127.0.0.1:4711
	Token     string `json:"token,omitempty"`
	Name      string `json:"name,omitempty"`
	Reconnect bool   `json:"reconnect,omitempty"` // the case needs a client that dials a lost connection again

	// publish
	Tag       string   `json:"tag,omitempty"`
	Payload   HexBytes `json:"payload,omitempty"`
	Repeat    int      `json:"repeat,omitempty"` // the payload is this many copies of Payload; 0 means 1
	Count     int      `json:"count,omitempty"`  // how many messages, and of a call how often its list of requests; 0 means 1
	Type      string   `json:"type,omitempty"`   // name of the payload's type; "" means raw
	Time      int64    `json:"time,omitempty"`   // Unix nanoseconds; 0 means now
	Key       string   `json:"key,omitempty"`
	MessageID string   `json:"message_id,omitempty"` // idempotency key
	To        uint32   `json:"to,omitempty"`         // source id of the addressee
	Stored    bool     `json:"stored,omitempty"`     // respond when the node has stored the message

	// subscribe, release and unsubscribe
	Sub       int      `json:"sub,omitempty"` // names the subscription in instructions and events
	Filter    string   `json:"filter,omitempty"`
	Where     string   `json:"where,omitempty"`
	Group     string   `json:"group,omitempty"`
	Addressed bool     `json:"addressed,omitempty"`
	Policy    string   `json:"policy,omitempty"` // "" means block
	Window    uint32   `json:"window,omitempty"` // bytes
	Queue     uint32   `json:"queue,omitempty"`  // bytes
	Durable   string   `json:"durable,omitempty"`
	From      string   `json:"from,omitempty"`     // new, first, sequence or time
	Value     uint64   `json:"value,omitempty"`    // of From
	Outcomes  []string `json:"outcomes,omitempty"` // of the handler, one for each message: ok, fail, fail:MS, reject, hold
	Publish   string   `json:"publish,omitempty"`  // tag on which the handler publishes the payload of each message; "" means none

	// call, cancel, serve and withdraw
	Call     int               `json:"call,omitempty"` // names the call in instructions and events
	Method   string            `json:"method,omitempty"`
	Payloads []HexBytes        `json:"payloads,omitempty"` // requests
	Stream   bool              `json:"stream,omitempty"`
	Open     bool              `json:"open,omitempty"`    // requests do not end
	Content  string            `json:"content,omitempty"` // content type; "" means application/json
	Timeout  int               `json:"timeout,omitempty"` // milliseconds
	Metadata map[string]string `json:"metadata,omitempty"`
	Service  string            `json:"service,omitempty"`
}

// Report is one line on a driver's standard output: the response to an instruction, or an event.
type Report struct {
	ID          int    `json:"id,omitempty"`    // of the instruction; 0 in an event
	Error       string `json:"error,omitempty"` // why the client could not do it
	Code        *int   `json:"code,omitempty"`  // of GOAWAY, RESULT or NOTICE, or of REPLY in the event result, if the library tells it
	Unsupported bool   `json:"unsupported,omitempty"`

	Event string `json:"event,omitempty"` // message, ended, response or result

	// Of message and ended.
	Sub        int      `json:"sub,omitempty"`
	Tag        string   `json:"tag,omitempty"`
	Type       string   `json:"type,omitempty"`
	Payload    HexBytes `json:"payload,omitempty"` // of response, too
	Time       int64    `json:"time,omitempty"`
	Source     uint32   `json:"source,omitempty"`
	Sequence   uint64   `json:"sequence,omitempty"`
	Deliveries uint32   `json:"deliveries,omitempty"`
	Key        string   `json:"key,omitempty"`
	MessageID  string   `json:"message_id,omitempty"`

	// Of response and result.
	Call    int               `json:"call,omitempty"`
	Message string            `json:"message,omitempty"` // text of the status
	Trailer map[string]string `json:"trailer,omitempty"`
}

// HexBytes are bytes that JSON has as hex digits.
type HexBytes []byte

// MarshalText returns the digits.
func (b HexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

// UnmarshalText reads the digits.
func (b *HexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.AppendDecode(nil, text)
	return err
}

// String describes the instruction in a verdict.
func (i *Instruction) String() string {
	text, err := json.Marshal(i)
	if err != nil {
		return i.Do
	}
	return short(string(text))
}

// String describes the report in a verdict.
func (p *Report) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Sprintf("a report that JSON cannot express: %v", err)
	}
	return short(string(text))
}

// maxShown is the longest text of one frame or line in a verdict, in bytes.
const maxShown = 400

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:maxShown], len(s))
}
