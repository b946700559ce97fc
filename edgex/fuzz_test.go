package edgex_test

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/edgex"
)

func seed(f *testing.F) {
	for _, v := range vectors(f) {
		for _, form := range forms {
			f.Add(form.wrap(f, v.cbor(f), []byte(v.JSON)))
		}
	}
}

// FuzzOpen calls all methods of a View on any bytes. No method may panic. A change must keep a valid message valid.
func FuzzOpen(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var v edgex.View
		if v.Open(data, 0) != nil {
			return
		}
		good := v.Validate() == nil
		_, _ = v.DeviceName()
		_, _ = v.SourceName()
		_, _ = v.ProfileName()
		_, _ = v.Origin()
		_, _ = v.CorrelationID()
		_, _ = v.ContentType()
		if _, err := v.AppendEvent(nil); good && err != nil {
			t.Fatalf("the event of a valid message cannot be read: %v", err)
		}
		if err := v.SetDeviceName("pump"); good && err == nil {
			again := apply(t, &v)
			if name, err := again.DeviceName(); err != nil || string(name) != "pump" {
				t.Fatalf("device = %q, %v", name, err)
			}
		}
		check(t, v.Open(data, 0))
		if _, err := v.KeepReadings(func(name []byte) bool { return len(name)%2 == 0 }); good && err == nil {
			apply(t, &v)
		}
		check(t, v.Open(data, 0))
		if err := v.SetTags(edgex.Tag{Name: "site", Value: "dock"}); good && err == nil {
			apply(t, &v)
		}
	})
}

// apply applies the changes and validates the result.
func apply(t *testing.T, v *edgex.View) *edgex.View {
	t.Helper()
	changed, err := v.AppendTo(nil)
	check(t, err)
	return valid(t, changed)
}

// FuzzSetID changes the ID in any bytes that have a readable ID, and then restores the ID.
func FuzzSetID(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var v edgex.View
		if v.Open(data, 0) != nil {
			return
		}
		id, err := v.ID()
		old := string(id)
		if err != nil || v.Validate() != nil {
			return
		}
		for _, id := range []string{old + "x", "xy" + old, "", old} {
			check(t, v.SetID(id))
			changed, err := v.AppendTo(nil)
			check(t, err)
			parts, err := v.Buffers(nil)
			check(t, err)
			if !bytes.Equal(bytes.Join(parts, nil), changed) {
				t.Fatal("Buffers and AppendTo differ")
			}
			check(t, v.Open(changed, 0))
			check(t, v.Validate())
			if got, err := v.ID(); err != nil || string(got) != id {
				t.Fatalf("id = %q, %v, want %q", got, err, id)
			}
		}
	})
}

// FuzzValidate checks that the libraries can decode every message that Validate accepts.
func FuzzValidate(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var v edgex.View
		if v.Open(data, 0) != nil || v.Validate() != nil {
			return
		}
		switch v.Form() {
		case edgex.JSON, edgex.JSONEnvelope:
			if !stdjson.Valid(data) {
				t.Fatal("no JSON")
			}
		case edgex.CBOR, edgex.CBOREnvelope, edgex.CBORBytes:
			check(t, fxcbor.Wellformed(data))
		case edgex.Base64CBOR, edgex.Base64JSON:
			var envelope struct {
				Payload string `json:"payload"`
			}
			check(t, stdjson.Unmarshal(data, &envelope))
			payload, err := base64.StdEncoding.Strict().DecodeString(envelope.Payload)
			check(t, err)
			if v.Form() == edgex.Base64CBOR {
				check(t, fxcbor.Wellformed(payload))
			} else if !stdjson.Valid(payload) {
				t.Fatal("no JSON in base64")
			}
		}
	})
}
