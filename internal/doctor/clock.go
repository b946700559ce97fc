package doctor

import (
	"fmt"
	"time"
)

// The clock is wrong before the day on which the binary was made, and suspicious long after it.
const (
	clockBehind = 24 * time.Hour
	clockAhead  = 10 * 365 * 24 * time.Hour
)

// clock compares the clock with the age of the binary, and says whether a time service sets it.
func (x *exam) clock() {
	built := x.Machine.Built
	const day = "2006-01-02"
	switch {
	case built.IsZero():
	case x.now.Before(built.Add(-clockBehind)):
		x.fault(Finding{
			What: fmt.Sprintf("the clock says %s, and this ferry was made on %s", x.now.UTC().Format(time.DateTime), built.UTC().Format(day)),
			Why:  "certificates are not valid yet, streams remove messages at the wrong time, and clients on other machines reject the node",
			Mend: "set the clock: timedatectl set-ntp true, or date -s",
		})
	case x.now.After(built.Add(clockAhead)):
		x.warning(Finding{
			What: fmt.Sprintf("the clock says %s, more than 10 years after this ferry was made (%s)", x.now.UTC().Format(time.DateTime), built.UTC().Format(day)),
			Why:  "if the clock is wrong, certificates count as expired; if it is right, this version lacks years of fixes",
			Mend: "set the clock: timedatectl set-ntp true; or install a newer version",
		})
	}
	synchronized, err := x.Machine.Clock()
	switch {
	case err != nil:
		x.unchecked("whether a time service sets the clock is not known: %v", err)
	case !synchronized:
		x.warning(Finding{
			What:  "no time service sets the clock: the kernel says that it is not synchronized",
			Where: "adjtimex(2)",
			Why:   "certificates are judged by this clock, and event times, latencies and retention by age are wrong by as much as it is",
			Mend:  "timedatectl set-ntp true, or run chronyd; in a container or virtual machine, on the host",
		})
	}
	x.fine("a time service sets the clock")
}
