// Command ferry is the data plane for edge engineers: it runs a node, feeds it, watches it, and reads and changes single
// fields of encoded messages.
//
// Each verb is one file of this package: a struct that kong fills from the command line, and its Run method. Everything
// is reachable through run, which takes the arguments and the three standard streams and returns the exit status.
//
//	ferry run
//	ferry sub --count 1 -o raw 'sensors/#' | ferry get readings.0.value
package main
