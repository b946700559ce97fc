package live_test

import (
	"context"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/node/live"
)

// printer is a ferry.Sender that prints tags.
type printer struct{}

func (printer) Send(_ context.Context, m ferry.Message) error {
	fmt.Println(m.Tag)
	return nil
}

func ExampleAverages() {
	averages := new(live.Averages)
	err := averages.Handle(context.Background(), &ferry.Message{
		Tag: "sensors/pump-1/pressure", Type: ferry.JSON,
		Payload: []byte(`{"deviceName":"pump-1","sourceName":"pressure","readings":[{"resourceName":"bar","value":"1.5"}]}`),
	}, printer{})
	fmt.Println(err)
	// Output:
	// averages/pump-1/pressure
	// <nil>
}

func ExampleChecksum() {
	checksum := live.Checksum{Formats: []format.Format{json.Format{}}}
	err := checksum.Handle(context.Background(), &ferry.Message{
		Tag: "checksum/demo", Type: ferry.JSON, Payload: []byte(`{"bytes":1000000}`),
	}, printer{})
	fmt.Println(err)
	// Output:
	// checksums/demo
	// <nil>
}
