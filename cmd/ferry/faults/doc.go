// Package faults has tests of the worst days of a node: it is killed, stopped for a while, has no descriptors, disk space or memory left,
// or its admin server is flooded.
//
// Nodes are processes of the test's own binary, which runs as the program ferry, under load of several kinds. Each fault has to be
// named in the log once, counted in a metric and shown in /ready; the rest of the node goes on; and all of it works again when the
// cause is gone. `make test` runs every test short, `make proof` long. docs/admin.md has the table for operators.
package faults
