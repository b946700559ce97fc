package broker

import (
	"testing"

	"example.com/ferry/protocol/native"
)

// TestUntagOnAnotherStream: UNTAG on another stream than that of the messages ends the connection. Its tags are free then.
func TestUntagOnAnotherStream(t *testing.T) {
	r := newRulesRig(t)
	s := r.receiver.session
	r.publish(t, "{}") // on the stream of r.receiver
	if err := newReceiver(s).giveBackTag(native.Frame(native.AppendUntag(nil, r.tag.ID))); err == nil {
		t.Fatal("UNTAG on another stream is accepted")
	}
	r.broker.removeSession(s)
	r.broker.endSession(s)
	r.broker.mu.Lock()
	defer r.broker.mu.Unlock()
	if n := len(r.broker.tags.all); n != 0 {
		t.Errorf("%d tags are in use without a connection; %q has %d users", n, r.tag.Name, r.tag.users)
	}
}

// TestUntagBeforePublish: the stream of an UNTAG is that of the tag, so a PUB on another stream ends the connection.
func TestUntagBeforePublish(t *testing.T) {
	r := newRulesRig(t)
	p := r.receiver.session.publisher(r.tag.ID)
	other := newReceiver(r.receiver.session)
	if err := other.giveBackTag(native.Frame(native.AppendUntag(nil, r.tag.ID))); err != nil {
		t.Fatal(err)
	}
	if p.carriedBy(r.receiver) {
		t.Error("messages are accepted on a stream behind UNTAG on another one")
	}
}
