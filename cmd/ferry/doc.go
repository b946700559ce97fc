// Command ferry is the data plane for edge engineers: it runs a node, publishes messages to it and prints its messages. It
// also reads and changes single fields of encoded messages.
//
// Package cli is the command line. It takes the formats, transports and functions as arguments: a program with its own is as
// short as this one.
//
//	ferry run
//	ferry sub --count 1 -o raw 'sensors/#' | ferry get readings.0.value
package main

// Files: main.go passes formats, transports and functions to cli/, the command line: a file a verb; systemd.go reports to a
// supervisor what node/phase.go says. top/ is the view of ferry top: sample.go reads the admin server, tabs.go makes rows of
// it, model.go handles keys.
