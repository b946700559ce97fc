package main

import "example.com/ferry/bench/internal/harness"

// figures are a headline with its allocations.
func figures(ns, bytes, allocs float64) harness.Figures {
	return harness.Figures{harness.NsPerOp: ns, harness.BytesPerOp: bytes, harness.AllocsPerOp: allocs}
}

// printed is a line of the seed's README: re-encoding, decoding, encoding.
func printed(edit, decode, encode float64) harness.Figures {
	f := figures(edit, 2183, 29)
	f[decodeTime], f[decodeBytes] = decode, 1024
	f[encodeTime], f[encodeBytes] = encode, 1424
	return f
}

// recorded returns the rows with earlier results, of EdgeX's own code and of the seed.
var recorded = []harness.Contender{
	{
		Name: "EdgeX dtos.Event, as recorded", Kind: harness.Seed, Version: "go-mod-core-contracts v4.0.3, on another day, one reading",
		Recorded: map[string]harness.Figures{
			large:    figures(9_000_000, 54_600_000, 102),
			kib64:    figures(79_000, 293_000, 94),
			kib1:     figures(8_900, 11_000, 93),
			byte100:  figures(7_200, 6_779, 93),
			one:      figures(6_700, 5_204, 81),
			ten:      figures(43_000, 27_000, 414),
			hundred:  figures(342_300, 248_000, 3_745),
			thousand: figures(3_420_000, 2_486_000, 37_054),
		},
	},
	{
		Name: "seed, as printed in 2019", Kind: harness.Seed, Version: "reads 247 bytes of any event: see the notes",
		Recorded: map[string]harness.Figures{
			large:  printed(3437, 1460, 1741),
			medium: printed(4210, 1818, 1681),
			small:  printed(3337, 1563, 1707),
		},
	},
	{
		Name: "seed with its later fix, as recorded", Kind: harness.Seed, Version: "ugorji of March 2019, Go 1.26, on another day",
		Recorded: map[string]harness.Figures{
			large:  figures(71_000_000, 321_000_000, 112),
			medium: {harness.NsPerOp: 1_250_000, harness.BytesPerOp: 3_400_000},
			small:  {harness.NsPerOp: 82_000, harness.BytesPerOp: 217_000},
		},
	},
}
