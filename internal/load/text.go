package load

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// quantiles are those that are printed, with their names.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}

// WriteText writes r for a reader. The first line names the load and the target.
func (r *Result) WriteText(w io.Writer, target string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n\n", r.Config.describe(), target)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-26s"+format+"\n", append([]any{name}, args...)...)
	}
	line("took", "%s ms", milliseconds(r.Took))
	line("sent requests", "%d", r.Sent)
	line("received requests", "%d", r.Received)
	line("received requests_OK", "%d", r.OK)
	if r.Failed > 0 {
		line("failed requests", "%d", r.Failed)
	}
	if r.Unfinished > 0 {
		line("unfinished requests", "%d", r.Unfinished)
	}
	line("throughput", "%.0f TPS", r.Throughput())
	l := r.Latency
	line("mean", "%s ms", milliseconds(l.Mean()))
	line("median", "%s ms", milliseconds(l.Quantile(0.5)))
	line("max", "%s ms", milliseconds(l.Max()))
	line("min", "%s ms", milliseconds(l.Min()))
	for _, q := range quantiles[1:] {
		line(q.name, "%s ms", milliseconds(l.Quantile(q.q)))
	}
	if r.Config.Rate > 0 {
		line("lateness of the generator", "p50 %s ms, p99 %s ms, max %s ms", milliseconds(r.Late.Quantile(0.5)), milliseconds(r.Late.Quantile(0.99)), milliseconds(r.Late.Max()))
	}
	if plot := r.Latency.plot(plotWidth); plot != "" {
		b.WriteString("\n" + plot)
	}
	if len(r.Failures) > 0 {
		b.WriteString("\nfailures:\n")
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "%8d  %s\n", f.Count, f)
		}
		b.WriteString("examples:\n")
		for _, text := range r.Examples {
			fmt.Fprintf(&b, "          %s\n", strings.ReplaceAll(text, "\n", " "))
		}
	}
	if r.Interrupted {
		b.WriteString("\nInterrupted: the figures are those of the requests until then.\n")
	}
	if r.Void != "" {
		fmt.Fprintf(&b, "\nVOID: %s.\n", r.Void)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describe returns the load in a few words.
func (c *Config) describe() string {
	text := fmt.Sprintf("closed loop, %d requests at a time", c.Workers)
	if c.Rate > 0 {
		arrivals := "Poisson"
		if c.Constant {
			arrivals = "constant"
		}
		text = fmt.Sprintf("open loop, %v requests/s (%s), at most %d at a time", c.Rate, arrivals, c.Workers)
	}
	if c.Requests > 0 {
		text += fmt.Sprintf(", %d requests", c.Requests)
	}
	if c.Duration > 0 {
		text += fmt.Sprintf(", %v", c.Duration)
	}
	if c.WarmUp > 0 {
		text += fmt.Sprintf(" after %v of warm-up", c.WarmUp)
	}
	return text
}

// milliseconds returns d in ms with three decimals.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 3, 64)
}

// round returns d with about three digits.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
