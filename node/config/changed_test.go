package config

import (
	"reflect"
	"testing"

	"example.com/ferry/proxy"
)

func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"nothing", func(*Config) {}, nil},
		{"a field of a section", func(c *Config) { c.Limits.Queue++ }, []string{"limits.queue"}},
		{"several", func(c *Config) { c.Log.Level, c.Admin.Hosts, c.DataDir = LevelDebug, []string{"a"}, "b" }, []string{"admin.hosts", "data_dir", "log.level"}},
		{"an entry of a list", func(c *Config) { c.Listeners[1].Insecure = true }, []string{"listeners"}},
		{"the proxy", func(c *Config) { c.Proxy = &proxy.Config{Loops: 1} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := defaults()
			c.change(next)
			if got := defaults().Changed(next); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
