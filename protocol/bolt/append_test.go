package bolt

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestAppendRefuses(t *testing.T) {
	rows := []struct {
		name string
		m    Message
		want string
	}{
		{"no dialect", Message{}, "bolt: cannot write dialect 0x0000"},
		{"type", Message{Dialect: V1, Type: 3}, "bolt: cannot write type 3"},
		{"switch in v1", Message{Dialect: V1, Switch: 1}, "bolt: cannot write switch 1 in v1"},
		{"switch above 127", Message{Dialect: V2, Switch: 128}, "bolt: cannot write switch 128"},
		{"timeout", Message{Dialect: V1, Type: Request, Timeout: 25 * 24 * time.Hour}, "bolt: cannot write timeout 600h0m0s"},
		{"class", Message{Dialect: V1, Class: strings.Repeat("c", 32768)}, "bolt: cannot write a class of 32768 bytes"},
		{"header", Message{Dialect: V1, Header: make(Header, 32768)}, "bolt: cannot write a header of 32768 bytes"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := Append([]byte("as it was"), row.m)
			if string(got) != "as it was" || err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %q, %v, want %s", got, err, row.want)
			}
		})
	}
	if _, err := AppendHeartbeat(nil, 0, 1); err == nil {
		t.Error("a heartbeat without a dialect was written")
	}
}

// TestAppendResponse: a response has the id, codec, dialect and CRC of its request. Other bits of the request's switch are not
// copied.
func TestAppendResponse(t *testing.T) {
	for _, d := range []Dialect{V1, V2, V2CRC} {
		for _, toggles := range []uint8{0, SwitchCRC, 2, 2 | SwitchCRC} {
			if d == V1 && toggles != 0 {
				continue
			}
			for _, command := range []Command{CommandRequest, CommandHeartbeat} {
				req, err := Append(nil, Message{Dialect: d, Type: Request, Command: command, ID: 0xfffffffe, Codec: 11, Switch: toggles, Class: "c", Content: []byte("x")})
				if err != nil {
					t.Fatal(err)
				}
				head, _, err := Next(req[:MaxFixed], Limits{})
				if err != nil {
					t.Fatal(err)
				}
				for _, status := range []Status{StatusSuccess, StatusThreadpoolBusy, StatusComm, StatusNoProcessor, StatusTimeout, StatusCodec, StatusClosed} {
					f := whole(t, AppendResponse(nil, head, status))
					want := command
					if command == CommandRequest {
						want = CommandResponse
					}
					if f.Dialect() != d || f.Type() != Response || f.Command() != want || f.ID() != 0xfffffffe || f.Codec() != 11 || f.Switch() != toggles&SwitchCRC || f.Status() != status {
						t.Errorf("%v to %v: %s", status, command, describe(t, f))
					}
					if f.HeadLen() != f.FixedLen() || f.ContentLen() != 0 || f.CheckCRC() != nil {
						t.Errorf("%v to %v: %d bytes, %v", status, command, f.FrameLen(), f.CheckCRC())
					}
				}
			}
		}
	}
}

// TestNoResponse: AppendResponse appends nothing for a oneway or a response.
func TestNoResponse(t *testing.T) {
	for _, typ := range []Type{Oneway, Response} {
		data, err := Append(nil, Message{Dialect: V1, Type: typ})
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendResponse([]byte("so far"), whole(t, data), StatusTimeout); string(got) != "so far" {
			t.Errorf("%v: got %q", typ, got)
		}
	}
}

// TestResponseToRefused: a request that exceeds a limit can still get a response.
func TestResponseToRefused(t *testing.T) {
	data, err := Append(nil, Message{Dialect: V2CRC, Type: Request, Command: CommandRequest, ID: 5, Switch: SwitchCRC, Content: make([]byte, 1000)})
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := Next(data, Limits{MaxFrame: 500})
	if err == nil {
		t.Fatal("1028 bytes were accepted")
	}
	answer := whole(t, AppendResponse(nil, f, StatusCodec))
	if answer.ID() != 5 || answer.Status() != StatusCodec || answer.Dialect() != V2CRC || !answer.HasCRC() {
		t.Errorf("got %s", describe(t, answer))
	}
}

func TestHeartbeat(t *testing.T) {
	for _, d := range []Dialect{V1, V2, V2CRC} {
		data, err := AppendHeartbeat(nil, d, 3)
		if err != nil {
			t.Fatal(err)
		}
		f := whole(t, data)
		if f.Dialect() != d || f.Type() != Request || f.Command() != CommandHeartbeat || f.ID() != 3 || f.HasCRC() || f.Timeout() != -time.Millisecond {
			t.Errorf("got %s", describe(t, f))
		}
		ack := whole(t, AppendHeartbeatAck(nil, f))
		if ack.Type() != Response || ack.Command() != CommandHeartbeat || ack.ID() != 3 || ack.Status() != StatusSuccess {
			t.Errorf("answer: got %s", describe(t, ack))
		}
		if again := AppendHeartbeatAck(nil, ack); !bytes.Equal(again, nil) {
			t.Errorf("an answer was answered: %x", again)
		}
	}
}
