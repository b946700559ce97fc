package mqttmessage_test

import (
	"bytes"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

func TestEntry(t *testing.T) {
	properties := mqtt.AppendUser(mqtt.AppendText(nil, mqtt.ContentType, "text/plain"), "a", "b")
	for _, e := range []mqttmessage.Entry{
		{Known: true},
		{Known: true, QoS: 2, Retain: true},
		{Known: true, QoS: 1, Publisher: 1 << 63},
		{Known: true, Publisher: 5, Properties: properties},
	} {
		extension := mqttmessage.AppendEntry(native.AppendTLV(nil, native.TLVKey, "key"), e)
		if err := native.CheckTLVs(extension); err != nil {
			t.Error(err)
		}
		got := mqttmessage.EntryOf(append(extension, 0, 0, 0)) // padding
		if got.Known != e.Known || got.QoS != e.QoS || got.Retain != e.Retain || got.Publisher != e.Publisher || !bytes.Equal(got.Properties, e.Properties) {
			t.Errorf("got %+v, want %+v", got, e)
		}
	}
	if e := mqttmessage.EntryOf(native.AppendTLV(nil, native.TLVKey, "key")); e.Known {
		t.Errorf("a message without an entry has %+v", e)
	}
}

func TestKept(t *testing.T) {
	ps := mqtt.AppendText(nil, mqtt.ContentType, "text/plain")
	ps = mqtt.AppendUint(ps, mqtt.TopicAlias, 3)
	ps = mqtt.AppendUint(ps, mqtt.MessageExpiryInterval, 9)
	ps = mqtt.AppendUser(ps, "a", "b")
	want := mqtt.AppendUser(mqtt.AppendUint(mqtt.AppendText(nil, mqtt.ContentType, "text/plain"), mqtt.MessageExpiryInterval, 9), "a", "b")
	if got := mqttmessage.Kept(nil, ps); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestTypeOf(t *testing.T) {
	for _, row := range []struct {
		contentType, payload string
		want                 ferry.Type
		guessed              bool
	}{
		{"", "", ferry.Raw, false},
		{"", ` {"a":1} `, ferry.JSON, true},
		{"", `[1]`, ferry.JSON, true},
		{"", `[12:00] started`, ferry.Raw, true},
		{"", `23.5`, ferry.Raw, true},
		{"application/cbor", `{}`, ferry.CBOR, false},
		{"application/json; charset=utf-8", `1`, ferry.JSON, false},
		{"text/plain", `{}`, ferry.Raw, false},
		{"something/else", `{}`, ferry.JSON, true},
	} {
		if got, guessed := mqttmessage.TypeOf([]byte(row.contentType), []byte(row.payload)); got != row.want || guessed != row.guessed {
			t.Errorf("TypeOf(%q, %q): got %v, %v, want %v, %v", row.contentType, row.payload, got, guessed, row.want, row.guessed)
		}
	}
}

// FuzzEntryOf: what any client writes into an extension is read without a panic, and what is read can be written.
func FuzzEntryOf(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{byte(native.TLVMQTT), 0, 1, 0x0e})
	f.Add(mqttmessage.AppendEntry(nil, mqttmessage.Entry{Known: true, QoS: 2, Retain: true, Publisher: 7, Properties: mqtt.AppendUser(nil, "a", "b")}))
	f.Fuzz(func(t *testing.T, extension []byte) {
		e := mqttmessage.EntryOf(extension)
		if !e.Known {
			return
		}
		if err := mqtt.CheckProperties(mqtt.Publish, e.Properties); err != nil {
			t.Fatalf("properties %x: %v", e.Properties, err)
		}
		if len(e.Properties) > mqttmessage.MaxProperties {
			return
		}
		again := mqttmessage.EntryOf(mqttmessage.AppendEntry(nil, e))
		if again.QoS != e.QoS || again.Retain != e.Retain || again.Publisher != e.Publisher || !bytes.Equal(again.Properties, e.Properties) {
			t.Errorf("got %+v, want %+v", again, e)
		}
	})
}
