package config_test

import (
	"fmt"

	"example.com/ferry/node/config"
)

func Example() {
	_, err := config.Parse("node.yaml", []byte(`listeners:
  - address: quic://127.0.0.1:4190
    validat: off
`), config.Program{})
	fmt.Println(err)
	// Output:
	// node.yaml:3:5: listeners[0].validat: unknown field: did you mean "validate"?
	//     3 |     validat: off
	//             ^
}

func ExampleDefault() {
	for _, l := range config.Default().Listeners {
		fmt.Println(l.Address, l.Validate)
	}
	// Output:
	// quic://127.0.0.1:4190 full
	// tcp://127.0.0.1:4190 full
}
