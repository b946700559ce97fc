package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/load"
)

// progressInterval is the time between two updates of the progress bar.
const progressInterval = 200 * time.Millisecond

// showProgress draws a progress bar on standard error while l runs, if standard error is a terminal. The returned function removes
// it.
func showProgress(e *env, l *load.Load) (end func()) {
	f, ok := e.stderr.(*os.File)
	if !ok || e.quiet {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	stop := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(f, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprint(f, "\r\x1b[K"+progressLine(l.Progress()))
			}
		}
	})
	return func() {
		close(stop)
		drawing.Wait()
	}
}

// progressLine returns one line of text with a bar.
func progressLine(p load.Progress) string {
	const cells = 30
	if p.Elapsed == 0 {
		return "connecting"
	}
	done := int(p.Fraction * cells)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %v  %d requests", strings.Repeat("=", done), strings.Repeat(" ", cells-done), p.Fraction*100, p.Elapsed.Round(time.Second), p.Sent)
	if p.WarmUp {
		line += "  warm-up"
	}
	if p.Failed > 0 {
		line += fmt.Sprintf("  %d failed", p.Failed)
	}
	return line
}
