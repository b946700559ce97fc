package edgex_test

import (
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/codec"
	cborcodec "example.com/ferry/codec/cbor"
	jsoncodec "example.com/ferry/codec/json"
	"example.com/ferry/edgex"
)

// optimized returns an event for a test of Optimized. All readings except the first have another origin than the event.
func optimized(t *testing.T, readings int) edgex.Event {
	e := edgex.Event{APIVersion: "v3", ID: oldID, DeviceName: "Dev", ProfileName: "Prof", SourceName: "Src", Origin: 7, Tags: map[string]any{"a": "b"}}
	for i := range readings {
		name := "Src"
		if i > 0 {
			name = "Other"
		}
		check(t, e.AddSimple(name, edgex.Uint8, uint8(255)))
		e.Readings[i].Origin = 7 + int64(i)
	}
	return e
}

func TestOptimized(t *testing.T) {
	head := `{"apiVersion":"v3","id":"` + oldID + `","deviceName":"Dev","profileName":"Prof","sourceName":"Src","origin":7,"readings":[`
	for readings, want := range []string{
		1: `{"valueType":"Uint8","value":"255"}`,
		2: `{"resourceName":"Src","valueType":"Uint8","value":"255"},{"origin":8,"resourceName":"Other","valueType":"Uint8","value":"255"}`,
	} {
		if want == "" {
			continue
		}
		e := optimized(t, readings)
		got, err := jsoncodec.Codec{}.Marshal(e.Optimized())
		if err != nil || string(got) != head+want+`],"tags":{"a":"b"}}` {
			t.Errorf("%d readings: %s, %v\nwant %s", readings, got, err, head+want)
		}
		if e.Readings[0].DeviceName != "Dev" {
			t.Error("Optimized changed the event it was called on")
		}
		for _, c := range []codec.Codec{cborcodec.Codec{}, jsoncodec.Codec{}} {
			data, err := c.Marshal(e.Optimized())
			check(t, err)
			var back edgex.Event
			check(t, edgex.Unmarshal(c, data, &back, 0))
			for i := range back.Readings {
				back.Readings[i].ID = e.Readings[i].ID
			}
			if !reflect.DeepEqual(back, e) {
				t.Errorf("%s: restored %+v\nwant %+v", c.Name(), back, e)
			}
		}
	}
}

// TestOptimizedView changes encoded events in the optimised form.
func TestOptimizedView(t *testing.T) {
	for readings := 1; readings <= 2; readings++ {
		e := optimized(t, readings)
		inCBOR, err := cborcodec.Codec{}.Marshal(e.Optimized())
		check(t, err)
		inJSON, err := jsoncodec.Codec{}.Marshal(e.Optimized())
		check(t, err)
		for _, f := range forms {
			v := valid(t, f.wrap(t, inCBOR, inJSON))
			var names []string
			_, err := v.KeepReadings(func(name []byte) bool { names = append(names, string(name)); return true })
			if got := strings.Join(names, " "); err != nil || got != []string{1: "Src", 2: "Src Other"}[readings] {
				t.Errorf("%v: resources %q, %v", f.form, got, err)
			}
			check(t, v.SetSourceName("New"))
			check(t, v.SetDeviceName("pump-1"))
			changed, err := v.AppendTo(nil)
			check(t, err)
			valid(t, changed)
			got, _ := decode(t, f.form, changed)
			if got.SourceName != "New" || got.Readings[0].ResourceName != "Src" || got.Readings[0].DeviceName != "pump-1" {
				t.Errorf("%v: after another source name: %+v", f.form, got)
			}
		}
	}
}
