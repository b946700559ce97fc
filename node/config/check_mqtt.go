package config

import (
	"math"
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
	if m.InFlight > math.MaxUint16 {
		errs.add("mqtt.in_flight", "%d is out of range: 1 to 65535", m.InFlight)
	}
	if m.SessionExpiry < time.Second || m.SessionExpiry > 100*365*24*time.Hour {
		errs.add("mqtt.session_expiry", "%v is out of range: 1s to 876000h", m.SessionExpiry)
	}
}
