//go:build !linux

// Mqtt_broker measures what a message by MQTT costs at a broker.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "mqtt_broker: skipped: it needs Linux") }
