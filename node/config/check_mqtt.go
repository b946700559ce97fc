package config

import (
	"math"
	"net"
	"net/url"
	"time"
)

func (m MQTT) check(errs *configErrors) {
	for _, s := range []struct {
		field string
		size  Size
	}{{"retained_size", m.RetainedSize}, {"queue", m.Queue}} {
		if s.size < 1<<10 || s.size > 1<<30 {
			errs.add("mqtt."+s.field, "%v is out of range: 1KiB to 1GiB", s.size)
		}
	}
	if m.IdentityShare > 100 {
		errs.add("mqtt.identity_share", "%d is out of range: 1 to 100 percent", m.IdentityShare)
	}
	if m.LoginURL != "" {
		u, err := url.Parse(m.LoginURL)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "":
			errs.add("mqtt.login_url", "it is no URL of a server: write one such as https://logins.example.com/mqtt, without user and password")
		case u.Scheme == "http" && !isLoopback(net.JoinHostPort(u.Hostname(), "0")):
			errs.add("mqtt.login_url", "passwords would cross the network in cleartext: write https")
		}
	}
	if m.LoginTimeout < 0 || m.LoginTimeout > time.Minute || m.LoginTimeout > 0 && m.LoginURL == "" {
		errs.add("mqtt.login_timeout", "%v: want 0 to 1m, beside login_url", m.LoginTimeout)
	}
	if m.InFlight > math.MaxUint16 {
		errs.add("mqtt.in_flight", "%d is out of range: 1 to 65535", m.InFlight)
	}
	if m.SessionExpiry < time.Second || m.SessionExpiry > 100*365*24*time.Hour {
		errs.add("mqtt.session_expiry", "%v is out of range: 1s to 876000h", m.SessionExpiry)
	}
}
