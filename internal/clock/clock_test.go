package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := Now()
		time.Sleep(3 * time.Hour)
		if took := time.Duration(Now() - begun); took != 3*time.Hour {
			t.Errorf("3 hours took %v", took)
		}
		at := time.Now()
		if got := At(at); got != Now() {
			t.Errorf("At: %d, want %d", got, Now())
		}
		if got := At(at.Add(-time.Minute)); got != Now()-int64(time.Minute) {
			t.Errorf("a minute ago: %d, want %d", got, Now()-int64(time.Minute))
		}
	})
}

func TestTimeline(t *testing.T) {
	const hour = int64(time.Hour)
	var line Timeline
	for _, row := range []struct {
		name                string
		wall, elapsed, want int64
	}{
		{"the first look", 1000 * hour, 5 * hour, 1000 * hour},
		{"an hour", 1001 * hour, 6 * hour, 1001 * hour},
		{"a day forwards", 1026 * hour, 7 * hour, 1026 * hour},
		{"two days back", 979 * hour, 8 * hour, 1027 * hour},
		{"an hour after that", 980 * hour, 9 * hour, 1028 * hour},
		{"forwards again", 1030 * hour, 10 * hour, 1030 * hour},
	} {
		if got := line.next(row.wall, row.elapsed); got != row.want {
			t.Errorf("%s: %d h, want %d h", row.name, got/hour, row.want/hour)
		}
	}
	before := new(Timeline).Now()
	if after := time.Now().UnixNano(); before > after || before < after-int64(time.Hour) {
		t.Errorf("now is %d, want about %d", before, after)
	}
}
