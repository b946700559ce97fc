package live_test

import (
	"context"
	"fmt"

	"example.com/ferry"
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

func ExampleFunctions() {
	for _, f := range live.Functions() {
		fmt.Printf("%s %v %q\n", f.Name, f.Observe, f.Where)
	}
	// Output:
	// averages [sensors/#] ""
	// alerts [averages/#] "sourceName == \"cpu\" && readings.0.value > 80 || sourceName == \"memory\" && readings.0.value > 90"
}
