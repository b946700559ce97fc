//go:build !race

package grpc_test

const raceEnabled = false
