package admin

import (
	"fmt"
	"strings"

	"example.com/ferry/link/forward"
	"example.com/ferry/link/mqttbridge"
)

// outages says what does not work now, for /ready; empty if all does.
func outages(cfg Config) string {
	var all []string
	if cfg.Outages != nil {
		all = cfg.Outages()
	}
	if cfg.Links != nil {
		all = append(all, down("links", cfg.Links(), func(s forward.Stats) (string, bool) { return s.Name, s.Connected })...)
	}
	if cfg.Bridges != nil {
		all = append(all, down("bridges", cfg.Bridges(), func(s mqttbridge.Stats) (string, bool) { return s.Name, s.Connected })...)
	}
	return strings.Join(all, "; ")
}

// down returns a sentence with the names of those that have no connection; nothing if all are connected.
func down[S any](noun string, all []S, state func(S) (name string, connected bool)) []string {
	var names []string
	for _, s := range all {
		if name, connected := state(s); !connected {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d %s are down, and messages to them are stored on disk: %s", len(names), len(all), noun, strings.Join(names, ", "))}
}
