package mqttmessage

import (
	"bytes"

	"example.com/ferry"
	"example.com/ferry/internal/mediatype"
)

// TypeOf returns the type of a payload. contentType is that of MQTT 5, or empty. guessed says that nothing declares the type: a payload
// that looks like a JSON object or array is JSON, all else is raw.
func TypeOf(contentType, payload []byte) (t ferry.Type, guessed bool) {
	if len(payload) == 0 {
		return ferry.Raw, false
	}
	if len(contentType) > 0 {
		if t, known := mediatype.Type(string(contentType)); known {
			return t, false
		}
	}
	p := bytes.TrimSpace(payload)
	if n := len(p); n >= 2 && (p[0] == '{' && p[n-1] == '}' || p[0] == '[' && p[n-1] == ']') {
		return ferry.JSON, true
	}
	return ferry.Raw, true
}
