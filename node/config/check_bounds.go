package config

import (
	"reflect"
	"sync"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/route"
)

// bound is the least and the most that a number, a size or a duration may be.
type bound struct {
	least, most int64
	zero        bool // 0 is permitted, too: it stands for a default
}

const (
	brief = int64(10 * time.Millisecond)
	year  = int64(invalid.MaxDuration)
	kib   = 1 << 10
	gib   = 1 << 30
)

// bounds has the bounds of fields outside of the proxy, whose packages check theirs. The schema has the least of some numbers.
var bounds = map[string]bound{
	"listeners[].receive_window":   {64 * kib, gib, true},
	"limits.max_frame":             {kib, gib, false},
	"limits.window":                {kib, gib, false},
	"limits.queue":                 {kib, gib, false},
	"limits.call_window":           {kib, gib, false},
	"limits.call_stream_window":    {kib, gib, false},
	"limits.call_queue":            {kib, gib, false},
	"limits.max_calls":             {1, 1 << 20, true},
	"limits.handshake_timeout":     {brief, year, false},
	"limits.heartbeat":             {brief, year, false},
	"limits.write_timeout":         {brief, year, false},
	"limits.wasm_timeout":          {brief, year, false},
	"drain.timeout":                {brief, year, false},
	"drain.delay":                  {0, year, false},
	"mqtt.retained_size":           {kib, gib, false},
	"mqtt.queue":                   {kib, gib, false},
	"mqtt.identity_share":          {1, 100, true},
	"mqtt.in_flight":               {1, 1<<16 - 1, true},
	"mqtt.session_expiry":          {int64(time.Second), year, false},
	"streams[].retention.age":      {0, year, false},
	"streams[].idempotency.window": {0, year, false},
	"streams[].redelivery.wait":    {0, year, false},
	"forward[].spool.size":         {1 << 20, 1 << 40, true},
	"bridges[].spool.size":         {1 << 20, 1 << 40, true},
	"bridges[].keep_alive":         {int64(time.Second), int64(65535 * time.Second), true},
	"bridges[].session_expiry":     {int64(time.Second), year, true},
	"functions[].group_idle":       {int64(time.Second), year, true},
	"functions[].timeout":          {int64(invalid.MinDuration), year, true},
	"functions[].memory":           {64 * kib, 4 * gib, true}, // of a wasm guest: a page, and what 32 bits address
}

// bounded finds the fields that have bounds, and all durations, but those of routes: there may be thousands, and package route checks them.
var bounded = sync.OnceValue(func() *search {
	return newSearch(func(f reflect.StructField) bool {
		return f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64
	}, reflect.TypeFor[route.Rule]())
})

// checkBounds refuses values outside of bounds, and other durations outside of invalid.MinDuration and invalid.MaxDuration, wherever they are in c. Some
// fields give zero and negative durations a meaning: their packages check those. A field that has an error gets no second one.
func (c *Config) checkBounds(errs *configErrors) {
	known := map[string]bool{}
	for _, e := range *errs {
		known[e.Field] = true
	}
	bounded().each(c, func(at searchPath, v reflect.Value) {
		b, n, isDuration := bound{}, v.Int(), v.Type() == reflect.TypeFor[time.Duration]()
		has := false
		if at[0].name != "proxy" {
			b, has = bounds[at.text(func(int) string { return "" })]
		}
		switch {
		case has:
		case !isDuration:
			return
		case n < 0:
			b = bound{-year, 0, true}
		default:
			b = bound{int64(invalid.MinDuration), year, true}
		}
		if n >= b.least && n <= b.most || b.zero && n == 0 {
			return
		}
		field := at.String()
		if known[field] {
			return
		}
		value := func(n int64) any {
			return reflect.ValueOf(n).Convert(v.Type()).Interface()
		}
		switch {
		case !isDuration:
			errs.add(field, "%v is out of range: %v to %v", value(n), value(b.least), value(b.most))
		case n < b.least:
			errs.add(field, "%v is too short: at least %v", value(n), value(b.least))
		default:
			errs.add(field, "%v is too long: at most %v", value(n), value(b.most))
		}
	})
}
