package edgex_test

import (
	"fmt"

	cborcodec "example.com/ferry/codec/cbor"
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
	// A UUID for a UUID: the megabyte behind it is not touched.
	data, err = edgex.SetID(cbor.Format{}, data, "00000000-0000-4000-8000-00000000000f")
	fmt.Printf("%s %v\n", data[20:56], err)
	// Output: 00000000-0000-4000-8000-00000000000f <nil>
}
