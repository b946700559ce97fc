//go:build race

package rpc_test

// raceEnabled: sync.Pool drops objects at random under the race detector.
const raceEnabled = true
