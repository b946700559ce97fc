package edgex

import "slices"

// Optimized returns e in the form that EdgeX 4.1 writes with EDGEX_OPTIMIZE_EVENT_PAYLOAD (ADR-0031). Its readings have no IDs
// and no names of device and profile. A reading without an origin has the origin of the event. A single reading without a
// resource has the event's source as its resource. Optimized copies the readings but not their values. Unmarshal restores all
// of these fields except the IDs.
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

// restoreOptimized sets the fields that Optimized removed from the readings. EdgeX also restores them if the option is set.
// Without the option all readings have these fields, so restoreOptimized changes nothing.
func (e *Event) restoreOptimized() {
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
