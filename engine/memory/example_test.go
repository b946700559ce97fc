package memory_test

import (
	"context"
	"fmt"

	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
)

// A stream keeps the last value of each tag, and a cursor reads them.
func Example() {
	ctx := context.Background()
	e := memory.New()
	defer e.Close(ctx)
	s, err := e.Open(ctx, engine.Config{Name: "rooms", Tags: []string{"rooms/#"}, InMemory: true, MaxPerTag: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	stored := make(chan error)
	s.Append([]engine.Record{
		{Tag: "rooms/1/temperature", Payload: []byte("21")},
		{Tag: "rooms/2/temperature", Payload: []byte("18")},
		{Tag: "rooms/1/temperature", Payload: []byte("22")},
	}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		fmt.Println(err)
		return
	}
	c, err := s.Cursor(ctx, engine.CursorConfig{Filter: "rooms/+/temperature", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		fmt.Println(err)
		return
	}
	records, err := c.Next(ctx, 100, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range records {
		fmt.Printf("%d %s %s\n", r.Sequence, r.Tag, r.Payload)
	}
	// Output:
	// 2 rooms/2/temperature 18
	// 3 rooms/1/temperature 22
}
