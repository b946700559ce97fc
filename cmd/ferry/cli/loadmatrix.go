package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/pki"
	"example.com/ferry/rpc/content"
)

// matrixRow is a cell and what was measured.
type matrixRow struct {
	cell
	cellResult
	figures loadFigures
}

// loadFigures are those of a result in JSON that the tables have.
type loadFigures struct {
	Took                                time.Duration `json:"took_ns"`
	Workers, Sent, Received, OK, Failed int
	Throughput                          float64
	Latency                             struct {
		Min, Mean, Max time.Duration
		Quantiles      map[string]time.Duration
	} `json:"latency_ns"`
	Failures []load.FailureCount
	Examples []string
	Void     string

	Interrupted bool
}

// matrixRequests is the number of requests of a cell without -n and -t.
const matrixRequests = 100_000

// matrix measures each cell, one after the other.
func (c *loadCmd) matrix(e *env) error {
	cells, err := c.cells(e)
	if err != nil {
		return err
	}
	if c.Requests == 0 && c.Duration == 0 {
		c.Requests = matrixRequests
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if _, err := load.New(cfg, nil); err != nil {
		return usageError{err}
	}
	dir, err := os.MkdirTemp("", "ferry-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := pki.Open(pki.Config{Dir: dir}); err != nil {
		return err
	}
	self, err := ownCommand("cell")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := false
	for i := range cells {
		row := &cells[i]
		if row.Absent || ctx.Err() != nil {
			continue
		}
		s := cellSpec{cell: row.cell, Dir: dir, Conns: c.Conns, Timeout: c.Timeout, Load: *cfg}
		if row.cellResult, err = s.run(ctx, self, e.stderr); err != nil {
			row.Error = err.Error()
		}
		row.check()
		failed = failed || row.Error != "" && !row.Absent || row.figures.Failed > 0
		if c.Output == "text" {
			if err := e.print([]byte(row.text())); err != nil {
				return err
			}
		}
	}
	cells = slices.DeleteFunc(cells, func(r matrixRow) bool { return r.Load == nil && r.Error == "" }) // after Ctrl-C
	if c.Output == "json" {
		var text []byte
		if text, err = json.Marshal(map[string]any{"cells": cells}); err == nil {
			err = e.print(append(text, '\n'))
		}
	} else {
		err = writeMatrix(e.stdout, cells)
	}
	if err == nil && failed {
		return quietError(statusFailed)
	}
	return err
}

// cells returns the cells that the flags name. Without --content, each server has its usual content type.
func (c *loadCmd) cells(e *env) (rows []matrixRow, err error) {
	if c.Addr != "" || c.Method != "" || c.Pub != "" || len(c.given()) > 0 || c.Data+c.File+c.SVG+c.TokenFile+c.CA+c.Schema != "" || c.Size != 0 || len(c.Metadata) > 0 {
		return nil, usagef("--matrix has servers and messages of its own: of the flags it takes -c, -n, -t, -r, --constant, --closed, --warm-up, --conns, --timeout, --max-late, --transport, --server, --content and -o")
	}
	var transports, servers, contents []string
	missing := map[string]string{}
	for _, t := range e.extensions.Transports {
		transports, missing[t.Scheme] = append(transports, t.Scheme), t.Missing
	}
	for _, p := range matrixServers {
		servers = append(servers, p.Name())
	}
	for _, t := range content.All() {
		contents = append(contents, shortContent(t.Type))
	}
	if transports, err = choose("--transport", transports, c.Transport); err != nil {
		return nil, err
	}
	if servers, err = choose("--server", servers, c.Server); err != nil {
		return nil, err
	}
	if contents, err = choose("--content", contents, c.Content); err != nil {
		return nil, err
	}
	for _, t := range transports {
		for _, s := range servers {
			of := contents
			if c.Content == "" {
				of = []string{usualContent[s]}
			}
			for _, name := range of {
				rows = append(rows, matrixRow{cell: cell{t, s, "application/" + name}, cellResult: cellResult{Error: missing[t], Absent: missing[t] != ""}})
			}
		}
	}
	return rows, nil
}

// usualContent has the content type of a server without --content.
var usualContent = map[string]string{"rpc": "protobuf", "grpc": "protobuf", "http": "json"}

// choose returns the names in a list with commas. Without a list, and with all, it returns all.
func choose(flag string, all []string, list string) ([]string, error) {
	if list == "" || list == "all" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, usagef("%s %q is unknown: want all, or %s", flag, name, phrase.Or(all))
		}
	}
	return chosen, nil
}

// check sets Error if the counters contradict the figures.
func (r *matrixRow) check() {
	if r.Load == nil {
		return
	}
	if err := json.Unmarshal(r.Load, &r.figures); err != nil {
		r.Error = err.Error()
		return
	}
	switch ok := int64(r.figures.OK); {
	case r.figures.Void != "":
		r.Error = "void: " + r.figures.Void
	case r.Written < ok*echo.Least || r.Read < ok*echo.Least:
		r.Error = fmt.Sprintf("%d calls with %d bytes each way, but %d bytes were written to %s and %d read from it", ok, echo.Least, r.Written, r.Transport, r.Read)
	case int64(r.Served) < ok:
		r.Error = fmt.Sprintf("%d calls, but the server has served %d", ok, r.Served)
	}
}

// name is the cell in the tables: transport and server as go-micro's benchmark writes them, and the content type.
func (c cell) name() string { return c.Transport + "+" + c.Server + " " + shortContent(c.Content) }

// shortContent returns the name of a content type without its prefix.
func shortContent(contentType string) string { return strings.TrimPrefix(contentType, "application/") }

// matrixColumns are the columns of the latencies, with the quantile or "".
var matrixColumns = []struct{ title, quantile string }{{"mean", ""}, {"median", "p50"}, {"max", ""}, {"min", ""}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}}

// columns returns the latencies of matrixColumns.
func (f *loadFigures) columns() (all []time.Duration) {
	l := f.Latency
	for _, c := range matrixColumns {
		switch c.title {
		case "mean":
			all = append(all, l.Mean)
		case "max":
			all = append(all, l.Max)
		case "min":
			all = append(all, l.Min)
		default:
			all = append(all, l.Quantiles[c.quantile])
		}
	}
	return all
}

// text is the cell's part of the output, when it has been measured.
func (r *matrixRow) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.name())
	if f := &r.figures; r.Load != nil {
		fmt.Fprintf(&b, "took       (ns)        : %d\ntook       (ms)        : %d\n", f.Took.Nanoseconds(), f.Took.Milliseconds())
		fmt.Fprintf(&b, "sent       requests    : %d\nreceived   requests    : %d\nreceived   requests_OK : %d\nthroughput (TPS)       : %.0f\n", f.Sent, f.Received, f.OK, f.Throughput)
		fmt.Fprintf(&b, "bytes on the transport : %d written, %d read; calls served: %d\n\n", r.Written, r.Read, r.Served)
		w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
		fmt.Fprint(w, "concurrency")
		for _, c := range matrixColumns {
			fmt.Fprint(w, "\t", c.title)
		}
		fmt.Fprintf(w, "\tTPS\n%d", f.Workers)
		for _, d := range f.columns() {
			fmt.Fprintf(w, "\t%dns", d.Nanoseconds())
		}
		fmt.Fprintf(w, "\t%.0f\n%d", f.Throughput, f.Workers)
		for _, d := range f.columns() {
			fmt.Fprintf(w, "\t%.3fms", d.Seconds()*1000)
		}
		fmt.Fprintf(w, "\t%.0f\n", f.Throughput)
		_ = w.Flush() // to a strings.Builder
		for _, failure := range f.Failures {
			fmt.Fprintf(&b, "%8d failed: %s\n", failure.Count, failure)
		}
		for _, text := range f.Examples {
			fmt.Fprintf(&b, "          %s\n", strings.ReplaceAll(text, "\n", " "))
		}
	}
	if r.figures.Interrupted {
		b.WriteString("Interrupted: the figures are those of the requests until then.\n")
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "no figures: %s\n", strings.ReplaceAll(r.Error, "\n", " "))
	}
	return b.String() + "\n"
}

// writeMatrix writes the table of all cells, a plot of their throughput, and why cells have no figures.
func writeMatrix(out io.Writer, rows []matrixRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "transport+server content")
	for _, c := range matrixColumns {
		fmt.Fprintf(w, "\t%s (ms)", c.title)
	}
	fmt.Fprintln(w, "\tTPS\tfailed")
	most := math.SmallestNonzeroFloat64 // where all requests failed
	for i := range rows {
		if rows[i].Error == "" {
			most = max(most, rows[i].figures.Throughput)
		}
	}
	const cells = 30 // of the longest bar
	for i := range rows {
		r := &rows[i]
		if r.Error != "" {
			continue
		}
		fmt.Fprint(w, r.name())
		for _, d := range r.figures.columns() {
			fmt.Fprintf(w, "\t%.3f", d.Seconds()*1000)
		}
		fmt.Fprintf(w, "\t%.0f\t%d\t%s\n", r.figures.Throughput, r.figures.Failed, load.Bar(r.figures.Throughput/most*cells))
	}
	for i := range rows {
		if r := &rows[i]; r.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", r.name(), strings.ReplaceAll(r.Error, "\n", " "))
		}
	}
	if err := w.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}
