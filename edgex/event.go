package edgex

import (
	"crypto/rand"
	"fmt"
	"time"
)

// APIVersion is the API version of EdgeX v3 and v4.
const APIVersion = "v3"

// Event is one set of readings that a device returned for one command.
type Event struct {
	APIVersion  string
	ID          string // UUID of the event
	DeviceName  string
	ProfileName string
	SourceName  string
	Origin      int64 // Unix time in nanoseconds
	Readings    []Reading
	Tags        map[string]any

	// Extensions are keys that EdgeX does not define. They are top-level members of the message, after the keys of EdgeX.
	Extensions map[string]any
}

// NewEvent returns an event with a new ID, the current time and no readings.
func NewEvent(profile, device, source string) Event {
	return Event{
		APIVersion:  APIVersion,
		ID:          newUUID(),
		DeviceName:  device,
		ProfileName: profile,
		SourceName:  source,
		Origin:      time.Now().UnixNano(),
	}
}

// AddSimple adds a reading of a simple type or of an array of a simple type. FormatValue describes the accepted values.
func (e *Event) AddSimple(resource, valueType string, value any) error {
	text, err := FormatValue(valueType, value)
	if err != nil {
		return err
	}
	r := e.newReading(resource, valueType)
	r.Value = text
	e.Readings = append(e.Readings, r)
	return nil
}

// AddBinary adds a reading with bytes as its value. It does not copy value.
func (e *Event) AddBinary(resource string, value []byte, mediaType string) {
	r := e.newReading(resource, Binary)
	r.BinaryValue, r.MediaType = value, mediaType
	e.Readings = append(e.Readings, r)
}

// AddObject adds a reading with a structured value.
func (e *Event) AddObject(resource string, value any) {
	r := e.newReading(resource, Object)
	r.ObjectValue = value
	e.Readings = append(e.Readings, r)
}

// AddNull adds a reading without a value.
func (e *Event) AddNull(resource, valueType string) {
	r := e.newReading(resource, valueType)
	r.Null = true
	e.Readings = append(e.Readings, r)
}

func (e *Event) newReading(resource, valueType string) Reading {
	return Reading{
		ID:           newUUID(),
		Origin:       time.Now().UnixNano(),
		DeviceName:   e.DeviceName,
		ResourceName: resource,
		ProfileName:  e.ProfileName,
		ValueType:    valueType,
	}
}

// AddEventRequest is the message that device services publish.
type AddEventRequest struct {
	APIVersion string `json:"apiVersion"`
	RequestID  string `json:"requestId"` // UUID of the request
	Event      Event  `json:"event"`
}

// NewAddEventRequest wraps e in a request with a new ID.
func NewAddEventRequest(e Event) AddEventRequest {
	return AddEventRequest{APIVersion: APIVersion, RequestID: newUUID(), Event: e}
}

// MessageEnvelope wraps a message on EdgeX's MQTT message bus.
type MessageEnvelope struct {
	APIVersion    string            `json:"apiVersion"`
	ReceivedTopic string            `json:"receivedTopic"`
	CorrelationID string            `json:"correlationID"`
	RequestID     string            `json:"requestID"`
	ErrorCode     int               `json:"errorCode"` // 1 means that Payload is the text of an error
	Payload       any               `json:"payload"`
	ContentType   string            `json:"contentType"` // media type of Payload
	QueryParams   map[string]string `json:"queryParams,omitempty"`
}

// newUUID returns a random UUID, RFC 9562, section 5.4.
func newUUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
