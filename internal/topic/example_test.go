package topic_test

import (
	"fmt"

	"example.com/ferry/internal/topic"
)

func ExampleMatch() {
	for _, filter := range []string{"sensors/pump-1/temp", "sensors/+/temp", "sensors/#", "sensors/+", "#"} {
		fmt.Println(filter, topic.Match(filter, "sensors/pump-1/temp"))
	}
	// Output:
	// sensors/pump-1/temp true
	// sensors/+/temp true
	// sensors/# true
	// sensors/+ false
	// # true
}

// A grant covers a subscription if it matches every tag that the subscription matches.
func ExampleCovers() {
	fmt.Println(topic.Covers("sensors/#", "sensors/+/temp"))
	fmt.Println(topic.Covers("sensors/+/temp", "sensors/#"))
	// Output:
	// true
	// false
}

func ExampleCheckFilter() {
	fmt.Println(topic.CheckFilter("sensors/+/temp"))
	fmt.Println(topic.CheckFilter("sensors/#/temp"))
	// Output:
	// <nil>
	// filter "sensors/#/temp" goes on behind #: it must be the last level
}
