//go:build linux

package main

import (
	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
)

// recorded returns the row of the seed's proxy, measured earlier. Its current version is not available as a module.
var recorded = []harness.Contender{{
	Name: "MOSN, as recorded", Kind: harness.Seed, Version: "1.6.0, on a quiet day",
	Recorded: map[string]harness.Figures{boltload.FourEach.Name: {boltload.PerRequest: 23.0, boltload.PerSecond: 43_000}},
}}
