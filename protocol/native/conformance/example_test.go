package conformance_test

import (
	"context"
	"fmt"
	"net"
	"regexp"

	"example.com/ferry/protocol/native/conformance"
)

// A driver in this process is run against one case. `ferry conformance client` starts a program instead.
func ExampleClient() {
	results := conformance.Client(context.Background(), conformance.ClientConfig{
		Options: conformance.Options{Run: regexp.MustCompile("^credit/window$")},
		Start:   func(context.Context) (conformance.Driver, error) { return startFaulty(""), nil },
		Listen: func(context.Context) (conformance.Listener, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			return listener{l}, err
		},
	})
	for _, r := range results {
		fmt.Println(r)
	}
	// Output: pass  credit/window
}
