package mqtt

// propertySet is a set of properties, one bit for each.
type propertySet uint64

func (s propertySet) has(id PropertyID) bool { return s>>id&1 != 0 }

// check checks the properties of a packet of kind k, or of a will if in is inWill, and returns which there are.
func (ps Properties) check(k Kind, in uint16, fromServer bool) (seen propertySet, e *Error) {
	for len(ps) > 0 {
		p, n := ps.first()
		switch {
		case n == -2:
			return 0, violation(k, MalformedPacket, "%v is unknown", p.ID)
		case n == -1:
			return 0, violation(k, MalformedPacket, "the %v has more than four bytes", p.ID)
		case n == 0:
			return 0, violation(k, MalformedPacket, "the properties end within the %v", p.ID)
		case properties[p.ID].in&in == 0:
			return 0, violation(k, MalformedPacket, "a packet of this type has no %v", p.ID)
		case seen.has(p.ID) && p.ID != UserProperty && (p.ID != SubscriptionIdentifier || k != Publish):
			return 0, violation(k, ProtocolError, "the %v is there twice", p.ID)
		case p.ID == SubscriptionIdentifier && k == Publish && !fromServer: // section 3.3.4
			return 0, violation(k, ProtocolError, "clients send no %v", p.ID)
		case p.ID == SessionExpiryInterval && k == Disconnect && fromServer: // section 3.14.2.2.2
			return 0, violation(k, ProtocolError, "servers send no %v", p.ID)
		}
		if e := p.check(k, n); e != nil {
			return 0, e
		}
		seen |= 1 << p.ID
		ps = ps[n:]
	}
	if seen.has(AuthenticationData) && !seen.has(AuthenticationMethod) {
		return 0, violation(k, ProtocolError, "there is an %v without an %v", AuthenticationData, AuthenticationMethod)
	}
	return seen, nil
}

// check checks the value of a property that has n bytes.
func (p Property) check(k Kind, n int) *Error {
	switch properties[p.ID].form {
	case flagForm:
		if p.Uint > 1 {
			return violation(k, ProtocolError, "the %v is %d: want 0 or 1", p.ID, p.Uint)
		}
	case varForm:
		if n-1 != varintSize(int(p.Uint)) {
			return violation(k, MalformedPacket, "the %v %d has %d bytes: it must have as few as possible", p.ID, p.Uint, n-1)
		}
	case textForm, pairForm:
		if CheckText(p.Text) != nil || CheckText(p.Name) != nil {
			return violation(k, MalformedPacket, "the %v is not UTF-8 without U+0000", p.ID)
		}
	}
	switch p.ID {
	case ReceiveMaximum, MaximumPacketSize, SubscriptionIdentifier:
		if p.Uint == 0 {
			return violation(k, ProtocolError, "the %v is 0", p.ID)
		}
	case TopicAlias: // section 3.3.2.3.4
		if p.Uint == 0 {
			return violation(k, TopicAliasInvalid, "the %v is 0", p.ID)
		}
	case ResponseTopic: // section 3.3.2.3.5
		if err := CheckTopic(p.Text); err != nil {
			return violation(k, ProtocolError, "the %v %.80q is not a topic name", p.ID, p.Text)
		}
	}
	return nil
}

// CheckProperties returns an *Error if ps, which has no length before it, cannot be the properties of a packet that a client sends.
func CheckProperties(k Kind, ps []byte) error {
	if _, e := Properties(ps).check(k, 1<<k, false); e != nil {
		return e
	}
	return nil
}
