package config

import (
	"reflect"
	"sync"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/route"
)

// durations finds the durations of a configuration, in all sections but routes, of which there may be thousands: package route checks
// theirs.
var durations = sync.OnceValue(func() *search {
	return newSearch(func(f reflect.StructField) bool { return f.Type == reflect.TypeFor[time.Duration]() }, reflect.TypeFor[route.Rule]())
})

// checkDurations refuses durations outside of invalid.MinDuration and invalid.MaxDuration, wherever they are in c. Some
// fields give zero and negative durations a meaning: their packages check those. A field that has an error gets no second one.
func (c *Config) checkDurations(errs *configErrors) {
	known := map[string]bool{}
	for _, e := range *errs {
		known[e.Field] = true
	}
	durations().each(c, func(at searchPath, v reflect.Value) {
		d := time.Duration(v.Int())
		if d == 0 || d >= invalid.MinDuration && d <= invalid.MaxDuration || d < 0 && d >= -invalid.MaxDuration {
			return
		}
		if field := at.String(); !known[field] {
			(*invalid.Errors)(errs).AddDuration("config", field, d)
		}
	})
}
