package pipeline

import "example.com/ferry/edgex"

// SetID gives each event the ID that next returns: in place where it is as long as the old one, as UUIDs are, else in a
// copy of the message.
func SetID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetID(next()) })
}

// SetCorrelationID gives each envelope the ID that next returns, as SetID does. An event without an envelope is an error.
func SetCorrelationID(next func() string) Step {
	return change(func(v *edgex.View) error { return v.SetCorrelationID(next()) })
}

// AddTags puts tags into each event, in the place of those that have the same names. The message is copied, its payload
// not decoded: in base64 what stands behind the tags is encoded again, which are an event's last field.
func AddTags(tags ...edgex.Tag) Step {
	return change(func(v *edgex.View) error { return v.SetTags(tags...) })
}

func change(plan func(v *edgex.View) error) Step {
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err == nil {
			err = plan(v)
		}
		return err == nil, err
	})
}

// Transform puts each message into another form, see edgex.View's Convert: from CBOR to JSON and back, with or without its
// envelope. A message that has the form already passes as it is. Another one is rewritten as a whole, as the formats have
// no byte in common; it is not decoded into Go values.
func Transform(to edgex.Form) Step {
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || v.Form() == to {
			return err == nil, err
		}
		out, err := m.rewrite(func(dst []byte) ([]byte, error) { return v.Convert(dst, to) })
		if err == nil {
			m.SetEvent(out)
		}
		return err == nil, err
	})
}
