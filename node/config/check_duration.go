package config

import (
	"reflect"
	"sync"
	"time"

	"example.com/ferry/internal/invalid"
)

// durations finds the durations of a configuration, in all sections.
var durations = sync.OnceValue(func() *search {
	return newSearch(func(f reflect.StructField) bool { return f.Type == reflect.TypeFor[time.Duration]() })
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
		switch field := at.String(); {
		case known[field]:
		case d < -invalid.MaxDuration:
			errs.add(field, "%v: give at least %v", d, -invalid.MaxDuration)
		default:
			(*invalid.Errors)(errs).AddDuration("config", field, d)
		}
	})
}
