package events

// Event is a struct for decoding an EdgeX event. The struct tags are the field names on the wire.
type Event struct {
	APIVersion  string         `json:"apiVersion"`
	ID          string         `json:"id"`
	DeviceName  string         `json:"deviceName"`
	ProfileName string         `json:"profileName"`
	SourceName  string         `json:"sourceName"`
	Origin      int64          `json:"origin"`
	Readings    []Reading      `json:"readings"`
	Tags        map[string]any `json:"tags,omitempty"`
}

// Reading is an EdgeX reading of a number, a text or bytes.
type Reading struct {
	ID           string         `json:"id,omitempty"`
	Origin       int64          `json:"origin,omitempty"`
	DeviceName   string         `json:"deviceName,omitempty"`
	ResourceName string         `json:"resourceName,omitempty"`
	ProfileName  string         `json:"profileName,omitempty"`
	ValueType    string         `json:"valueType"`
	Units        string         `json:"units,omitempty"`
	Tags         map[string]any `json:"tags,omitempty"`
	Value        string         `json:"value,omitempty"`
	BinaryValue  []byte         `json:"binaryValue,omitempty"`
	MediaType    string         `json:"mediaType,omitempty"`
}

// AddEventRequest is the request that wraps an event on the bus.
type AddEventRequest struct {
	APIVersion string `json:"apiVersion"`
	RequestID  string `json:"requestId"`
	Event      Event  `json:"event"`
}

// Envelope is the envelope that wraps a request on the bus. P is the type of the envelope's payload.
type Envelope[P any] struct {
	APIVersion    string            `json:"apiVersion"`
	ReceivedTopic string            `json:"receivedTopic"`
	CorrelationID string            `json:"correlationID"`
	RequestID     string            `json:"requestID"`
	ErrorCode     int               `json:"errorCode"`
	Payload       P                 `json:"payload"`
	ContentType   string            `json:"contentType"`
	QueryParams   map[string]string `json:"queryParams,omitempty"`
}
