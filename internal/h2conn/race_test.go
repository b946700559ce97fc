//go:build race

package h2conn

const raceEnabled = true
