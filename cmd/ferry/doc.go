// Command ferry is the data plane for edge engineers: it runs a node, feeds it, watches it, and reads and changes single
// fields of encoded messages.
//
// The command line is package cli, which takes the formats, transports and functions. A program with others is as short as
// this one.
//
//	ferry run
//	ferry sub --count 1 -o raw 'sensors/#' | ferry get readings.0.value
package main
