package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/ferry"
)

// AlertsWhere is the predicate that makes an average an alert. The node evaluates it on the encoded bytes, so the function
// receives alerts only.
const AlertsWhere = `sourceName == "cpu" && readings.0.value > 80 || sourceName == "memory" && readings.0.value > 90`

// Alerts is a handler for the events on averages/... that AlertsWhere holds for. It publishes them unchanged on
// alerts/..., at most one in each Pause for each tag and source.
type Alerts struct {
	Pause time.Duration // 0 means 10 s

	mu     sync.Mutex
	raised map[alertKey]int64 // time of the last alert, by the clock of the source
}

type alertKey struct {
	tag    string
	source ferry.SourceID
}

// Handle handles one event.
func (a *Alerts) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	rest, ok := strings.CutPrefix(in.Tag, "averages/")
	if !ok {
		return fmt.Errorf("live: alerts got tag %q: want one below averages/", in.Tag)
	}
	if !a.due(alertKey{in.Tag, in.Source}, in.Time) {
		return nil
	}
	return out.Send(ctx, ferry.Message{Tag: "alerts/" + rest, Type: in.Type, Time: in.Time, Payload: in.Payload})
}

func (a *Alerts) due(key alertKey, now int64) bool {
	pause := a.Pause
	if pause == 0 {
		pause = 10 * time.Second
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.raised[key]; ok && now >= last && now < last+int64(pause) {
		return false
	}
	for k, last := range a.raised {
		if now >= last+int64(pause) {
			delete(a.raised, k)
		}
	}
	if a.raised == nil {
		a.raised = map[alertKey]int64{}
	}
	a.raised[key] = now
	return true
}
