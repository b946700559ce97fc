package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/ferry/node/config"
)

// Severity is how bad a Finding is.
type Severity string

// The severities, the worst first.
const (
	Fault     Severity = "fault"     // the node does not start, does not do what is configured, or reveals a secret
	Warning   Severity = "warning"   // the node works, but not under load, not for long, or not as safely as it could
	Unchecked Severity = "unchecked" // the check could not be made
	Fine      Severity = "fine"
)

// severities is the order of findings.
var severities = []Severity{Fault, Warning, Unchecked, Fine}

// Finding is the result of one check, or one of its results.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`           // the name of the check
	What     string   `json:"what"`            // what was found
	Where    string   `json:"where,omitempty"` // file:line: field, or the file of the machine
	Why      string   `json:"why,omitempty"`   // what it does to the node
	Mend     string   `json:"mend,omitempty"`  // the command or setting
}

// Config is what Examine looks at.
type Config struct {
	Node    *config.Config // valid
	Source  *config.Source // of Node; nil if it is from no file
	Machine *Machine       // nil means This
	Running *Running       // the node that runs there; nil means that none was looked for
	Dial    bool           // connect to the servers that the configuration names
}

// exam is one call of Examine.
type exam struct {
	Config
	ctx   context.Context
	now   time.Time
	check string // the name of the check that runs
	list  []Finding
}

// check is one entry of the list of checks.
type check struct {
	name  string
	linux bool // it reads what only Linux has
	run   func(*exam)
}

// checks are in the order in which a node meets what they look at.
var checks = []check{
	{"kernel", true, (*exam).kernel},
	{"clock", true, (*exam).clock},
	{"cpu", true, (*exam).cpu},
	{"memory", true, (*exam).memory},
	{"descriptors", false, (*exam).descriptors},
	{"accept queue", true, (*exam).acceptQueue},
	{"udp buffers", true, (*exam).udpBuffers},
	{"disk", true, (*exam).disk},
	{"permissions", false, (*exam).permissions},
	{"certificates", false, (*exam).certificates},
	{"configuration", false, (*exam).smells},
	{"ports", false, (*exam).ports},
	{"names", false, (*exam).names},
	{"reach", false, (*exam).reach},
	{"node", false, (*exam).running},
}

// Examine makes all checks and returns what they found, the worst first. A check that finds nothing wrong gives one finding that says so.
// It takes a few seconds at most, unless Config.Dial is set: then each server that does not respond adds up to dialTimeout.
func Examine(ctx context.Context, c Config) []Finding {
	if c.Machine == nil {
		c.Machine = This()
	}
	x := &exam{Config: c, ctx: ctx, now: c.Machine.Now()}
	for _, each := range checks {
		x.check = each.name
		if each.linux && c.Machine.OS != "linux" {
			x.unchecked("not checked on %s", c.Machine.OS)
			continue
		}
		each.run(x)
	}
	slices.SortStableFunc(x.list, func(a, b Finding) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return x.list
}

// add adds a finding of the check that runs.
func (x *exam) add(s Severity, f Finding) {
	f.Severity, f.Check = s, x.check
	x.list = append(x.list, f)
}

func (x *exam) fault(f Finding)   { x.add(Fault, f) }
func (x *exam) warning(f Finding) { x.add(Warning, f) }

func (x *exam) unchecked(text string, args ...any) {
	x.add(Unchecked, Finding{What: fmt.Sprintf(text, args...)})
}

// fine adds that the check found nothing, unless it has found something.
func (x *exam) fine(text string, args ...any) {
	if !slices.ContainsFunc(x.list, func(f Finding) bool { return f.Check == x.check && f.Severity != Unchecked }) {
		x.add(Fine, Finding{What: fmt.Sprintf(text, args...)})
	}
}

// at returns where a field stands: file:line: field, or the field alone if it is from no file.
func (x *exam) at(field string) string {
	if x.Source == nil {
		return field
	}
	e := x.Source.At(field, "")
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, field)
}

// human returns a number of bytes for people: 512 MiB, 7.6 GiB.
func human[N int64 | uint64](n N) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if f < 10 && f != math.Trunc(f) {
		return fmt.Sprintf("%.1f %s", f, units[i])
	}
	return fmt.Sprintf("%.0f %s", f, units[i])
}
