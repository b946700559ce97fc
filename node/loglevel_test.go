package node

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/node/config"
)

// TestLogLevel checks that a level lasts for its time, and that a later change and a reload end it.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := newLog(config.Log{Level: config.LevelInfo, Format: config.LogText}, new(bytes.Buffer))
		expect := func(level string, ends bool) {
			t.Helper()
			s := out.LogLevel()
			if s.Level != level || s.Configured != "info" || (s.Until != nil) != ends {
				t.Errorf("got %+v, want level %s, that ends: %v", s, level, ends)
			}
			if debug := out.logger().Enabled(t.Context(), slog.LevelDebug); debug != (level == "debug") {
				t.Errorf("level %s: debug is written: %v", level, debug)
			}
		}
		set := func(level string, lasts time.Duration) {
			t.Helper()
			if _, err := out.SetLogLevel(level, lasts); err != nil {
				t.Fatal(err)
			}
		}
		expect("info", false)
		set("debug", time.Minute)
		expect("debug", true)
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("info", false)

		set("debug", time.Minute)
		set("error", 0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		expect("error", false)

		set("debug", time.Minute)
		out.set(config.Log{Level: config.LevelInfo, Format: config.LogJSON})
		expect("info", false)
		if _, err := out.SetLogLevel("loud", 0); err == nil {
			t.Error("a level that does not exist was accepted")
		}
	})
}
