package config

import (
	"reflect"
	"testing"
)

func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name, section string
		change        func(*Config)
		want          []string
	}{
		{"nothing", "limits", func(*Config) {}, nil},
		{"another section", "limits", func(c *Config) { c.Log.Level = LevelDebug }, nil},
		{"a field of a section", "limits", func(c *Config) { c.Limits.Queue++ }, []string{"limits.queue"}},
		{"several", "admin", func(c *Config) { c.Admin.Address, c.Admin.Hosts = "", []string{"a"} }, []string{"admin.address", "admin.hosts"}},
		{"a section that is a list", "listeners", func(c *Config) { c.Listeners[1].Insecure = true }, []string{"listeners"}},
		{"a section that is a value", "data_dir", func(c *Config) { c.DataDir = "b" }, []string{"data_dir"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := defaults()
			c.change(next)
			if got := defaults().Changed(next, c.section); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
