package live

import (
	"fmt"
	"math"
	"strconv"

	"example.com/ferry"
	"example.com/ferry/codec"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/edgex"
)

// maxEvent bounds an event that is decoded, in bytes.
const maxEvent = 1 << 20

// newEvent returns readings as the event of one sensor.
func newEvent(host, sensor string, origin int64, readings []reading) (edgex.Event, error) {
	e := edgex.NewEvent("machine", host, sensor)
	for _, r := range readings {
		if err := addFloat(&e, r.resource, r.units, r.value); err != nil {
			return e, err
		}
	}
	stamp(&e, origin)
	return e, nil
}

func addFloat(e *edgex.Event, resource, units string, v float64) error {
	if err := e.AddSimple(resource, edgex.Float64, v); err != nil {
		return err
	}
	e.Readings[len(e.Readings)-1].Units = units
	return nil
}

// stamp sets one time for e and its readings.
func stamp(e *edgex.Event, origin int64) {
	e.Origin = origin
	for i := range e.Readings {
		e.Readings[i].Origin = origin
	}
}

// codecOf returns the codec of an event's bytes.
func codecOf(t ferry.Type) (codec.Codec, error) {
	switch t {
	case ferry.CBOR:
		return cbor.Codec{}, nil
	case ferry.JSON:
		return json.Codec{}, nil
	}
	return nil, fmt.Errorf("live: an event in %v: want cbor or json", t)
}

// number returns a reading's value, if it is a finite number.
func number(r *edgex.Reading) (float64, bool) {
	v, err := strconv.ParseFloat(r.Value, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
