package pipeline_test

import (
	"fmt"

	"example.com/ferry/edgex"
	"example.com/ferry/edgex/pipeline"
)

func Example() {
	keep, err := pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump-"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := pipeline.New(nil, keep, pipeline.AddTags(edgex.Tag{Name: "site", Value: "dock"}))
	for _, data := range []string{
		`{"id":"1","deviceName":"pump-1","readings":[]}`,
		`{"id":"2","deviceName":"fan-1","readings":[]}`,
	} {
		out, ok, err := p.Run([]byte(data))
		fmt.Printf("%s %v %v\n", out, ok, err)
	}
	// Output:
	// {"id":"1","deviceName":"pump-1","readings":[],"tags":{"site":"dock"}} true <nil>
	//  false <nil>
}

func ExampleFilterByResourceName() {
	keep, err := pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"^noise$"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, _, err := pipeline.New(nil, keep).Run([]byte(
		`{"id":"1","readings":[{"resourceName":"noise","value":"30"},{"resourceName":"heat","value":"21"}]}`))
	fmt.Printf("%s %v\n", out, err)
	// Output: {"id":"1","readings":[{"resourceName":"noise","value":"30"}]} <nil>
}

func ExampleBatch() {
	batch, err := pipeline.Batch(pipeline.BatchConfig{Count: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := pipeline.New(nil, batch)
	for _, data := range []string{`{"id":"1"}`, `{"id":"2"}`, `{"id":"3"}`} {
		if out, ok, err := p.Run([]byte(data)); ok || err != nil {
			fmt.Printf("%s %v\n", out, err)
		}
	}
	out, _, err := p.Flush()
	fmt.Printf("%s %v\n", out, err)
	// Output:
	// [{"id":"1"},{"id":"2"}] <nil>
	// [{"id":"3"}] <nil>
}

func ExampleTransform() {
	out, _, err := pipeline.New(nil, pipeline.Transform(edgex.JSON)).Run([]byte("\xa1\x62id\x61a"))
	fmt.Printf("%s %v\n", out, err)
	// Output: {"id":"a"} <nil>
}
