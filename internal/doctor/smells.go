package doctor

import (
	"fmt"
	"time"

	"example.com/ferry/node/config"
)

// podGrace is the default of terminationGracePeriodSeconds in Kubernetes.
const podGrace = 30 * time.Second

// smells reports settings that are valid, and that most users do not mean. It includes what ferry check warns about.
func (x *exam) smells() {
	x.checkWarnings()
	for i, l := range x.Node.Listeners {
		if public(targetOf(l.Address)) {
			x.publicListener(fmt.Sprintf("listeners[%d].", i), l)
		}
	}
	x.proxySmells()
	x.kubernetes()
	if a := x.Node.Admin.MetricsAddress; a != "" && public(targetOf(a)) {
		x.warning(Finding{
			What: "metrics are readable by every machine that reaches " + a, Where: x.at("admin.metrics_address"),
			Why: "they have the names of clients, tags, routes and endpoints", Mend: "let only the scraper's machine through the firewall",
		})
	}
	if x.Machine.User == 0 {
		x.warning(Finding{
			What: "this user is root", Where: "effective user",
			Why: "a node needs no rights of root: what can be exploited in it, or in a function, has all rights of the machine", Mend: "run it as a user of its own, as the service of the package does",
		})
	}
	x.fine("no setting looks like a mistake")
}

// checkWarnings reports what ferry check warns about, but for the certificates, which have a check of their own.
func (x *exam) checkWarnings() {
	if x.Source == nil {
		return
	}
	for _, e := range x.Source.Warnings(x.Node) {
		x.warning(Finding{What: e.Reason, Where: fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Field), Why: "ferry check warns about it, too", Mend: "change the field"})
	}
}

// publicListener reports what is dangerous for a listener that other machines reach.
func (x *exam) publicListener(at string, l config.Listener) {
	if l.Insecure {
		x.warning(Finding{
			What: l.Address + " is reachable from other machines, and not encrypted", Where: x.at(at + "insecure"),
			Why: "tokens and messages can be read and changed on the way", Mend: "use " + encryptedScheme(l.Scheme()) + ", or let only a trusted network reach the port",
		})
	}
	if l.Anonymous != "" {
		x.warning(Finding{
			What: fmt.Sprintf("every client that reaches %s has the identity %s, without a credential", l.Address, l.Anonymous), Where: x.at(at + "anonymous"),
			Why: "it may do what the grants of this identity permit", Mend: "keep the grants narrow, or leave anonymous out",
		})
	}
	if l.Validate == config.ValidateOff {
		x.warning(Finding{
			What: "messages that enter at " + l.Address + " are not validated", Where: x.at(at + "validate"),
			Why: "malformed messages reach subscribers, and a filter may read them in another way than a subscriber does", Mend: "validate: full, or bounds",
		})
	}
}

// encryptedScheme returns the scheme that encrypts what scheme does not.
func encryptedScheme(scheme string) string {
	switch scheme {
	case "tcp":
		return "tls:// or quic://"
	case "utp":
		return "quic://"
	}
	return scheme + "s://"
}

// proxySmells reports settings of the proxy.
func (x *exam) proxySmells() {
	if x.Node.Proxy == nil {
		return
	}
	for i, l := range x.Node.Proxy.Listeners {
		if l.TLS == nil && public(targetOf(l.Address)) {
			x.warning(Finding{
				What: fmt.Sprintf("%s is reachable from other machines, and not encrypted", l.Address), Where: x.at(fmt.Sprintf("proxy.listeners[%d].address", i)),
				Why: "requests with their credentials can be read and changed on the way", Mend: "add tls: {certificates: [{cert_file: ..., key_file: ...}]}, or let only a trusted network reach the port",
			})
		}
	}
	for i, c := range x.Node.Proxy.Clusters {
		at := fmt.Sprintf("proxy.clusters[%d]", i)
		if c.TLS != nil && c.TLS.InsecureSkipVerify {
			x.warning(Finding{
				What: fmt.Sprintf("the certificates of cluster %s are not verified", c.Name), Where: x.at(at + ".tls.insecure_skip_verify"),
				Why: "any machine on the way can pretend to be the server", Mend: "name the CA of the servers with ca_file, and leave insecure_skip_verify out",
			})
		}
		if len(c.Endpoints) > 1 && c.Health == nil && c.Outlier == nil {
			x.warning(Finding{
				What: fmt.Sprintf("cluster %s has %d endpoints, and neither health nor outlier", c.Name, len(c.Endpoints)), Where: x.at(at + ".endpoints"),
				Why: "an endpoint that fails goes on getting its share of the requests", Mend: "add outlier: {}, or health: {kind: http, path: /healthz}",
			})
		}
	}
}

// kubernetes reports settings that make a pod lose requests when it ends.
func (x *exam) kubernetes() {
	if x.Machine.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return
	}
	d := x.Node.Drain
	if d.Delay == 0 {
		x.warning(Finding{
			What: "this is a pod of Kubernetes, and drain.delay is not set", Where: x.at("drain"),
			Why:  "services go on sending to the pod for some seconds after it got SIGTERM, when its listeners are closed already",
			Mend: "drain: {delay: 5s}, or a preStop hook of 5 s as in the chart",
		})
	}
	if d.Delay+d.Timeout >= podGrace {
		x.warning(Finding{
			What: fmt.Sprintf("draining may take %v, and Kubernetes kills a pod after %v", d.Delay+d.Timeout, podGrace), Where: x.at("drain"),
			Why: "requests that are in flight then are cut", Mend: fmt.Sprintf("terminationGracePeriodSeconds: %d in the pod", int((d.Delay+d.Timeout).Seconds())+10),
		})
	}
}
