package doctor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Running is what the admin server of a node has said.
type Running struct {
	Address string
	Named   bool          // the user has named the address: then a node has to run there
	Err     error         // why the server did not respond
	Ready   int           // status of /ready
	Said    string        // body of /ready
	Clock   time.Time     // of the response's Date; zero if it has none
	Took    time.Duration // from the request to the response

	Metrics    string // in the text form of Prometheus
	MetricsErr error  // why there are none
	Version    string // of this binary
}

// skew is the difference of two clocks that is reported. Date has a resolution of a second.
const skew = 2 * time.Second

// running reports what the running node says of itself.
func (x *exam) running() {
	r := x.Running
	switch {
	case r == nil:
		x.unchecked("no admin server in the configuration")
		return
	case r.Err != nil && r.Named:
		reason, _, _ := strings.Cut(r.Err.Error(), "\n")
		x.fault(Finding{What: fmt.Sprintf("no node responds at %s: %s", r.Address, reason), Where: r.Address, Why: "it does not run, or its admin server has another address", Mend: "ferry run, or systemctl status ferry; name the address of its admin server"})
		return
	case r.untrusted():
		x.unchecked("a server responds at %s, and its certificate is not trusted here: name the address that it is for, and its authority: ferry doctor https://HOST:PORT --ca FILE", r.Address)
		return
	case errors.Is(r.Err, syscall.ECONNREFUSED):
		x.unchecked("no node runs at %s", r.Address)
		return
	case r.Err != nil:
		reason, _, _ := strings.Cut(r.Err.Error(), "\n")
		x.warning(Finding{
			What: fmt.Sprintf("what listens at %s does not respond as a node does: %s", r.Address, reason), Where: r.Address,
			Why: "the node hangs, or another program has its port", Mend: "ss -lnp names the process; kill -QUIT ends a node that hangs, and writes to its log what its goroutines did",
		})
		return
	}
	switch {
	case r.Ready != 200:
		x.fault(Finding{What: fmt.Sprintf("the node is not ready: %s", r.Said), Where: r.Address + "/ready", Why: "load balancers and Kubernetes send nothing to it", Mend: "read its log: journalctl -u ferry"})
	case r.Said != "ready":
		x.warning(Finding{What: "the node is " + r.Said, Where: r.Address + "/ready", Why: "a part of it does not work as configured", Mend: "read its log: journalctl -u ferry; ferry top shows links, bridges and endpoints"})
	}
	if d := x.now.Sub(r.Clock); !r.Clock.IsZero() && (d > skew+r.Took || d < -skew) {
		x.warning(Finding{What: fmt.Sprintf("the clock of the node and that of this machine differ by %v", d.Abs().Round(time.Second)), Where: r.Address, Why: "tokens, certificates and event times are judged differently on both", Mend: "timedatectl set-ntp true on the one that is wrong"})
	}
	if r.MetricsErr != nil {
		x.unchecked("the metrics of the node cannot be read: %s", strings.ReplaceAll(r.MetricsErr.Error(), "\n", "; "))
	} else {
		x.runningMetrics()
	}
	x.fine("the node at %s is ready", r.Address)
}

// untrusted reports whether a server responds whose certificate could not be verified.
func (r *Running) untrusted() bool {
	var err *tls.CertificateVerificationError
	return errors.As(r.Err, &err)
}

// runningMetrics reports what the metrics of the node tell.
func (x *exam) runningMetrics() {
	r := x.Running
	if open, most := r.metric("process_open_fds"), r.metric("process_max_fds"); most > 0 && open > most*0.8 {
		x.warning(Finding{What: fmt.Sprintf("the node has %.0f of %.0f descriptors open", open, most), Where: "process_open_fds", Why: "when they are used up, the node accepts no client and reaches no server", Mend: "LimitNOFILE=65536 in the unit (systemctl edit ferry), or fewer connections"})
	}
	if successful, ok := r.lookup("ferry_config_last_reload_successful"); ok && successful == 0 {
		x.fault(Finding{What: "the node has refused the configuration that it read last, and runs the one before", Where: "ferry_config_last_reload_successful", Why: "the next start fails, or brings other settings than those that run", Mend: "ferry diff -c FILE says why"})
	}
	if m := regexp.MustCompile(versionMetric).FindStringSubmatch(r.Metrics); m != nil && r.Version != "" && m[1] != r.Version {
		x.warning(Finding{What: fmt.Sprintf("the node runs version %s, and this ferry is %s", m[1], r.Version), Where: "ferry_build_info", Why: "what this command checks may not hold for the node", Mend: "ferry upgrade replaces the process by the new binary at the same path"})
	}
	for _, m := range regexp.MustCompile(certificateErrors).FindAllStringSubmatch(r.Metrics, maxTargets) {
		if m[2] != "0" {
			x.warning(Finding{What: "the node could not use a changed certificate file: " + m[1], Where: "ferry_certificate_reloads_total", Why: "it goes on with the content before, until that expires", Mend: "write certificate and key that belong together; the log says what is wrong"})
		}
	}
}

// What the doctor looks for in the metrics: regular expressions, which nothing else in the program needs.
const (
	versionMetric     = `(?m)^ferry_build_info\{.*version="([^"]*)".*\} 1$`
	certificateErrors = `(?m)^ferry_certificate_reloads_total\{file="([^"]*)".*result="error"\} (\S+)$`
)

// metric returns the value of a metric without labels; 0 if there is none.
func (r *Running) metric(name string) float64 {
	n, _ := r.lookup(name)
	return n
}

// lookup is metric, and reports whether there is one.
func (r *Running) lookup(name string) (n float64, ok bool) {
	if r == nil {
		return 0, false
	}
	for line := range strings.Lines(r.Metrics) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return n, err == nil
		}
	}
	return 0, false
}
