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
