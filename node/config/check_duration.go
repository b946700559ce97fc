package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// The bounds of every duration of a configuration. Zero and negative ones have a meaning of their own in some fields, whose
// package checks them.
const (
	shortestDuration = time.Millisecond
	longestDuration  = 365 * 24 * time.Hour
)

// durationProblems refuses durations out of bounds, wherever they are in c. It adds nothing to a field that has a problem already.
func (c *Config) durationProblems(ps *problems) {
	known := map[string]bool{}
	for _, p := range *ps {
		known[strings.Join(p.path, ".")] = true
	}
	eachDuration("", reflect.ValueOf(*c), func(path string, d time.Duration) {
		switch {
		case known[path]:
		case d > 0 && d < shortestDuration:
			ps.add(path, "%v is too short: at least %v", d, shortestDuration)
		case d > longestDuration || d < -longestDuration:
			ps.add(path, "%v is too long: at most %.0fh, which is a year", d, longestDuration.Hours())
		}
	})
}

// eachDuration calls visit for each duration in v, with its path such as limits.heartbeat or proxy.clusters.0.idle_timeout.
func eachDuration(path string, v reflect.Value, visit func(path string, d time.Duration)) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		visit(path, time.Duration(v.Int()))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		eachDuration(path, v.Elem(), visit)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachDuration(join(path, strconv.Itoa(i)), v.Index(i), visit)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch {
			case options == "inline":
				eachDuration(path, v.Field(i), visit)
			case name != "" && name != "-":
				eachDuration(join(path, name), v.Field(i), visit)
			}
		}
	}
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}
