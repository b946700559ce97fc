package spool_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/ferry"
	"example.com/ferry/link/spool"
)

// A message stays in the directory until Advance, whatever happens to the process.
func Example() {
	dir, err := os.MkdirTemp("", "spool")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	first, err := spool.Open(spool.Config{Dir: dir, MaxBytes: 64 << 20})
	if err != nil {
		log.Print(err)
		return
	}
	for _, order := range []string{"one pump", "two valves"} {
		if _, err := first.Append(ctx, &ferry.Message{Tag: "orders/7", Payload: []byte(order)}); err != nil {
			log.Print(err)
			return
		}
	}
	_ = first.Close()

	second, err := spool.Open(spool.Config{Dir: dir}) // in another process
	if err != nil {
		log.Print(err)
		return
	}
	defer second.Close()
	records, err := second.Read(ctx, 1<<20)
	if err != nil {
		log.Print(err)
		return
	}
	for _, r := range records {
		fmt.Printf("%d: %s: %s\n", r.Index, r.Message.Tag, r.Message.Payload)
	}
	if err := second.Advance(records[0].Index); err != nil {
		log.Print(err)
		return
	}
	fmt.Println("left:", second.Stats().Messages)
	// Output:
	// 1: orders/7: one pump
	// 2: orders/7: two valves
	// left: 1
}
