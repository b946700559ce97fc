package main

import "example.com/ferry/bench/internal/harness"

func figures(ns, bytes, allocs float64) harness.Figures {
	return harness.Figures{harness.NsPerOp: ns, harness.BytesPerOp: bytes, harness.AllocsPerOp: allocs}
}

const edgexVersion = "go-mod-messaging v4.1.0-dev.29 and go-mod-core-contracts v4.1.0-dev.43, on another day, one reading"

// recorded returns the rows with earlier results, of EdgeX's own modules.
var recorded = []harness.Contender{
	{
		Name: "EdgeX, CBOR, as recorded", Kind: harness.Seed, Version: edgexVersion,
		Recorded: map[string]harness.Figures{
			byte100: figures(14_800, 11_000, 194),
			kib1:    figures(15_600, 16_000, 194),
			kib64:   figures(82_600, 439_000, 198),
			mib1:    figures(1_090_000, 6_479_000, 205),
			mib12:   figures(14_700_000, 77_600_000, 214),
		},
	},
	{
		Name: "EdgeX, base64, as recorded", Kind: harness.Seed, Version: edgexVersion,
		Recorded: map[string]harness.Figures{
			byte100: figures(15_200, 9_706, 121),
			kib1:    figures(20_100, 17_000, 121),
			kib64:   figures(474_900, 570_000, 125),
			mib1:    figures(6_820_000, 8_720_000, 141),
			mib12:   figures(79_230_000, 132_200_000, 155),
		},
	},
}
