package edgex

import "slices"

// Optimized returns e in the form that EdgeX 4.1 writes with EDGEX_OPTIMIZE_EVENT_PAYLOAD: its readings without their IDs,
// without the names of device and profile, and without an origin, or a single one's resource, that the event has too.
// ADR-0031. The readings are copied; what they hold is not. Unmarshal restores all but the IDs.
func (e Event) Optimized() Event {
	e.Readings = slices.Clone(e.Readings)
	for i := range e.Readings {
		r := &e.Readings[i]
		r.ID, r.DeviceName, r.ProfileName = "", "", ""
		if r.Origin == e.Origin {
			r.Origin = 0
		}
		if len(e.Readings) == 1 && r.ResourceName == e.SourceName {
			r.ResourceName = ""
		}
	}
	return e
}

// restore gives the readings what Optimized took from them. EdgeX does so where the option is set; a reading without these
// fields has no other meaning where it is not.
func (e *Event) restore() {
	for i := range e.Readings {
		r := &e.Readings[i]
		if r.DeviceName == "" {
			r.DeviceName = e.DeviceName
		}
		if r.ProfileName == "" {
			r.ProfileName = e.ProfileName
		}
		if r.Origin == 0 {
			r.Origin = e.Origin
		}
		if len(e.Readings) == 1 && r.ResourceName == "" {
			r.ResourceName = e.SourceName
		}
	}
}
