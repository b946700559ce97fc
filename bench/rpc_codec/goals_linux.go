package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

func goals(formats []rpcload.Format) []harness.Goal {
	all := []harness.Goal{harness.AtMost(0, "failed calls, of all content types", func(r *harness.Result) float64 {
		most := math.NaN()
		for _, name := range cases() {
			if x := r.Stat(rpcload.Ferry, name, rpcload.Failures).Max; math.IsNaN(most) || x > most || math.IsNaN(x) {
				most = x
			}
		}
		return most
	})}
	for _, f := range formats {
		if f.Row == rpcload.Ferry {
			continue
		}
		all = append(all, harness.AtMost(1, caseOf(f.Content)+": CPU time, times "+f.Row, func(r *harness.Result) float64 {
			return r.Ratio(rpcload.Ferry, f.Row, caseOf(f.Content), rpcload.PerCall)
		}))
	}
	for _, name := range scanned {
		all = append(all, harness.AtMost(0.6, name+": a request decoded alone, times encoding/json", func(r *harness.Result) float64 {
			return r.Ratio(decodeFerry, decodeJSON, name, rpcload.PerCall)
		}))
	}
	return all
}
