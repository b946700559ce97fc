// Command ferry is the data plane for edge engineers: it runs a node, publishes messages to it and prints its messages. It
// also reads and changes single fields of encoded messages.
//
// Package cli is the command line. It takes the formats, transports and functions as arguments: a program with its own is as
// short as this one.
//
//	ferry run
//	ferry sub --count 1 -o raw 'sensors/#' | ferry get readings.0.value
package main
