package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
)

// checkDurations refuses durations outside of invalid.MinDuration and invalid.MaxDuration, wherever they are in c. Some
// fields give zero and negative durations a meaning: their packages check those. A field that has an error gets no second one.
func (c *Config) checkDurations(errs *configErrors) {
	known := map[string]bool{}
	for _, e := range *errs {
		known[e.Field] = true
	}
	eachDuration("", reflect.ValueOf(*c), func(field string, d time.Duration) {
		switch {
		case known[field]:
		case d < -invalid.MaxDuration:
			errs.add(field, "%v: give at least %v", d, -invalid.MaxDuration)
		default:
			(*invalid.Errors)(errs).AddDuration("config", field, d)
		}
	})
}

// eachDuration calls visit for each duration in v, with its field such as limits.heartbeat or proxy.clusters[0].idle_timeout.
func eachDuration(field string, v reflect.Value, visit func(field string, d time.Duration)) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		visit(field, time.Duration(v.Int()))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		eachDuration(field, v.Elem(), visit)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachDuration(fmt.Sprintf("%s[%d]", field, i), v.Index(i), visit)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch {
			case options == "inline":
				eachDuration(field, v.Field(i), visit)
			case name != "" && name != "-":
				eachDuration(join(field, name), v.Field(i), visit)
			}
		}
	}
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}
