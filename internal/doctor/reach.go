package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The bounds of what the doctor does on the network.
const (
	lookupTimeout = 3 * time.Second
	dialTimeout   = 3 * time.Second
	maxTargets    = 256 // further ones are not looked up and not dialed
	atOnce        = 16
)

// names looks up the host names that the node connects to.
func (x *exam) names() {
	var wanted []target
	seen := map[string]bool{}
	for _, t := range x.dialed() {
		if name := t.host(); name != "" && !seen[name] {
			seen[name] = true
			wanted = append(wanted, t)
		}
	}
	wanted = x.bounded(wanted)
	errs := each(x.ctx, wanted, lookupTimeout, func(ctx context.Context, t target) error { return x.Machine.Lookup(ctx, t.host()) })
	for i, err := range errs {
		if err == nil {
			continue
		}
		var dns *net.DNSError
		reason := err.Error()
		if errors.As(err, &dns) {
			reason = dns.Err
		}
		x.fault(Finding{
			What: fmt.Sprintf("the name %s cannot be looked up: %s", wanted[i].host(), reason), Where: x.at(wanted[i].field),
			Why:  "the node does not reach what is behind this name; it goes on looking",
			Mend: fmt.Sprintf("correct the name, or /etc/resolv.conf; compare: getent hosts %s", wanted[i].host()),
		})
	}
	x.fine("%d host names can be looked up", len(wanted))
}

// reach connects to the servers that the node connects to.
func (x *exam) reach() {
	if !x.Dial {
		x.unchecked("servers are not connected to without --dial")
		return
	}
	var wanted []target
	seen := map[string]bool{}
	for _, t := range x.dialed() {
		switch {
		case t.srv != "":
			x.unchecked("%s: the servers of SRV records are not connected to", x.at(t.field))
		case t.network == "udp":
			x.unchecked("%s: whether a server listens at a UDP port shows only in a handshake", x.at(t.field))
		case !seen[t.address]:
			seen[t.address] = true
			wanted = append(wanted, t)
		}
	}
	wanted = x.bounded(wanted)
	errs := each(x.ctx, wanted, dialTimeout, func(ctx context.Context, t target) error { return x.Machine.Dial(ctx, t.network, t.address) })
	for i, err := range errs {
		if err != nil {
			x.fault(Finding{
				What: fmt.Sprintf("%s cannot be reached: %v", wanted[i].address, err), Where: x.at(wanted[i].field),
				Why: "requests or messages to it fail or wait", Mend: "start the server, correct the address, or open the port in the firewall between",
			})
		}
	}
	x.fine("%d servers accept connections", len(wanted))
}

// bounded returns the first targets, and reports how many are left out.
func (x *exam) bounded(all []target) []target {
	if len(all) > maxTargets {
		x.unchecked("only the first %d of %d addresses were looked at", maxTargets, len(all))
		return all[:maxTargets]
	}
	return all
}

// each calls f for all targets, some of them at once, and returns their errors.
func each(ctx context.Context, all []target, timeout time.Duration, f func(context.Context, target) error) []error {
	errs := make([]error, len(all))
	places := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for i, t := range all {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			errs[i] = f(ctx, t)
		})
	}
	wait.Wait()
	return errs
}
