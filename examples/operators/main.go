// Command operators reads readings from standard input, one JSON object a line, and prints the mean of each device's values above 30 for
// each ten seconds of the times in the readings.
//
//	go run ./examples/operators < examples/operators/readings.json
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"example.com/ferry/stream/operator"
)

type reading struct {
	Device string    `json:"device"`
	Value  float64   `json:"value"`
	Time   time.Time `json:"time"`
}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	text := operator.FromSeq(func(yield func(string) bool) {
		for lines.Scan() && yield(lines.Text()) {
		}
	})
	readings := operator.TryMap(text, func(line string) (r reading, err error) {
		return r, json.Unmarshal([]byte(line), &r)
	})
	timed := operator.EventTime(readings, func(r reading) int64 { return r.Time.UnixNano() }, operator.Disorder{Bound: 2 * time.Second})
	hot := operator.Filter(timed, func(r reading) bool { return r.Value > 30 })
	means := operator.GroupBy(hot, func(r reading) string { return r.Device }, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
		return operator.Window(in, operator.Tumbling(10*time.Second), operator.Mean(func(r reading) float64 { return r.Value }))
	}, operator.Groups{Idle: time.Hour})
	err := operator.Run(ctx, nil, operator.Each(means, func(_ context.Context, m operator.Keyed[string, operator.Windowed[float64]], _ int64) error {
		_, err := fmt.Fprintf(out, "%s %s: %.1f, %d values\n", time.Unix(0, m.Value.Start).UTC().Format(time.TimeOnly), m.Key, m.Value.Value, m.Value.Count)
		return err
	}))
	if err != nil {
		return err
	}
	return lines.Err()
}
