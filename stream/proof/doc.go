// Package proof has tests that show what streams promise while processes are killed, the power fails, a disk is full or damaged, and
// connections are cut.
//
// Nodes and functions are processes of the test's own binary, which runs as the program ferry or as a function. The tests use
// package stream to publish and to handle messages. Each run is checked by package history. `make test` runs every test once, with
// few messages; `make proof` runs them long.
package proof
