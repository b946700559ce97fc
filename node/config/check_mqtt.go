package config

import (
	"net"
	"net/url"
	"time"
)

func (m MQTT) check(errs *configErrors) {
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
}
