package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"example.com/ferry/transport"
)

// edges are the protocols, other than the native one, that a listener may speak. Transports do not carry them.
var edges = []transport.Descriptor{
	{Scheme: "http"},
	{Scheme: "https", Encrypted: true},
	{Scheme: "mqtt"},
	{Scheme: "mqtts", Encrypted: true},
	{Scheme: "mqtt+ws"},
	{Scheme: "mqtt+wss", Encrypted: true},
}

// gates are the protocols of ordinary clients of gRPC: HTTP/2 in cleartext, and over TLS.
var gates = []transport.Descriptor{
	{Scheme: "h2c"},
	{Scheme: "h2", Encrypted: true},
}

// Carrier returns the scheme of the transport that carries the calls of ordinary clients of gRPC to a listener with the scheme h2c or h2, or "" for another one.
func Carrier(scheme string) string {
	switch scheme {
	case "h2c":
		return transport.TCP.Scheme
	case "h2":
		return transport.TLS.Scheme
	}
	return ""
}

// Edge reports whether the clients of the listener speak another protocol than the native one.
func (l *Listener) Edge() bool { return slices.ContainsFunc(edges, l.hasScheme) }

func (l *Listener) hasScheme(d transport.Descriptor) bool { return d.Scheme == l.Scheme() }

// MQTT reports whether the clients of the listener speak MQTT, over TCP or WebSocket.
func (l *Listener) MQTT() bool { return strings.HasPrefix(l.Scheme(), "mqtt") }

// WebSocket reports whether WebSocket carries the MQTT of the clients.
func (l *Listener) WebSocket() bool { return strings.HasPrefix(l.Scheme(), "mqtt+") }

// Encrypted reports whether the clients of the listener, which speak another protocol than the native one, use TLS.
func (l *Listener) Encrypted() bool {
	i := slices.IndexFunc(edges, l.hasScheme)
	return i >= 0 && edges[i].Encrypted
}

// anonymous reports whether a listener gives the identity to clients without a credential.
func (c *Config) anonymous(identity string) bool {
	return slices.ContainsFunc(c.Listeners, func(l Listener) bool { return l.Anonymous != "" && l.Anonymous == identity })
}

// checkEdge checks the fields that only listeners of other protocols have.
func (c *Config) checkEdge(at string, l Listener, errs *configErrors) {
	if l.Anonymous != "" {
		switch {
		case !l.Edge():
			errs.add(at+"anonymous", "a %s listener has none: its clients have a token or a certificate", l.Scheme())
		case !slices.ContainsFunc(c.Identities, func(id Identity) bool { return id.Name == l.Anonymous }):
			errs.add(at+"anonymous", "no identity is named %q", l.Anonymous)
		}
	}
	if len(l.HTTP.Origins) > 0 && (!l.Edge() || l.MQTT() && !l.WebSocket()) {
		errs.add(at+"http", "a %s listener has none: leave it out", l.Scheme())
		return
	}
	for i, origin := range l.HTTP.Origins {
		field := fmt.Sprintf("%shttp.origins[%d]", at, i)
		u, err := url.Parse(origin)
		switch {
		case origin == "*" && l.Encrypted():
			errs.add(field, `"*" on a listener with TLS: a page of any site could use the certificate of the browser's user; name the origins`)
		case origin == "*" && l.Anonymous != "":
			errs.add(field, `"*" on a listener with anonymous: a page of any site could publish and subscribe as %q; name the origins`, l.Anonymous)
		case origin == "*":
		case err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin:
			errs.add(field, "%q is no origin: write scheme, host and port only, as https://app.example.com", origin)
		}
	}
}
