package bufpool_test

import (
	"fmt"

	"example.com/ferry/internal/bufpool"
)

// The second holder retains the buffer. The last Release returns the buffer to the pool.
func ExampleGet() {
	b := bufpool.Get(5)
	b.B = append(b.B, "hello"...)
	b.Retain()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.Release()
		fmt.Println(string(b.B), cap(b.B))
	}()
	b.Release()
	<-done
	// Output: hello 512
}
