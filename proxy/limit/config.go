package limit

import (
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
)

// Config has the limits of one listener. The zero value has the defaults, which are the same on every address.
type Config struct {
	// Connections is the largest number of open connections. A further one is closed at once. Zero and negative mean no limit
	// but the proxy's max_connections.
	Connections int `yaml:"connections,omitempty"`

	// ConnectionsPerAddress is the largest number of open connections of one client address. An IPv6 address counts as its
	// network of 64 bits. A further connection is closed at once. Clients of a Unix domain socket have no address and no
	// limit. Zero means 7 times the number of connections that are still free: one address gets at most seven eighths of
	// max_connections, and however many addresses take all they can, a new one finds room. Negative means no limit.
	ConnectionsPerAddress int `yaml:"connections_per_address,omitempty"`

	// Handshakes is the largest number of TLS handshakes under way. The connection of a further one is closed. Zero and
	// negative mean the limits of all listeners together: 256 at a time for each core, and 4096 of a listener that wait.
	Handshakes int `yaml:"handshakes,omitempty"`

	// RequestsPerSecond is how many requests a client may make each second, see Key. A request above it gets 429. Zero and
	// negative mean no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty"`

	// Burst is how many requests a client may make at once after a pause. Zero means RequestsPerSecond, rounded up.
	Burst int `yaml:"burst,omitempty" schema:"min=0"`

	// Key tells the clients of RequestsPerSecond apart: address, identity (the name in the client's TLS certificate), or
	// header: and the name of a header field. A request without that field or identity counts for the client's address.
	// Empty means address.
	Key string `yaml:"key,omitempty"`

	// MaxClients is how many clients RequestsPerSecond knows at a time. Above it, the clients with the least use are
	// forgotten. Zero means 65536; each takes 17 bytes.
	MaxClients int `yaml:"max_clients,omitempty" schema:"min=0"`

	// MaxDuration bounds a request from its first byte to the last byte of its response. A request that takes longer gets 504,
	// or a reset if its response has begun. Zero and negative mean no limit, because streams may last for days.
	MaxDuration time.Duration `yaml:"max_duration,omitempty"`
}

// The values of Config.Key.
const (
	KeyAddress  = "address"
	KeyIdentity = "identity"
	keyHeader   = "header:"
)

// Check returns an error for every invalid field of c as invalid.Errors, or nil.
func (c *Config) Check() error {
	var errs invalid.Errors
	if name, isHeader := strings.CutPrefix(c.Key, keyHeader); isHeader {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") {
			errs.Add("limits", "key", "%q: write the name of a header field after header:", c.Key)
		}
	} else if c.Key != "" && c.Key != KeyAddress && c.Key != KeyIdentity {
		errs.Add("limits", "key", "%q: write %s, %s, or %s and a field's name", c.Key, KeyAddress, KeyIdentity, keyHeader)
	}
	if c.RequestsPerSecond > 0 && (c.RequestsPerSecond < minRate || c.RequestsPerSecond > maxRate) {
		errs.Add("limits", "requests_per_second", "%v: write %v to %v, or 0 for no limit", c.RequestsPerSecond, minRate, maxRate)
	}
	if c.RequestsPerSecond <= 0 {
		for _, f := range []struct {
			name string
			set  bool
		}{{"burst", c.Burst != 0}, {"key", c.Key != ""}, {"max_clients", c.MaxClients != 0}} {
			if f.set {
				errs.Add("limits", f.name, "has no effect without requests_per_second: set both or none")
			}
		}
	}
	if c.Burst < 0 || c.Burst > maxBurst {
		errs.Add("limits", "burst", "%d: write 1 to %d, or 0 for requests_per_second", c.Burst, maxBurst)
	}
	if c.MaxClients < 0 || c.MaxClients > maxClients {
		errs.Add("limits", "max_clients", "%d: write 1 to %d, or 0 for %d", c.MaxClients, maxClients, defaultClients)
	}
	errs.AddDuration("limits", "max_duration", c.MaxDuration)
	return errs.Err()
}
