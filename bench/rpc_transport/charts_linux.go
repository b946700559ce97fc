package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

// charts draws the calls a second, and the distribution of the latency of each row.
func charts(r *harness.Result) ([]harness.Chart, error) {
	c := harness.Chart{Name: "latency", Title: "How long calls take", X: "percentile", Y: "us", LogY: true}
	for i, figure := range []string{rpcload.Min, rpcload.P50, rpcload.P90, rpcload.P95, rpcload.P99, rpcload.P999, rpcload.Max} {
		c.XTicks = append(c.XTicks, harness.Tick{At: float64(i), Label: figure[:len(figure)-len(" us")]})
		for k, row := range r.Rows {
			if i == 0 {
				c.Lines = append(c.Lines, harness.Line{Name: row.Name})
			}
			if s, ok := row.Cases[busy][figure]; ok {
				c.Lines[k].Points = append(c.Lines[k].Points, [2]float64{float64(i), s.Median})
			}
		}
	}
	return []harness.Chart{{Name: "calls", Title: "Calls a second", Bars: rpcload.TPS, Better: harness.Higher}, c}, nil
}
