package years_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"example.com/ferry/codec/internal/years"
)

var (
	early = time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC)
	late  = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
)

type holder struct {
	At    time.Time
	Next  *holder
	Any   any
	Keyed map[string]time.Time
	local time.Time
}

type Base struct{ Since time.Time }

type embedding struct{ Base }

type hidingBase struct{ Since time.Time }

type embeddingHidden struct{ hidingBase }

type selfMade struct{ At time.Time }

func (selfMade) MarshalText() ([]byte, error) { return []byte("x"), nil }

func TestRefused(t *testing.T) {
	ring := &holder{}
	ring.Next = ring
	rows := map[string]any{
		"before 0":               early,
		"after 9999":             late,
		"after 9999 in UTC":      time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)),
		"after 9999 in its zone": time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC).In(time.FixedZone("", 7200)),
		"31 billion years":       time.Unix(math.MaxInt64/1_000_000_000, 0).AddDate(1_000_000, 0, 0),
		"pointer":                &late,
		"field":                  holder{At: late},
		"behind a pointer":       &holder{Next: &holder{At: early}},
		"in an interface":        holder{Any: []any{1, map[string]any{"t": late}}},
		"value of a map":         holder{Keyed: map[string]time.Time{"t": late}},
		"key of a map":           map[time.Time]int{late: 1},
		"array":                  [2]time.Time{1: early},
		"embedded":               embedding{Base{late}},
		"embedded, not exported": embeddingHidden{hidingBase{late}},
		"ring of pointers":       ring,
	}
	for name, v := range rows {
		if err := years.Check(v); err == nil || name != "ring of pointers" && !strings.Contains(err.Error(), "outside 0 to 9999") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

func TestAccepted(t *testing.T) {
	rows := map[string]any{
		"nil":             nil,
		"nil pointer":     (*holder)(nil),
		"zero":            time.Time{},
		"first":           time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"last":            time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"not exported":    holder{local: late},
		"encodes itself":  []selfMade{{late}},
		"no time in it":   map[string][]float64{"a": {1}},
		"empty interface": holder{},
	}
	for name, v := range rows {
		if err := years.Check(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
