package clientload

import (
	"fmt"
	"time"

	"example.com/ferry/internal/load"
)

// maxCauses is the number of failures that a Report describes.
const maxCauses = 5

// Report is what the clients of a Load have seen.
type Report struct {
	Name     string
	Requests int      // that succeeded
	Failures int      // requests that failed
	Causes   []string // of the first failures
	Again    int      // times that a client has sent a request again, as its protocol allows

	// Of messages.
	Acknowledged int
	Lost         int // acknowledged, and never received
	Repeated     int // received again
	Unheard      int // not stored, and acknowledged while no subscriber was connected: see Load.Leave

	Latency *load.Histogram // of the requests that succeeded
	Gap     time.Duration   // longest time between two responses of one client
}

func newReport(name string) Report { return Report{Name: name, Latency: load.NewHistogram()} }

// add adds a request. last is when the client's last request succeeded.
func (r *Report) add(took time.Duration, last, now time.Time, again int, err error) {
	r.Again += again
	if err != nil {
		r.Failures++
		if len(r.Causes) < maxCauses {
			r.Causes = append(r.Causes, err.Error())
		}
		return
	}
	r.Requests++
	r.Latency.Add(took)
	if !last.IsZero() {
		r.Gap = max(r.Gap, now.Sub(last))
	}
}

// Clean reports whether no request failed and no message is lost.
func (r *Report) Clean() bool { return r.Requests > 0 && r.Failures == 0 && r.Lost == 0 }

// String returns the counts, and the causes of the first failures.
func (r *Report) String() string {
	s := fmt.Sprintf("%s: %d requests, %d failed, %d sent again", r.Name, r.Requests, r.Failures, r.Again)
	if r.Acknowledged > 0 {
		s += fmt.Sprintf(", %d acknowledged, %d lost, %d repeated, %d unheard", r.Acknowledged, r.Lost, r.Repeated, r.Unheard)
	}
	s += fmt.Sprintf(", p50 %v, p99 %v, longest gap %v", short(r.Latency.Quantile(0.5)), short(r.Latency.Quantile(0.99)), short(r.Gap))
	for _, c := range r.Causes {
		s += "\n  " + c
	}
	return s
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
