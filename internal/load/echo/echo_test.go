package echo

import (
	"testing"

	"google.golang.org/protobuf/proto"
)

func TestMessage(t *testing.T) {
	if err := CheckMessage(); err != nil {
		t.Error(err)
	}
	if err := Verify(NewMessage()); err == nil {
		t.Error("a request passes as a response")
	}
	data, err := proto.Marshal(Respond(NewMessage()))
	if err != nil {
		t.Fatal(err)
	}
	got := new(Message)
	if err := proto.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	if err := Verify(got); err != nil {
		t.Error(err)
	}
}
