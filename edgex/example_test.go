package edgex_test

import (
	"fmt"

	cborcodec "example.com/ferry/codec/cbor"
	jsoncodec "example.com/ferry/codec/json"
	"example.com/ferry/edgex"
	"example.com/ferry/format/cbor"
)

func Example() {
	e := edgex.NewEvent("Pump", "pump-1", "pressure")
	if err := e.AddSimple("pressure", edgex.Float64, 1.5); err != nil {
		fmt.Println(err)
		return
	}
	data, err := cborcodec.Codec{}.Marshal(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	var got edgex.Event
	err = edgex.Unmarshal(cborcodec.Codec{}, data, &got, edgex.MaxEvent)
	fmt.Println(got.DeviceName, got.Readings[0].Value, err)
	// Output: pump-1 1.5e+00 <nil>
}

func ExampleSetID() {
	e := edgex.NewEvent("Camera", "gate", "frame")
	e.AddBinary("frame", make([]byte, 1<<20), "image/png")
	data, err := cborcodec.Codec{}.Marshal(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	// SetID does not read the megabyte after the ID, because a UUID replaces a UUID.
	data, err = edgex.SetID(cbor.Format{}, data, "00000000-0000-4000-8000-00000000000f")
	fmt.Printf("%s %v\n", data[20:56], err)
	// Output: 00000000-0000-4000-8000-00000000000f <nil>
}

func ExampleView() {
	data := []byte(`{"apiVersion":"v3","correlationID":"c-1","payload":{"id":"1","deviceName":"pump-1","readings":` +
		`[{"deviceName":"pump-1","resourceName":"pressure","value":"1.5e+00"}]},"contentType":"application/json"}`)
	var v edgex.View
	if err := v.Open(data, edgex.MaxEvent); err != nil {
		fmt.Println(err)
		return
	}
	device, err := v.DeviceName()
	fmt.Printf("%v: %s %v\n", v.Form(), device, err)
	if err := v.SetDeviceName("pump-22"); err != nil {
		fmt.Println(err)
		return
	}
	changed, err := v.AppendTo(nil)
	fmt.Printf("%s %v\n", changed[51:], err)
	// Output:
	// JSON envelope: pump-1 <nil>
	// {"id":"1","deviceName":"pump-22","readings":[{"deviceName":"pump-22","resourceName":"pressure","value":"1.5e+00"}]},"contentType":"application/json"} <nil>
}

// The payload is base64 of CBOR, as in EdgeX's messages with binary readings. If a UUID replaces a UUID, only the characters
// of the UUID change.
func ExampleView_InPlace() {
	data := []byte(`{"payload":"oWJpZHgkZDU0NzFkNTktMjgxMC00MTlhLTg3NDQtMThlYjhmYWQzNDY1","contentType":"application/cbor"}`)
	var v edgex.View
	err := v.Open(data, edgex.MaxEvent)
	if err == nil {
		err = v.SetID("d5471d59-2810-419a-8744-18eb8fad0000")
	}
	done := false
	if err == nil {
		done, err = v.InPlace()
	}
	fmt.Printf("%s %v %v\n", data, done, err)
	// Output: {"payload":"oWJpZHgkZDU0NzFkNTktMjgxMC00MTlhLTg3NDQtMThlYjhmYWQwMDAw","contentType":"application/cbor"} true <nil>
}

func ExampleView_Validate() {
	var v edgex.View
	err := v.Open([]byte(`{"id":"1","ID":"2"}`), edgex.MaxEvent)
	if err == nil {
		err = v.Validate()
	}
	fmt.Println(err)
	// Output: edgex: event in JSON: json: name "ID" stands twice in one object at offset 10
}

func ExampleView_Convert() {
	var v edgex.View
	err := v.Open([]byte(`{"payload":"oWJpZGFh","contentType":"application/cbor"}`), edgex.MaxEvent)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := v.Convert(nil, edgex.JSONEnvelope)
	fmt.Printf("%s %v\n", out, err)
	// Output: {"payload":{"id":"a"},"contentType":"application/json"} <nil>
}

func ExampleEvent_Optimized() {
	e := edgex.Event{ID: "1", DeviceName: "pump-1", ProfileName: "Pump", SourceName: "pressure", Origin: 7}
	if err := e.AddSimple("pressure", edgex.Float64, 1.5); err != nil {
		fmt.Println(err)
		return
	}
	e.Readings[0].Origin = e.Origin
	data, err := jsoncodec.Codec{}.Marshal(e.Optimized())
	fmt.Printf("%s %v\n", data, err)
	// Output: {"apiVersion":"","id":"1","deviceName":"pump-1","profileName":"Pump","sourceName":"pressure","origin":7,"readings":[{"valueType":"Float64","value":"1.5e+00"}]} <nil>
}
